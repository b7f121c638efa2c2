// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/calc/batch.hpp"

#include <algorithm>
#include <stdexcept>
#include <unordered_map>
#include <utility>
#include <vector>

#include "benchmarks/framework/numbers.hpp"
#include "harness/io/check.hpp"
#include "harness/io/csv.hpp"
#include "harness/io/lines.hpp"
#include "harness/io/printable.hpp"

namespace occbench::commands {
namespace {

/// A table of footprints in, the same table with its answers out (columns of earlier answers are replaced). A
/// row that cannot be read says so in its status and leaves its answers empty; the others are answered. What
/// the model cannot predict, its status says behind the occupancy's.
class Batch {
 public:
  Batch(const csv::Row& header, const std::string& source, const CalcOptions& options,
        const DeviceResolver& resolve)
      : width_(header.size()), options_(options), resolve_(resolve) {
    answers_.assign(std::begin(answer_columns), std::end(answer_columns));
    if (predicts())
      answers_.insert(answers_.end(), std::begin(predicted_columns), std::end(predicted_columns));
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
      columns_[i] = column(fields[i].column, fields[i].required);
    if (!missing.empty())
      throw UserError(Exit::usage, source + ": the header lacks " + missing +
                                       "; it needs device, block_size, registers_per_thread, "
                                       "static_smem_bytes, dynamic_smem_bytes");
    for (std::size_t i = 0; i < width_; ++i)
      if (std::ranges::find(answers_, header[i]) == answers_.end()) passed_on_.push_back(i);
    if (!predicts()) return;
    class_ = column("kernel_class", false);
    static_cast<void>(options_.kernel.read(!class_));
    if (!options_.parameters.empty()) static_cast<void>(read_parameters(options_.parameters));
  }

  [[nodiscard]] csv::Row header(const csv::Row& input) const { return joined(input, answers_); }

  /// A line that is no record, with the reason as its status.
  [[nodiscard]] csv::Row refused(const std::string& line, const std::string& why) const {
    return joined({line}, invalid(why));
  }

  [[nodiscard]] csv::Row answered(const csv::Row& input) {
    try {
      if (input.size() != width_)
        throw std::invalid_argument("the row has " + std::to_string(input.size()) +
                                    " fields where the header has " + std::to_string(width_));
      Query query;
      for (std::size_t i = 0; i < std::size(fields); ++i) {
        const Field& field = fields[i];
        if (!columns_[i] || (!field.required && input[*columns_[i]].empty())) continue;
        field.set(query, parse_size(input[*columns_[i]], field.column, field.least, field.most));
      }
      Known& known = device(input[*device_]);
      Answer a = answer(known.device, query);
      PredictedCells prediction;
      if (predicts()) prediction = predict(known, query, a, class_ ? input[*class_] : "");
      const auto answered = cells(a);
      csv::Row row(answered.begin(), answered.end());
      if (predicts()) row.insert(row.end(), prediction.begin(), prediction.end());
      return joined(input, row);
    } catch (const std::exception& error) {
      return joined(input, invalid(error.what()));
    }
  }

 private:
  struct Model {
    std::optional<Forecaster> forecaster;
    std::string why_not;
  };
  struct Known {
    CalcDevice device;
    std::string why_not;
    std::unordered_map<std::string, Model> models;  ///< by the cell of the class
  };

  [[nodiscard]] bool predicts() const { return !options_.kernel.kind.empty(); }

  /// The input's cells, less earlier answers, and the answers (or their names, for the header).
  [[nodiscard]] csv::Row joined(const csv::Row& input, const csv::Row& answers) const {
    csv::Row row;
    row.reserve(passed_on_.size() + answers.size());
    for (const std::size_t i : passed_on_) row.push_back(i < input.size() ? csv::no_formula(input[i]) : "");
    row.insert(row.end(), answers.begin(), answers.end());
    return row;
  }

  [[nodiscard]] csv::Row invalid(const std::string& why) const {
    csv::Row row(answers_.size());
    row[std::size(answer_columns) - 1] = "invalid: " + printable(why);
    return row;
  }

  /// Adds to the status why there is no prediction. Throws std::invalid_argument on an unknown class.
  PredictedCells predict(Known& known, const Query& query, Answer& a, const std::string& kind) {
    ClassWords words = options_.kernel;
    if (!kind.empty()) words.kind = kind;
    const theory::KernelClass kernel = words.read(!class_);
    if (!a.occupancy.launchable()) return predicted_cells(kernel, {});
    auto [entry, is_new] = known.models.try_emplace(kind);
    Model& model = entry->second;
    if (is_new) {
      try {
        const ParameterFile file = parameters_for(known.device.facts.name, options_.parameters);
        model.forecaster.emplace(kernel, known.device.facts, file.values);
      } catch (const std::exception& error) {
        model.why_not = error.what();
      }
    }
    if (model.forecaster && query.cluster_size == 1)
      return predicted_cells(kernel,
                             model.forecaster->at(query.footprint.block_size, a.occupancy.blocks_per_sm));
    a.status += "; not predicted: " + (model.forecaster ? "the model knows no clusters" : model.why_not);
    return predicted_cells(kernel, {});
  }

  Known& device(const std::string& word) {
    auto [known, is_new] = devices_.try_emplace(word);
    if (is_new) {
      try {
        known->second.device = resolve_(word.empty() ? options_.device : word);
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
  csv::Row answers_;  ///< their columns
  std::optional<std::size_t> device_, class_;
  std::array<std::optional<std::size_t>, std::size(fields)> columns_;
  std::vector<std::size_t> passed_on_;
  std::unordered_map<std::string, Known> devices_;
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
      out << csv::format(batch.refused(line.substr(0, 80), "the line " + too_long));
      continue;
    }
    if (line.empty()) continue;
    const csv::Record record = csv::parse(line);
    out << csv::format(record.complete ? batch.answered(record.fields)
                                       : batch.refused(line, "a quote is opened and never closed"));
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
