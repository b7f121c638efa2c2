// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/attach/sentences.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>

#include "benchmarks/commands/attach/parts.hpp"
#include "benchmarks/commands/attach/words.hpp"
#include "benchmarks/framework/numbers.hpp"
#include "benchmarks/report/format.hpp"
#include "harness/attach/analysis/verdict.hpp"

namespace occbench::commands {

namespace {

using namespace attach;

constexpr std::size_t long_name_room = 60, short_name_room = 44;

double share_of_kernel(const AttachResults& found, std::size_t i) {
  const double total = found.all.total_us();
  return total > 0 ? found.all.kernels[i].total_us() / total : 0;
}

}  // namespace

double share_of(const AttachResults& found, const KernelIndices& places) {
  double share = 0;
  for (const std::size_t i : places) share += share_of_kernel(found, i);
  return share;
}

namespace {

/// The name in backticks; its own become quotes.
std::string quote_name(std::string name) {
  std::ranges::replace(name, '`', '\'');
  return "`" + name + "`";
}

/// "`softmax` (grid 64x32, 9.2 % of GPU time)"
std::string kernel_phrase(const AttachResults& found, std::size_t i) {
  const Kernel& k = found.all.kernels[i];
  return quote_name(name_of(k, short_name_room) + range_phrase(k)) + " (grid " + grid_of(found.all, k) +
         ", " + part(share_of_kernel(found, i)) + " of GPU time)";
}

/// "...: 5 kernels, 3.1 % of GPU time, the largest `gelu`."; empty without kernels.
std::vector<std::string> group_sentence(const AttachResults& found, const std::string& what,
                                        const KernelIndices& places) {
  if (places.empty()) return {};
  const Kernel& largest = found.all.kernels[places[0]];
  return {what + ": " + count_of(places.size(), "kernel") + ", " + part(share_of(found, places)) +
          " of GPU time, the largest " +
          quote_name(name_of(largest, short_name_room) + range_phrase(largest)) + "."};
}

void append(std::vector<std::string>& to, std::vector<std::string> more) {
  std::ranges::move(more, std::back_inserter(to));
}

/// "3.0 to 8.0", of a gain in percent
std::string interval(double low, double high) { return text("%.1f to %.1f", 100 * low, 100 * high); }

std::string sentence_of_caps(const AttachResults& found);

/// Where the time goes, how much occupancy matters, and how much was judged; some may be empty.
std::vector<std::string> overview_of(const AttachResults& found) {
  const Collected& all = found.all;
  if (found.has_caps) return {sentence_of_time(all), sentence_of_caps(found)};
  const bool has_counters =
      std::ranges::any_of(found.verdicts, [](const Verdict& v) { return is_by_counters(v.finding); });
  if (found.is_observed && has_counters)
    return {sentence_of_time(all), sentence_of_judged(all, found.verdicts)};
  if (found.is_observed)
    return {sentence_of_time(all), "Only observed (--observe): nothing was changed, so no kernel is judged."};
  return {sentence_of_time(all), sentence(all, found.verdicts), sentence_of_judged(all, found.verdicts)};
}

std::vector<std::string> sentences_of_program(const AttachResults& found) {
  std::vector<std::string> all = overview_of(found);
  all.push_back(sentence_of_lower(found.all, found.verdicts));
  if (found.is_same_output == false)
    all.emplace_back(
        "The program's stdout DIFFERS with caps, but not between plain runs: check the results before you "
        "use a cap.");
  append(all, found.all.warnings);
  std::erase(all, "");
  return all;
}

/// Kernels of no graph with a verdict for which `is_one` holds.
KernelIndices places_of(const AttachResults& found, Finding finding,
                        const std::function<bool(const Verdict&)>& is_one = nullptr) {
  KernelIndices places;
  for (std::size_t i = 0; i < found.verdicts.size(); ++i)
    if (const Kernel& k = found.all.kernels[i]; !k.is_graph() && !k.is_in_graph() &&
                                                found.verdicts[i].finding == finding &&
                                                (is_one == nullptr || is_one(found.verdicts[i])))
      places.push_back(i);
  return places;
}

/// The largest gain of the program's time first: by the next step or the fastest cap.
void sort_by_gain(const AttachResults& found, KernelIndices& places,
                  const std::function<double(const Verdict&)>& gain_of_kernel) {
  std::ranges::stable_sort(places, std::greater<>(), [&](std::size_t i) {
    return share_of_kernel(found, i) * gain_of_kernel(found.verdicts[i]);
  });
}

double next_gain(const Verdict& v) { return v.gain->value; }

std::vector<std::string> sentences_of_needs(const AttachResults& found) {
  KernelIndices places =
      places_of(found, Finding::needs_occupancy, [](const Verdict& v) { return v.gain && v.gain->low > 0; });
  sort_by_gain(found, places, next_gain);
  std::vector<std::string> all;
  for (const std::size_t i : places) {
    const Verdict& v = found.verdicts[i];
    all.push_back(kernel_phrase(found, i) + ": " + v.next.needs + " would save about " + part(v.gain->value) +
                  " of its time (" + interval(v.gain->low, v.gain->high) + "), " +
                  part(share_of_kernel(found, i) * v.gain->value) + " of all.");
  }
  return all;
}

std::vector<std::string> sentences_of_caps(const AttachResults& found) {
  if (!found.has_caps) return {};
  KernelIndices faster, same, few;
  for (std::size_t i = 0; i < found.verdicts.size(); ++i) {
    const Verdict& v = found.verdicts[i];
    if (v.caps.empty()) continue;
    const bool is_known =
        std::ranges::all_of(v.caps, [](const CapResult& c) { return c.change.has_value(); });
    (fastest_cap(v) != nullptr ? faster : is_known ? same : few).push_back(i);
  }
  sort_by_gain(found, faster, [](const Verdict& v) { return -fastest_cap(v)->change->value; });
  std::vector<std::string> all;
  for (const std::size_t i : faster) {
    const Kernel& k = found.all.kernels[i];
    const CapResult& cap = *fastest_cap(found.verdicts[i]);
    all.push_back(quote_name(short_name_of(k.name, long_name_room)) + " (grid " + shape_of(k.grid) + ", " +
                  part(share_of_kernel(found, i)) + " of GPU time): at most " + std::to_string(cap.cap) +
                  " registers in place of " + std::to_string(k.footprint.registers_per_thread) + " take " +
                  part(-cap.change->value) + " less time (" + interval(-cap.change->high, -cap.change->low) +
                  "), " + part(share_of_kernel(found, i) * -cap.change->value) + " of all; " +
                  std::to_string(cap.blocks_per_sm) + " blocks per SM, not " +
                  std::to_string(k.blocks_per_sm) + ", and " + std::to_string(cap.local_bytes) +
                  " B of local memory, not " + std::to_string(k.local_bytes) + ".");
  }
  append(all, group_sentence(found, "No cap is faster than the kernel as it is", same));
  append(all, group_sentence(found, "Too few launches to tell of some cap: run longer", few));
  return all;
}

/// "4.2 % longer (3.9 to 4.5)", "1.0 % less (0.8 to 1.2)"
std::string graph_change(const Change& change) {
  if (change.value >= 0) return part(change.value) + " longer (" + interval(change.low, change.high) + ")";
  return part(-change.value) + " less (" + interval(-change.high, -change.low) + ")";
}

const LevelResult& largest_change(const Verdict& v) {
  return *std::ranges::max_element(v.levels, {},
                                   [](const LevelResult& level) { return std::abs(level.change.value); });
}

/// Of the kernels in graph `whole` that its time depends on: the largest changes first.
std::vector<std::string> sentences_of_graph_kernels(const AttachResults& found, std::size_t whole) {
  KernelIndices places;
  for (std::size_t i = 0; i < found.verdicts.size(); ++i)
    if (const Verdict& v = found.verdicts[i];
        found.all.kernels[i].whole == whole && !v.levels.empty() &&
        (v.finding == Finding::needs_occupancy || v.finding == Finding::faster_at_lower_occupancy))
      places.push_back(i);
  std::ranges::stable_sort(places, std::greater<>(), [&](std::size_t i) {
    return std::abs(largest_change(found.verdicts[i]).change.value);
  });
  std::vector<std::string> all;
  for (const std::size_t i : places) {
    const Kernel& k = found.all.kernels[i];
    const Verdict& v = found.verdicts[i];
    const LevelResult& level = largest_change(v);
    const bool has_step = !v.next.needs.empty() && level.change.value > 0;
    all.push_back(
        quote_name(short_name_of(k.name, long_name_room)) + " (grid " + grid_of(found.all, k) + ", " +
        std::to_string(k.graph_kernels) + " of " + std::to_string(found.all.kernels[whole].graph_kernels) +
        " kernels): with " + text("%.0f %% of its warps the graph takes ", 100 * level.warps) +
        graph_change(level.change) + (has_step ? ": " + v.next.needs + " would add a block" : "") + ".");
  }
  return all;
}

std::vector<std::string> sentences_of_each_graph(const AttachResults& found) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < found.verdicts.size(); ++i) {
    const Verdict& v = found.verdicts[i];
    if (!found.all.kernels[i].is_graph() || v.levels.empty() || v.finding == Finding::unknown) continue;
    const LevelResult& first = v.levels.front();
    all.push_back("`" + short_name_of(found.all.kernels[i].name, long_name_room) + "` (" +
                  part(share_of_kernel(found, i)) + " of GPU time) takes " + graph_change(first.change) +
                  text(" with %.0f %% of its kernels' warps.", 100 * first.warps));
    append(all, sentences_of_graph_kernels(found, i));
  }
  return all;
}

std::vector<std::string> sentences_of_lower(const AttachResults& found) {
  std::vector<std::string> all;
  for (const std::size_t i : places_of(found, Finding::faster_at_lower_occupancy,
                                       [](const Verdict& v) { return !v.levels.empty(); })) {
    const LevelResult& level = fastest_level(found.verdicts[i]);
    all.push_back(kernel_phrase(found, i) + " takes " + part(-level.from_untouched.value) +
                  " less time with " + text("%.0f %% of its warps: ", 100 * level.warps) +
                  with_thousands(level.added_smem_bytes) +
                  " B more dynamic shared memory, at a carve-out of 100 %.");
  }
  return all;
}

std::vector<std::string> sentences_of_l1(const AttachResults& found) {
  std::vector<std::string> all;
  for (const std::size_t i : places_of(found, Finding::needs_l1))
    all.push_back(kernel_phrase(found, i) + " takes " + part(found.verdicts[i].l1->value) +
                  " longer without its L1: add no shared memory.");
  return all;
}

/// Of the kernels that ran on fewer SMs: what binds each, then those that are unknown.
std::vector<std::string> sentences_of_sms(const AttachResults& found) {
  std::vector<std::string> all;
  KernelIndices unknown;
  for (std::size_t i = 0; i < found.verdicts.size(); ++i) {
    const SmVerdict& v = found.verdicts[i].by_sms;
    if (v.finding == SmFinding::unknown)
      unknown.push_back(i);
    else if (v.finding != SmFinding::none)
      all.push_back(kernel_phrase(found, i) + " is " + sm_verdict_text(found.all.kernels[i], v) + ".");
  }
  append(all, group_sentence(found, "Too few launches on fewer SMs, or launches of several kinds", unknown));
  if (const std::string spare = sentence_of_spare_sms(found.all, found.verdicts); !spare.empty())
    all.insert(all.begin(), spare);
  return all;
}

std::vector<std::string> sentences_of_counters(const AttachResults& found) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < found.verdicts.size(); ++i)
    if (const Verdict& v = found.verdicts[i]; is_by_counters(v.finding))
      all.push_back(kernel_phrase(found, i) + ": " + printable(v.why) + ".");
  return all;
}

std::vector<std::string> sentences_of_rest(const AttachResults& found) {
  KernelIndices unsure =
      places_of(found, Finding::needs_occupancy, [](const Verdict& v) { return v.gain && v.gain->low <= 0; });
  sort_by_gain(found, unsure, next_gain);
  std::vector<std::string> all =
      group_sentence(found, "Nothing adds a block",
                     places_of(found, Finding::needs_occupancy, [](const Verdict& v) { return !v.gain; }));
  append(all, group_sentence(found, "The next step may bring nothing", unsure));
  append(all, group_sentence(found, text("The next step gains under %.0f %%", 100 * worth_it),
                             places_of(found, Finding::small_gain)));
  append(all, group_sentence(found, text("A step down costs under %.0f %%", 100 * no_change),
                             places_of(found, Finding::saturated)));
  append(all, group_sentence(found, "Whole waves of blocks explain the steps, not occupancy",
                             places_of(found, Finding::waves)));
  return all;
}

std::vector<std::string> sentences_of_unknown(const AttachResults& found) {
  std::vector<std::string> all = group_sentence(found, "Unknown: run longer, or see `why` in kernels.csv",
                                                places_of(found, Finding::unknown));
  for (const SkipGroup& s : skipped_of(found))
    all.push_back("Skipped, " + s.why + ": " + count_of(s.kernels, "kernel") + ", " + part(s.share) +
                  " of GPU time.");
  return all;
}

/// For a program with which caps were tried.
std::string sentence_of_caps(const AttachResults& found) {
  std::size_t tried = 0;
  double tried_share = 0, gain = 0, below = 0, above = 0;
  for (std::size_t i = 0; i < found.verdicts.size(); ++i) {
    if (found.verdicts[i].caps.empty()) continue;
    const double share = share_of_kernel(found, i);
    ++tried;
    tried_share += share;
    const CapResult* const cap = fastest_cap(found.verdicts[i]);
    if (cap == nullptr) continue;
    const Change& one = *cap->change;  // its error is independent of other kernels'
    gain -= share * one.value;
    below = std::hypot(below, share * (one.high - one.value));
    above = std::hypot(above, share * (one.value - one.low));
  }
  const std::string all = "Caps on registers were tried in " + count_of(tried, "kernel") +
                          text(" with %.0f %% of GPU time", 100 * tried_share);
  if (gain == 0) return all + ": none is faster than the kernel as it is.";
  return all + "; the fastest of each would save about " + part(gain) + " of all GPU time (" +
         interval(gain - below, gain + above) + ").";
}

}  // namespace

std::string whole_program(const AttachResults& found) {
  std::string all;
  for (const std::string& sentence : overview_of(found))
    if (!sentence.empty()) all += (all.empty() ? "" : " ") + sentence;
  return all;
}

std::vector<Heading> headings_of(const AttachResults& found) {
  std::vector<Heading> headings = {{"the whole program", sentences_of_program(found)},
                                   {"caps on registers", sentences_of_caps(found)},
                                   {"work on first", sentences_of_needs(found)},
                                   {"in CUDA graphs", sentences_of_each_graph(found)},
                                   {"faster with fewer warps", sentences_of_lower(found)},
                                   {"keep the L1", sentences_of_l1(found)},
                                   {"on fewer SMs", sentences_of_sms(found)},
                                   {"by counters", sentences_of_counters(found)},
                                   {"not worth it", sentences_of_rest(found)},
                                   {"not known", sentences_of_unknown(found)}};
  std::erase_if(headings, [](const Heading& heading) { return heading.sentences.empty(); });
  return headings;
}

std::vector<SkipGroup> skipped_of(const AttachResults& found) {
  std::vector<SkipGroup> all;
  for (std::size_t i = 0; i < found.verdicts.size(); ++i) {
    const Verdict& v = found.verdicts[i];
    if (v.finding != Finding::skipped || found.all.kernels[i].is_in_graph()) continue;
    auto at = std::ranges::find(all, v.why, &SkipGroup::why);
    if (at == all.end()) at = all.insert(all.end(), {.why = v.why});
    ++at->kernels;
    at->share += share_of_kernel(found, i);
  }
  std::ranges::stable_sort(all, {}, &SkipGroup::why);
  std::ranges::stable_sort(all, std::greater<>(), &SkipGroup::share);
  return all;
}

std::string summary_of(const Collected& all) {
  std::uint64_t launches = 0;
  std::size_t kernels = 0;
  for (const Kernel& k : all.kernels) {
    if (k.is_in_graph()) continue;
    launches += k.launches;
    ++kernels;
  }
  const auto several = [](std::uint64_t n, const char* what) {
    return with_thousands(n) + " " + what + (n == 1 ? "" : "es");
  };
  return several(launches, "launch") + " of " + count_of(kernels, "kernel") + " in " +
         several(all.processes.size(), "process") + ", " + time_of(all.total_us()) + " of GPU time";
}

}  // namespace occbench::commands
