// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/report/summary.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "benchmarks/framework/numbers.hpp"
#include "benchmarks/framework/sweep.hpp"
#include "benchmarks/report/curves.hpp"
#include "benchmarks/report/findings/findings.hpp"
#include "benchmarks/report/format.hpp"

namespace occbench {

namespace {

using Lines = std::vector<std::string>;

constexpr std::size_t max_findings = 5;
constexpr std::size_t max_invalid = 3;    // cases whose reason is printed
constexpr std::size_t max_skipped = 2;    // reasons
constexpr double disturbed_share = 0.01;  // discarded samples, for clock dips; 0.5 % is usual

/// Counts of a run's cases.
struct Tally {
  std::map<Status, std::size_t> by_status;
  std::map<std::string, std::size_t> skipped;  ///< by reason
  Lines invalid;                               ///< case and reason
  std::size_t precise = 0;
  std::size_t two_speeds = 0;
  std::size_t fewer_blocks = 0;  ///< cases with fewer blocks on an SM than theory says
  std::size_t samples = 0;
  std::size_t discarded = 0;

  explicit Tally(const std::vector<CaseResult>& results) {
    for (const CaseResult& r : results) {
      ++by_status[r.planned.status];
      if (r.planned.status == Status::invalid) invalid.push_back(r.planned.id + ": " + r.planned.reason);
      if (r.planned.status == Status::skipped) ++skipped[r.planned.reason];
      samples += r.samples;
      discarded += r.discarded;
      if (r.planned.status != Status::valid) continue;
      if (r.reached_precision) ++precise;
      if (r.speeds) ++two_speeds;
      if (r.blocks_per_sm_resident && *r.blocks_per_sm_resident < r.planned.occupancy.blocks_per_sm)
        ++fewer_blocks;
    }
  }

  [[nodiscard]] std::size_t count(Status status) const {
    return by_status.contains(status) ? by_status.at(status) : 0;
  }
};

/// A paragraph; all its lines but the first are indented.
void add(Lines& lines, const std::string& words, std::size_t most) {
  std::string before;
  for (const std::string& line : wrap_and_clip(words, summary_columns - 2, most)) {
    lines.push_back(before + line);
    before = "  ";
  }
}

/// "an H200", "a B200": by the sound of the first letter.
std::string with_article(const std::string& name) {
  constexpr std::string_view vowels = "AEFHILMNORSX";
  return (!name.empty() && vowels.find(name.front()) != std::string_view::npos ? "an " : "a ") + name;
}

/// "2,394 cases in 52 s", "interrupted after 812 of 2,394 cases, in 18 s"
std::string cases_and_time(std::size_t cases, const RunFacts& f) {
  const std::string time = duration(f.seconds);
  if (!f.interrupted) return count_of(cases, "case") + " in " + time;
  return "interrupted after " + commands::with_thousands(cases) + " of " + count_of(f.expected, "case") +
         ", in " + time;
}

std::string headline(const Tally& t, std::size_t cases, const RunFacts& f) {
  const std::size_t valid = t.count(Status::valid);
  std::string words;
  if (f.is_model) {
    const std::string name = f.device.substr(f.device.rfind(' ') + 1);
    words = "The model of " + with_article(name) +
            (f.interrupted ? ": " + cases_and_time(cases, f) : " predicts " + cases_and_time(valid, f));
  } else {
    words = f.device + ": " + cases_and_time(cases, f);
    if (valid > 0) {
      const double precise = static_cast<double>(t.precise) / static_cast<double>(valid);
      const double lost =
          static_cast<double>(t.discarded) / std::max(1.0, static_cast<double>(t.samples + t.discarded));
      words += text(", %.0f %% to +-%.2g %%", 100 * precise, 100 * f.half_width);
      if (lost >= disturbed_share && f.disturbance.empty())
        words += text(", disturbed: %.2g %% of samples discarded for a low clock", 100 * lost);
    }
  }
  const auto others = [&](Status status, const char* what) {
    if (const std::size_t n = t.count(status); n > 0) words += text("; %zu %s", n, what);
  };
  others(Status::noisy, "noisy");
  others(Status::invalid, "invalid");
  others(Status::skipped, "skipped");
  others(Status::impossible, "impossible here");
  return words;
}

/// A table of two columns: the experiments, and a sentence of each on at most three lines.
void add_findings(Lines& lines, const std::vector<findings::Highlight>& findings) {
  std::size_t width = 0;
  for (const findings::Highlight& f : findings) width = std::max(width, f.experiment.size());
  width = std::min<std::size_t>(width, 24);
  const std::size_t indent = 2 + width + 2;
  const std::size_t room = summary_columns - indent;
  for (const findings::Highlight& f : findings) {
    std::string words = f.finding.words;
    std::erase(words, '`');
    std::string name = clip(f.experiment, width);
    name.resize(width + 2, ' ');
    std::string before = "  " + name;
    for (const std::string& line : wrap_and_clip(words, room, 3)) {
      lines.push_back(before + line);
      before.assign(indent, ' ');
    }
  }
}

/// How many experiments have no curve with enough points, and the preset that has.
std::string too_few_points(const std::vector<CaseResult>& results, const RunFacts& f) {
  std::size_t experiments_without = 0;
  for (const Experiment& e : experiments()) {
    const auto more = f.next.values.find(e.name);
    if (more == f.next.values.end() || more->second < min_points) continue;
    const std::vector<Curve> curves = curves_of(e, results);
    if (!curves.empty() && std::ranges::none_of(curves, &Curve::has_enough_points)) ++experiments_without;
  }
  if (experiments_without == 0) return "";
  return count_of(experiments_without, "experiment") + ": too few points for a curve in " + f.preset +
         "; --preset " + f.next.preset + " has them";
}

/// "predictions: 3.4 % off on average, 25 % at worst (CASE)"; empty where nothing was predicted and measured.
std::string prediction_errors(const std::vector<CaseResult>& results) {
  double sum = 0;
  double worst = 0;
  std::size_t predicted = 0;
  const CaseResult* at = nullptr;
  for (const CaseResult& r : results) {
    const auto& prediction = r.planned.forecast.prediction;
    if (!r.has_time() || r.planned.is_modelled || !prediction || r.time_s.median <= 0) continue;
    const double off = std::abs(prediction->time_s / r.time_s.median - 1);
    sum += off;
    ++predicted;
    if (at == nullptr || off > worst) {
      worst = off;
      at = &r;
    }
  }
  if (at == nullptr) return "";
  return text("predictions: %.2g %% off on average, %.0f %% at worst (",
              100 * sum / static_cast<double>(predicted), 100 * worst) +
         at->planned.id + ")";
}

Lines warnings(const Tally& t, const RunFacts& f) {
  Lines lines;
  for (std::size_t i = 0; i < std::min(t.invalid.size(), max_invalid); ++i)
    lines.push_back("invalid: " + t.invalid[i]);
  if (t.invalid.size() > max_invalid)
    lines.push_back(count_of(t.invalid.size() - max_invalid, "more case") + " invalid: cases.csv says why");
  if (t.fewer_blocks > 0)
    lines.push_back(count_of(t.fewer_blocks, "case") + " had fewer blocks on an SM than theory says");
  if (t.two_speeds > 0)
    lines.push_back(count_of(t.two_speeds, "case") + (t.two_speeds == 1 ? " has" : " have") +
                    " launches of two speeds (time_fast_s, time_slow_s, slow_share)");
  std::size_t reasons = 0;
  for (const auto& [reason, cases] : t.skipped)
    if (reasons++ < max_skipped) lines.push_back(text("%zu skipped: ", cases) + reason);
  if (reasons > max_skipped) lines.push_back("more were skipped: cases.csv says why");
  if (!f.has_predictions)
    lines.push_back("no predictions: `occbench calibrate` measures this GPU's parameters");
  return lines;
}

/// The folder, in quotes if a shell needs them.
std::string quote_for_shell(const std::string& path) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";
  if (path.find_first_not_of(plain) == std::string::npos) return path;
  return shell_quote(path);
}

}  // namespace

void print_summary(std::ostream& out, const std::vector<CaseResult>& results, const RunFacts& facts) {
  const Tally tally(results);
  Lines lines;
  add(lines, headline(tally, results.size(), facts), 2);
  const bool is_burn_in = facts.preset == to_string(Preset::burn_in);  // judged by other cards' runs
  const auto telling =
      is_burn_in ? std::vector<findings::Highlight>{} : findings::most_telling(facts.findings, max_findings);
  add_findings(lines, telling);
  if (const std::string words = too_few_points(results, facts); !words.empty())
    lines.push_back(clip(words, summary_columns));

  Lines last;
  if (facts.rows_before > 0)
    last.push_back(count_of(facts.rows_before, "row") + (facts.rows_before == 1 ? " was" : " were") +
                   " there before, and not read here");
  last.push_back("files  " + facts.folder);
  const std::string where = facts.is_newest ? "" : " " + quote_for_shell(facts.folder);
  if (facts.interrupted) {
    last.push_back("next   occbench run --resume " + quote_for_shell(facts.folder));
  } else if (is_burn_in) {
    last.push_back("next   occbench fleet check DIR, which holds the folders of all cards");
  } else {
    last.push_back("next   occbench report" + where);
    if (!telling.empty()) {
      std::string explain = "occbench explain" + where + " " + telling.front().experiment;
      if (7 + explain.size() > summary_columns) explain = "occbench explain" + where;
      if (last.back().size() + 4 + explain.size() <= summary_columns)
        last.back() += "    " + explain;
      else
        last.push_back("       " + explain);
    }
  }
  Lines notes = warnings(tally, facts);
  if (!facts.disturbance.empty()) notes.insert(notes.begin(), facts.disturbance);
  if (const std::string words = prediction_errors(results); !words.empty()) notes.push_back(words);
  for (std::size_t i = 0; i < notes.size(); ++i) {  // two lines each, as long as the others keep one
    const std::size_t taken = lines.size() + last.size() + (notes.size() - i - 1);
    if (taken >= max_summary_lines) break;
    add(lines, notes[i], std::min<std::size_t>(2, max_summary_lines - taken));
  }
  for (const std::string& line : last) lines.push_back(line);
  for (const std::string& line : lines) out << line << '\n';
}

}  // namespace occbench
