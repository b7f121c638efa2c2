// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/report/findings/cliffs.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "benchmarks/report/findings/steps.hpp"
#include "benchmarks/report/findings/sweeps.hpp"
#include "benchmarks/report/format.hpp"
#include "harness/io/join.hpp"
#include "harness/statistics/significance.hpp"
#include "harness/statistics/statistics.hpp"
#include "harness/theory/occupancy/catalogue.hpp"

namespace occbench::findings {

namespace {

constexpr double no_interval = std::numeric_limits<double>::quiet_NaN();
// Standard deviation of a case's throughput from process to process: the median over the 1,769 cases of four
// `standard` runs of one build on an H200. Intervals of a single run do not include it.
constexpr double process_deviation = 0.0006;
constexpr double normal_95 = 1.96;
static_assert(statistics::confidence == 0.95);
constexpr double high_percent = 90;  // of a ceiling: it explains why nothing is lost

std::string cause_of(const std::string& limiter) {
  static const std::map<std::string, std::string, std::less<>> causes{{"registers", "register unit"},
                                                                      {"blocks", "block slot"},
                                                                      {"warps", "warp slot"},
                                                                      {"shared_memory", "shared memory"},
                                                                      {"barriers", "barrier"}};
  const auto found = causes.find(limiter);
  return found == causes.end() ? limiter : found->second;
}

/// A share in percent, with no minus before zero.
std::string percent_of(double share) {
  std::string words = text("%.1f", 100 * share);
  return words == "-0.0" ? "0.0" : words;
}

/// Causes of a cliff in theory; 1 where it predicts a loss, -1 a gain, 0 both.
struct Prediction {
  std::vector<std::string> causes = {};
  int sign = 0;
};

class Finder {
 public:
  Finder(const Rows& rows, const nlohmann::json& environment, const Times& times)
      : rows_(rows),
        environment_(environment),
        times_(times),
        is_model_(environment.value("source", nlohmann::json()) == nlohmann::json("model")) {}

  /// Those of one sweep, in the order of its dial.
  [[nodiscard]] std::vector<Cliff> cliffs_of(const Sweep& sweep) const {
    std::map<std::size_t, Cliff> found;
    std::set<std::size_t> known;
    const double best = best_of(sweep);
    for (std::size_t i = 0; i + 1 < sweep.places.size(); ++i) {
      const Pair pair = pair_of(sweep, i, best);
      const Prediction prediction = prediction_of(pair);
      if (prediction.causes.empty()) continue;
      Cliff cliff = cliff_at(pair);
      cliff.cause = join(prediction.causes, " + ");
      cliff.is_predicted = true;
      measure(cliff, pair);
      set_verdict(cliff, pair, prediction.sign);
      if (cliff.verdict == "confirmed" || std::abs(cliff.drop) > min_cliff) known.insert(i);
      found[i] = std::move(cliff);
    }
    for (const Step& step : unpredicted_steps(sweep, known))
      found[step.place] = unpredicted_cliff(pair_of(sweep, step.place, best), step);
    std::vector<Cliff> all;
    for (auto& [_, cliff] : found) all.push_back(std::move(cliff));
    return all;
  }

 private:
  /// Two neighbours of a sweep, by their rows.
  struct Pair {
    const Sweep& sweep;
    std::size_t a;
    std::size_t b;
    double best;  ///< throughput of the sweep
  };
  static Pair pair_of(const Sweep& sweep, std::size_t i, double best) {
    return {sweep, sweep.places[i], sweep.places[i + 1], best};
  }
  [[nodiscard]] double best_of(const Sweep& sweep) const {
    double best = 0;
    for (const double rate : column(sweep, "throughput")) best = std::fmax(best, rate);
    return best;
  }

  [[nodiscard]] double number(std::size_t row, std::string_view column) const {
    return rows_.number(row, column);
  }
  [[nodiscard]] std::vector<double> column(const Sweep& sweep, std::string_view name) const {
    std::vector<double> values;
    for (const std::size_t place : sweep.places) values.push_back(number(place, name));
    return values;
  }
  /// The part of its waves that a grid fills.
  [[nodiscard]] double wave_utilization(std::size_t row) const {
    return number(row, "waves") / std::ceil(number(row, "waves"));
  }

  [[nodiscard]] Cliff cliff_at(const Pair& at) const {
    const Sweep& sweep = at.sweep;
    return {.experiment = sweep.experiment,
            .family = sweep.family,
            .kernel = sweep.kernel,
            .sweep = sweep.name,
            .dial = sweep.dial,
            .from_value = number(at.a, sweep.dial),
            .to_value = number(at.b, sweep.dial),
            .from_case_id = rows_.text(at.a, "case_id"),
            .to_case_id = rows_.text(at.b, "case_id"),
            .blocks_from = number(at.a, "blocks_per_sm"),
            .blocks_to = number(at.b, "blocks_per_sm")};
  }

  [[nodiscard]] Prediction prediction_of(const Pair& at) const {
    std::vector<std::string> causes;
    std::set<int> signs;
    const double warps_a = number(at.a, "warps_per_sm");
    const double warps_b = number(at.b, "warps_per_sm");
    if (warps_a != warps_b) {
      const bool is_loss = warps_b < warps_a;
      std::string limiters = rows_.text(is_loss ? at.b : at.a, "limiters") + '+';
      for (std::size_t end = 0; (end = limiters.find('+')) != std::string::npos; limiters.erase(0, end + 1))
        causes.push_back(cause_of(limiters.substr(0, end)));
      signs.insert(is_loss ? 1 : -1);
    }
    const bool spills_a = number(at.a, "local_bytes") > 0;
    const bool spills_b = number(at.b, "local_bytes") > 0;
    if (spills_a != spills_b) {
      causes.emplace_back("spill onset");
      signs.insert(spills_b ? 1 : -1);
    }
    if (at.sweep.dial == "grid_size" &&
        std::ceil(number(at.a, "waves")) != std::ceil(number(at.b, "waves"))) {
      causes.emplace_back("tail");
      signs.insert(wave_utilization(at.b) < wave_utilization(at.a) ? 1 : -1);
    }
    return {.causes = causes, .sign = signs.size() == 1 ? *signs.begin() : 0};
  }

  /// Sets the drop, its interval and p-value; the last three stay NaN without intervals. Intervals of
  /// logarithms add in quadrature, together with process_deviation.
  void measure(Cliff& cliff, const Pair& at) const {
    const double ratio = number(at.b, "throughput") / number(at.a, "throughput");
    cliff.drop = 1 - ratio;
    cliff.drop_low = cliff.drop_high = cliff.p_value = no_interval;
    if (!(ratio > 0 && ratio < std::numeric_limits<double>::infinity())) return;
    const auto width = [&](std::size_t row, const char* end) {
      return std::abs(std::log(number(row, end) / number(row, "time_median_s")));
    };
    const double repeats = normal_95 * process_deviation * std::sqrt(2.0);
    const double down = std::hypot(width(at.a, "time_ci95_low_s"), width(at.b, "time_ci95_high_s"), repeats);
    const double up = std::hypot(width(at.a, "time_ci95_high_s"), width(at.b, "time_ci95_low_s"), repeats);
    if (std::isnan(down + up)) return;
    cliff.drop_low = 1 - ratio * std::exp(up);
    cliff.drop_high = 1 - ratio * std::exp(-down);
    cliff.p_value = 2 * statistics::normal_tail(std::abs(std::log(ratio)) / ((down + up) / 2 / normal_95));
    const auto a = times_.find(cliff.from_case_id);
    const auto b = times_.find(cliff.to_case_id);
    if (a == times_.end() || b == times_.end()) return;
    // A kernel's work per launch may change along a dial: times of the same work are compared.
    const double work = number(at.a, "time_median_s") / number(at.b, "time_median_s") / ratio;
    std::vector<double> same_work = b->second;
    for (double& time_s : same_work) time_s *= work;
    cliff.p_value = statistics::mann_whitney(a->second, same_work);
  }

  /// The ends of the drop in the predicted direction: positive where theory is right.
  static std::pair<double, double> ends_of(const Cliff& cliff, int sign) {
    const double low = std::isnan(cliff.drop_low) ? cliff.drop : cliff.drop_low;
    const double high = std::isnan(cliff.drop_high) ? cliff.drop : cliff.drop_high;
    const bool is_gain = sign == 0 ? cliff.drop < 0 : sign < 0;
    return is_gain ? std::pair(-high, -low) : std::pair(low, high);
  }

  /// Sets the verdict and the note.
  void set_verdict(Cliff& cliff, const Pair& at, int sign) const {
    const auto [low, high] = ends_of(cliff, sign);
    const double expected = expected_of(at);
    std::vector<std::string> words = changes_between(cliff, at);
    if (!std::isnan(expected) && !is_model_)
      words.push_back("the model: " + drop_words(expected, no_interval, no_interval));
    if (high < min_cliff) {
      cliff.verdict = "absent";
      words.push_back(explain_absence(cliff, at, high < 0));
    } else if (low > 0) {
      cliff.verdict = "confirmed";
    } else {
      cliff.verdict = "unclear";
      words.emplace_back("the interval includes both no change and one that matters");
    }
    cliff.note = join(words, "; ");
  }

  /// The drop by the model; NaN where it predicts nothing.
  [[nodiscard]] double expected_of(const Pair& at) const {
    const double a = number(at.a, "throughput_predicted");
    const double b = number(at.b, "throughput_predicted");
    return a > 0 && b > 0 ? 1 - b / a : no_interval;
  }

  [[nodiscard]] std::vector<std::string> changes_between(const Cliff& cliff, const Pair& at) const {
    std::vector<std::string> words;
    const auto step_of_column = [&](const char* column) {
      return text("%g -> %g", number(at.a, column), number(at.b, column));
    };
    if (number(at.a, "warps_per_sm") != number(at.b, "warps_per_sm"))
      words.push_back(step_of_column("warps_per_sm") + " warps");
    if (cliff.cause.find("tail") != std::string::npos)
      words.push_back(text("%.5g -> %.5g waves, %.0f -> %.0f %% filled", number(at.a, "waves"),
                           number(at.b, "waves"), 100 * wave_utilization(at.a),
                           100 * wave_utilization(at.b)));
    if (cliff.cause.find("spill onset") != std::string::npos)
      words.push_back(step_of_column("local_bytes") + " B spilled");
    return words;
  }

  /// The share of a scheduler's issue slots that FMAs fill, where the pipe is the bound. A dependent FMA
  /// waits for four cycles, and an SM has four schedulers: FMAs in flight issue in rounds of four, and ten
  /// warps take as many rounds as twelve (experiment latency_hiding).
  [[nodiscard]] double issue_slot_utilization(std::size_t row) const {
    const double ilp = number(row, "ilp");
    const double in_flight = number(row, "warps_per_sm") / 4 * (ilp > 0 ? ilp : 1);
    return in_flight / (4 * std::ceil(in_flight / 4));
  }

  /// The bound that the model predicts for both sides; empty where they differ.
  [[nodiscard]] std::string common_bound(const Pair& at) const {
    const std::string& bound = rows_.text(at.a, "bound_predicted");
    return bound == rows_.text(at.b, "bound_predicted") ? bound : "";
  }

  /// Why the whole interval is opposite to theory: the first reason that the rows show; empty: none.
  [[nodiscard]] std::string reason_for_opposite(const Cliff& cliff, const Pair& at) const {
    const double expected = expected_of(at);
    const std::string bound = common_bound(at);
    if (expected * cliff.drop > 0 && std::abs(expected) > std::abs(cliff.drop) / 2)
      return "it goes the other way, as the model expects" + (bound.empty() ? "" : " (" + bound + ")");
    const double spilled_a = number(at.a, "local_bytes");
    const double spilled_b = number(at.b, "local_bytes");
    if ((spilled_b - spilled_a) * cliff.drop > 0)
      return text("it goes the other way: %g -> %g B spilled weigh more", spilled_a, spilled_b);
    const double slots_a = issue_slot_utilization(at.a);
    const double slots_b = issue_slot_utilization(at.b);
    if (rows_.text(at.a, "ceiling_kind") == "fp32" && (1 - slots_b / slots_a) / cliff.drop > 0.5)
      return text(
          "it goes the other way: FMAs come round by fours, and %.0f -> %.0f %% of their turns are filled",
          100 * slots_a, 100 * slots_b);
    if (!std::isnan(number(at.a, "working_set_bytes")))
      return "it goes the other way: fewer working sets share the caches";
    return "";
  }

  /// The same where nothing is lost or gained.
  [[nodiscard]] std::string reason_for_absence(const Pair& at) const {
    const double percent = std::min(number(at.a, "percent_of_ceiling"), number(at.b, "percent_of_ceiling"));
    if (percent >= high_percent)
      return text("both sides at %.0f %% of the %s ceiling or more", percent,
                  rows_.text(at.a, "ceiling_kind").c_str());
    const double of_best = std::min(number(at.a, "throughput"), number(at.b, "throughput")) / at.best;
    if (of_best > 1 - min_cliff)
      return text("both sides at %.1f %% of the sweep's best or more", 100 * of_best);
    const std::string bound = common_bound(at);
    if (std::abs(expected_of(at)) < min_cliff)
      return "the model expects none either" + (bound.empty() ? "" : " (" + bound + " on both sides)");
    const double share = std::abs(number(at.b, "warps_per_sm") / number(at.a, "warps_per_sm") - 1);
    if (share > 0 && share < 0.05)
      return text("a change of %.1f %% in warps is too small to tell", 100 * share);
    return "";
  }

  /// Why a cliff is absent, in words; sets is_against_theory and is_explained.
  [[nodiscard]] std::string explain_absence(Cliff& cliff, const Pair& at, bool is_opposite) const {
    cliff.is_against_theory = is_opposite && std::abs(cliff.drop) > min_cliff;
    std::string why = is_opposite ? reason_for_opposite(cliff, at) : "";
    if (why.empty() && !cliff.is_against_theory) why = reason_for_absence(at);
    cliff.is_explained = !why.empty();
    if (cliff.is_explained) return why;
    return cliff.is_against_theory ? "it goes the other way, unexplained"
                                   : text("unexplained, and under %g %%", 100 * min_cliff);
  }

  /// None of a model: without noise every bend of a simulation would be certain.
  [[nodiscard]] std::vector<Step> unpredicted_steps(const Sweep& sweep,
                                                    const std::set<std::size_t>& known) const {
    const std::vector<double> rates = column(sweep, "throughput");
    const auto is_rate = [](double rate) { return rate > 0 && std::isfinite(rate); };
    if (is_model_ || rates.size() < min_points_for_steps || !std::ranges::all_of(rates, is_rate)) return {};
    std::vector<double> widths;
    for (const std::size_t place : sweep.places) {
      const double width = number(place, "time_ci95_high_s") - number(place, "time_ci95_low_s");
      const double half = width / 2 / number(place, "time_median_s");
      widths.push_back(std::isnan(half) ? 0 : half);
    }
    const double noise = std::hypot(statistics::median(widths) / normal_95, process_deviation);
    return find_steps(column(sweep, sweep.dial), rates, min_cliff, noise, known);
  }

  [[nodiscard]] Cliff unpredicted_cliff(const Pair& at, const Step& step) const {
    Cliff cliff = cliff_at(at);
    cliff.cause = guess_cause(at, step);
    cliff.drop = 1 - std::exp(step.height);
    cliff.drop_low = 1 - std::exp(step.height + step.half_width);
    cliff.drop_high = 1 - std::exp(step.height - step.half_width);
    cliff.p_value = step.p_value;
    cliff.verdict = "unpredicted";
    std::vector<std::string> also;  // machine code and dials other than this one that differ
    std::vector<std::string> names{"registers_per_thread", "local_bytes", "static_smem_bytes"};
    names.insert(names.end(), swept_dials().begin(), swept_dials().end());
    for (const std::string& name : names)
      if (const double a = number(at.a, name), b = number(at.b, name);
          name != at.sweep.dial && name != "grid_size" && a != b && !std::isnan(a) && !std::isnan(b))
        also.push_back(name + text(" %g -> %g", a, b));
    cliff.note = "beyond the trend on both sides" + (also.empty() ? "" : "; also " + join(also));
    return cliff;
  }

  /// L1 (bytes) of a row's carve-out and blocks; NaN for a GPU that is not in the catalogue.
  [[nodiscard]] double l1_bytes_of(std::size_t row) const {
    try {
      const std::string cc = environment_.at("gpu").at("compute_capability").get<std::string>();
      const auto whole = [&](const char* column) {
        const double value = number(row, column);
        return value >= 0 && value <= std::numeric_limits<int>::max() ? static_cast<int>(value) : 0;
      };
      theory::SmLimits sm = theory::find_device("cc" + cc).sm;
      theory::Footprint footprint{
          .block_size = whole("block_size"),
          .static_smem_bytes = static_cast<std::size_t>(whole("static_smem_bytes")),
          .dynamic_smem_bytes = static_cast<std::size_t>(whole("dynamic_smem_bytes"))};
      if (const double percent = number(row, "carveout_percent"); percent >= 0 && percent <= 100)
        footprint.carveout_percent = static_cast<int>(percent);
      return static_cast<double>(theory::l1_bytes(sm, footprint));
    } catch (const nlohmann::json::exception&) {
      return no_interval;
    } catch (const std::invalid_argument&) {
      return no_interval;
    }
  }

  /// The likeliest cause of a step that theory does not have.
  [[nodiscard]] std::string guess_cause(const Pair& at, const Step& step) const {
    if (at.sweep.dial == "working_set_bytes") {
      const nlohmann::json gpu = environment_.value("gpu", nlohmann::json::object());
      const nlohmann::json l2 = gpu.is_object() ? gpu.value("l2_bytes", nlohmann::json()) : nlohmann::json();
      const double from = number(at.a, at.sweep.dial);
      const double to = number(at.b, at.sweep.dial);
      const std::array<std::pair<const char*, double>, 2> caches{
          {{"L1 capacity?", l1_bytes_of(at.a)}, {"L2 capacity?", l2.is_number() ? l2.get<double>() : 0}}};
      for (const auto& [name, bytes] : caches)
        if (from < bytes && bytes <= to) return name;
    }
    const double clock = std::log(number(at.b, "sm_clock_hz") / number(at.a, "sm_clock_hz"));
    if (clock * step.height > 0 && std::abs(clock) > std::abs(step.height) / 2) return "SM clock?";
    const auto differs = [&](const char* column) {
      const double a = number(at.a, column);
      const double b = number(at.b, column);
      return a != b && !std::isnan(a) && !std::isnan(b);
    };
    if (differs("local_bytes")) return "more spills?";
    return differs("registers_per_thread") ? "other machine code?" : "unknown";
  }

  const Rows& rows_;
  const nlohmann::json& environment_;
  const Times& times_;
  bool is_model_;
};

}  // namespace

std::vector<Cliff> find_cliffs(const Rows& rows, const nlohmann::json& environment, const Times& times) {
  const Finder finder(rows, environment, times);
  std::vector<Cliff> all;
  for (const Sweep& sweep : find_sweeps(rows)) {
    std::vector<Cliff> found = finder.cliffs_of(sweep);
    std::ranges::move(found, std::back_inserter(all));
  }
  return all;
}

std::string drop_words(double drop, double low, double high) {
  const bool has_ends = !std::isnan(low);
  if (drop < -1)
    return text("gain x %.3g", 1 - drop) + (has_ends ? text(" (%.3g to %.3g)", 1 - high, 1 - low) : "");
  return percent_of(drop) + " %" + (has_ends ? " (" + percent_of(low) + " to " + percent_of(high) + ")" : "");
}

}  // namespace occbench::findings
