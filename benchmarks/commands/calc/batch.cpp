// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <unordered_map>
#include <utility>
#include <vector>

#include "benchmarks/commands/calc/answers.hpp"
#include "benchmarks/commands/calc/columns.hpp"
#include "harness/io/check.hpp"
#include "harness/io/csv.hpp"
#include "harness/io/lines.hpp"
#include "harness/io/printable.hpp"

namespace occbench::commands {
namespace {

/// Appends answers to the rows of a table; columns of earlier answers are replaced. A row that cannot be read
/// says so in its status and has no answers. The status also says why there is no prediction.
class Batch {
 public:
  Batch(const csv::Row& header, const std::string& source, const CalcOptions& options,
        const DeviceResolver& resolve)
      : width_(header.size()), options_(options), resolve_(resolve) {
    if (std::ranges::find(header, "grid_size") != header.end())
      columns_ = answer_columns({Part::answer, Part::grid});
    if (predicts()) columns_.insert(columns_.end(), predicted_columns().begin(), predicted_columns().end());
    const csv::Row answers = csv_header(columns_);
    std::string missing;
    const auto column = [&](const char* name, bool required) -> std::optional<std::size_t> {
      const auto found = std::ranges::find(header, name);
      if (found == header.end()) {
        if (required) missing += std::string(missing.empty() ? "" : ", ") + name;
        return std::nullopt;
      }
      if (std::find(found + 1, header.end(), name) != header.end())
        throw UserError(Exit::usage, source + ": column " + name + " appears twice");
      return static_cast<std::size_t>(found - header.begin());
    };
    device_ = column("device", true);
    for (std::size_t i = 0; i < std::size(fields); ++i)
      field_places_[i] = column(fields[i].column, fields[i].is_required);
    if (!missing.empty())
      throw UserError(Exit::usage, source + ": the header lacks " + missing +
                                       "; it needs device, block_size, registers_per_thread, "
                                       "static_smem_bytes, dynamic_smem_bytes");
    for (std::size_t i = 0; i < width_; ++i)
      if (std::ranges::find(answers, header[i]) == answers.end()) kept_.push_back(i);
    if (!predicts()) return;
    class_ = column("kernel_class", false);
    static_cast<void>(options_.kernel.read(!class_));
    if (!options_.parameters.empty()) static_cast<void>(read_parameters(options_.parameters));
  }

  [[nodiscard]] csv::Row header(const csv::Row& input) const { return append(input, csv_header(columns_)); }

  /// For a line that is not a record.
  [[nodiscard]] csv::Row invalid_row(const std::string& line, const std::string& why) const {
    return append({line}, invalid_answers(why));
  }

  [[nodiscard]] csv::Row answer_row(const csv::Row& input) {
    try {
      if (input.size() != width_)
        throw std::invalid_argument("the row has " + std::to_string(input.size()) +
                                    " fields where the header has " + std::to_string(width_));
      Query query;
      for (std::size_t i = 0; i < std::size(fields); ++i) {
        const Field& field = fields[i];
        const auto place = field_places_[i];
        if (!place || (!field.is_required && input[*place].empty())) continue;
        field.set(query, field.parse(input[*place], field.column));
      }
      KnownDevice& known = device(input[*device_]);
      Answer a = answer(known.device, query);
      AnswerRow row{known.device.facts, query, a};
      theory::KernelClass kernel;
      if (predicts()) {
        const std::string kind = class_ ? input[*class_] : "";
        kernel = kernel_class(kind);
        row.kernel = &kernel;
        row.outcome = predict(known, kind, kernel, query, a);
      }
      return append(input, csv_row(columns_, row));
    } catch (const std::exception& error) {
      return append(input, invalid_answers(error.what()));
    }
  }

 private:
  struct Model {
    std::optional<ClassPredictor> predictor;
    std::string why_not;
  };
  struct KnownDevice {
    CalcDevice device;
    std::string why_not;
    std::unordered_map<std::string, Model> models;  ///< by the cell of the class
  };

  [[nodiscard]] bool predicts() const { return !options_.kernel.kind.empty(); }

  /// The input's cells, less earlier answers, and the answers (or their names, for the header).
  [[nodiscard]] csv::Row append(const csv::Row& input, const csv::Row& answers) const {
    csv::Row row;
    row.reserve(kept_.size() + answers.size());
    for (const std::size_t i : kept_) row.push_back(i < input.size() ? csv::no_formula(input[i]) : "");
    row.insert(row.end(), answers.begin(), answers.end());
    return row;
  }

  [[nodiscard]] csv::Row invalid_answers(const std::string& why) const {
    csv::Row cells = csv_header(columns_);
    for (std::string& cell : cells) cell = cell == "status" ? "invalid: " + printable(why) : "";
    return cells;
  }

  /// Throws std::invalid_argument on an unknown class.
  [[nodiscard]] theory::KernelClass kernel_class(const std::string& kind) const {
    KernelClassText text = options_.kernel;
    if (!kind.empty()) text.kind = kind;
    return text.read(!class_);
  }

  /// Adds to the status why there is no prediction.
  std::optional<theory::ClassModel::Outcome> predict(KnownDevice& known, const std::string& kind,
                                                     const theory::KernelClass& kernel, const Query& query,
                                                     Answer& a) {
    if (!a.occupancy.is_launchable()) return std::nullopt;
    auto [entry, is_new] = known.models.try_emplace(kind);
    Model& model = entry->second;
    if (is_new) {
      try {
        const ParameterFile file = parameters_for(known.device.facts.name, options_.parameters);
        model.predictor.emplace(kernel, known.device.facts, file.values);
      } catch (const std::exception& error) {
        model.why_not = error.what();
      }
    }
    if (model.predictor && query.cluster_size == 1)
      return model.predictor->at(query.footprint.block_size, a.occupancy.blocks_per_sm);
    a.status +=
        "; not predicted: " + (model.predictor ? "the model does not support clusters" : model.why_not);
    return std::nullopt;
  }

  KnownDevice& device(const std::string& name) {
    auto [known, is_new] = devices_.try_emplace(name);
    if (is_new) {
      try {
        known->second.device = resolve_(name.empty() ? options_.device : name);
      } catch (const std::exception& error) {
        known->second.why_not = error.what();
      }
    }
    if (!known->second.why_not.empty()) throw std::invalid_argument(known->second.why_not);
    return known->second;
  }

  std::size_t width_;
  const CalcOptions& options_;
  const DeviceResolver& resolve_;
  std::vector<Column<AnswerRow>> columns_ = answer_columns({Part::answer});
  // Places in the input:
  std::optional<std::size_t> device_, class_;
  std::array<std::optional<std::size_t>, std::size(fields)> field_places_;
  std::vector<std::size_t> kept_;
  std::unordered_map<std::string, KnownDevice> devices_;
};

}  // namespace

void run_batch(Descriptor file, const std::string& source, std::ostream& out, const CalcOptions& options,
               const DeviceResolver& resolve) {
  LineReader lines(std::move(file), source, [&] { out.flush(); });
  std::string line;
  lines.next(line);
  const std::string too_long = "is longer than " + std::to_string(LineReader::longest) + " bytes";
  if (lines.is_cut()) throw UserError(Exit::file, source + ": its first line " + too_long);
  const csv::Row header = csv::parse(line).fields;
  Batch batch(header, source, options, resolve);
  out << csv::format(batch.header(header));
  for (std::size_t number = 2; out && lines.next(line); ++number) {
    if (lines.is_cut()) {
      out << csv::format(batch.invalid_row(line.substr(0, 80), "the line " + too_long));
      continue;
    }
    if (line.empty()) continue;
    const csv::Record record = csv::parse(line);
    out << csv::format(record.complete ? batch.answer_row(record.fields)
                                       : batch.invalid_row(line, "a quote is opened and never closed"));
    // Where the last row has all its cells, nothing tells whether its end is missing.
    if (!lines.is_terminated() && (!record.complete || record.fields.size() < header.size()))
      throw UserError(Exit::file, source + ": is cut off in line " + std::to_string(number) + ", which has " +
                                      (record.complete ? std::to_string(record.fields.size()) + " of " +
                                                             std::to_string(header.size()) + " cells"
                                                       : "a quote that is never closed") +
                                      " and no line feed");
  }
}

}  // namespace occbench::commands
