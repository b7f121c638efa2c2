// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/summary.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include "benchmarks/commands/numbers.hpp"
#include "benchmarks/curves.hpp"
#include "benchmarks/findings.hpp"

namespace occbench {

namespace {

constexpr std::size_t columns = 80;

/// `words` from column `indent` on; `out` stands in column `at`. A number stays with the unit behind it.
void wrap(std::ostream& out, const std::string& words, std::size_t indent = 0, std::size_t at = 0) {
  std::istringstream all(words);
  std::vector<std::string> pieces;
  for (std::string word; all >> word;) {
    if (!pieces.empty() && std::isdigit(static_cast<unsigned char>(pieces.back().back())) != 0)
      pieces.back() += ' ' + word;
    else
      pieces.push_back(word);
  }
  bool first = true;
  for (const std::string& piece : pieces) {
    if (!first && at + 1 + piece.size() > columns) {
      out << '\n' << std::string(indent, ' ');
      at = indent;
      first = true;
    }
    if (!first) out << ' ';
    out << piece;
    at += piece.size() + (first ? 0 : 1);
    first = false;
  }
  out << '\n';
}

std::string counted(std::size_t number, const std::string& thing) {
  return commands::grouped(number) + " " + thing + (number == 1 ? "" : "s");
}

struct Tally {
  std::map<Status, std::size_t> of;
  std::set<std::string> experiments;
  std::size_t precise = 0, uneven = 0;
};

Tally count(const std::vector<CaseResult>& results) {
  Tally all;
  for (const CaseResult& r : results) {
    ++all.of[r.planned.status];
    all.experiments.insert(r.planned.spec.experiment);
    if (r.planned.status != Status::valid) continue;
    if (r.reached_precision) ++all.precise;
    if (r.time_p90_s > 1.05 * r.time_p10_s) ++all.uneven;
  }
  return all;
}

/// "the model was off by 3.4 % in the mean, by +24.6 % at worst (CASE)"; empty where nothing was predicted.
std::string of_predictions(const std::vector<CaseResult>& results) {
  double sum = 0, worst = 0;
  std::size_t predicted = 0;
  const CaseResult* at = nullptr;
  for (const CaseResult& r : results) {
    if (!r.has_time() || r.planned.is_modelled || !r.planned.forecast.prediction) continue;
    const double error = r.time_s.median / r.planned.forecast.prediction->time_s - 1;
    sum += std::abs(error);
    ++predicted;
    if (!at || std::abs(error) > std::abs(worst)) worst = error, at = &r;
  }
  if (predicted == 0) return "";
  return text("the model, asked before: %.1f %% off in the mean of %s cases, at worst %+.0f %% in ",
              100 * sum / static_cast<double>(predicted), commands::grouped(predicted).c_str(), 100 * worst) +
         at->planned.id;
}

/// The first reason of a status, and how many cases there are.
std::string why(const std::vector<CaseResult>& results, Status status) {
  for (const CaseResult& r : results)
    if (r.planned.status == status) return r.planned.id + ": " + r.planned.reason;
  return "";
}

}  // namespace

void print_closing(std::ostream& out, const std::vector<CaseResult>& results, const Closing& closing) {
  const Tally counts = count(results);
  const auto number = [&](Status status) { return counts.of.contains(status) ? counts.of.at(status) : 0; };
  const std::size_t valid = number(Status::valid);
  std::string head = (closing.is_model ? "The " : "") + closing.device +
                     (closing.is_model ? " predicts " : ": ") + counted(valid, "case") + " of " +
                     counted(counts.experiments.size(), "experiment") +
                     text(closing.elapsed_s < 10 ? " in %.1f s" : " in %.0f s", closing.elapsed_s);
  if (!closing.is_model && valid > 0)
    head += text(", %.3g %% of them to +-%.2g %%",
                 100.0 * static_cast<double>(counts.precise) / static_cast<double>(valid),
                 100 * closing.half_width);
  if (closing.rows_before > 0) head += ", beside " + counted(closing.rows_before, "row") + " from before";
  wrap(out, head);

  if (const auto told = findings(results); !told.empty()) {
    out << '\n';
    for (const Finding& finding : told) {
      constexpr std::size_t indent = 20;
      const std::string name = "  " + finding.experiment;
      const bool fits = name.size() < indent;
      out << name << (fits ? std::string(indent - name.size(), ' ') : "\n" + std::string(indent, ' '));
      wrap(out, finding.sentence, indent, indent);
    }
    out << '\n';
  }

  if (const std::string words = of_predictions(results); !words.empty()) wrap(out, words);
  const std::size_t few = closing.preset == Preset::quick ? experiments_with_too_few_points(results) : 0;
  if (few > 0)
    wrap(out, counted(few, "experiment") + (few == 1 ? " has" : " have") +
                  " too few points for a curve in preset quick; --preset standard has more");
  if (counts.uneven > 0)
    wrap(out, counted(counts.uneven, "case") + (counts.uneven == 1 ? " has" : " have") +
                  " more than one speed (time_p10_s and time_p90_s over 5 % apart)");
  if (const std::size_t n = number(Status::invalid); n > 0)
    wrap(out, "warning: " + counted(n, "case") + " invalid, the first: " + why(results, Status::invalid));
  if (number(Status::impossible) + number(Status::skipped) > 0)
    wrap(out, counted(number(Status::impossible), "case") + " cannot launch on this device, " +
                  std::to_string(number(Status::skipped)) + " skipped; their rows say why");
  if (!closing.has_parameters)
    wrap(out, "no predictions: no parameters of this GPU are known; `occbench calibrate` measures them");

  out << closing.folder << '\n';
  const std::string words = closing.is_default_folder ? "" : " " + closing.folder;
  if (closing.interrupted)
    out << "interrupted; what is left:\n  occbench run --resume " << closing.folder << '\n';
  else
    out << "next: occbench report" << words << "    occbench explain" << words << '\n';
}

}  // namespace occbench
