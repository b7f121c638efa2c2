// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/attach/words.hpp"

#include "benchmarks/report/format.hpp"
#include "harness/binary/kernel_use.hpp"

namespace occbench::commands {

using namespace attach;

namespace {

/// The verdict with the number that decided it.
std::string sentence_of(const Kernel& k, const Verdict& v) {
  if (v.finding == Finding::observed) return "observed";
  std::string words = attach::to_string(v.finding);
  if (v.finding == Finding::saturated && v.saturated_to) words += text(" to %.0f %%", 100 * *v.saturated_to);
  if (v.finding == Finding::needs_occupancy && v.l1 && v.l1->low > worth_it)
    words += ", and L1 (" + signed_part(v.l1->value) + " without)";
  if (v.finding == Finding::needs_l1 && v.l1) words += " (" + signed_part(v.l1->value) + " without)";
  if (v.finding == Finding::faster_at_lower_occupancy && !v.levels.empty()) {
    const LevelResult& best = fastest_level(v);
    words += " (" + signed_part(best.from_untouched.value) + text(" at %.0f %%)", 100 * best.warps);
  }
  if (v.finding == Finding::waves) words += text(" (%.1f)", k.waves(k.blocks_per_sm));
  if (!v.why.empty()) words += ": " + printable(v.why);
  return words;
}

std::string advice_of(const Verdict& v) {
  if (v.next.needs.empty()) return "none";
  if (!v.gain) return v.next.needs;
  if (v.gain->value < no_change) return v.next.needs + ": not worth it";
  return v.next.needs +
         text(": %+.1f %% (%+.1f to %+.1f)", -100 * v.gain->value, -100 * v.gain->high, -100 * v.gain->low);
}

}  // namespace

VerdictText describe_verdict(const Kernel& k, const Verdict& v) {
  return {.kind = attach::to_string(v.finding), .sentence = sentence_of(k, v), .advice = advice_of(v)};
}

std::string short_name_of(const std::string& name, std::size_t room) {
  return printable(binary::short_name(name, room));
}

std::string name_of(const Kernel& k, std::size_t room) {
  if (k.after.empty()) return short_name_of(k.name, room);
  const std::size_t half = room * 5 / 8;
  return short_name_of(k.name, half) + " after " + short_name_of(k.after, half);
}

std::string range_phrase(const Kernel& k) {
  constexpr std::size_t room = 24;
  return k.range.empty() ? "" : " in " + short_name_of(k.range, room);
}

std::string shape_of(const unsigned (&n)[3]) {
  std::string text = std::to_string(n[0]);
  if (n[1] > 1 || n[2] > 1) text += 'x' + std::to_string(n[1]);
  if (n[2] > 1) text += 'x' + std::to_string(n[2]);
  return text;
}

std::string grid_of(const Collected& all, const Kernel& k) {
  const int sms = k.device < all.devices.size() ? all.devices[k.device].sm.sm_count : 0;
  return shape_of(k.grid) + (k.sms > 0 && k.sms < sms ? text(" on %d SMs", k.sms) : "");
}

std::string part(double share) { return text("%.1f %%", 100 * share); }

std::string signed_part(double change) { return text("%+.1f %%", 100 * change); }

std::string time_of(double us) {
  if (!(us > 0)) return "-";
  if (us < 1e3) return text("%.1f us", us);
  return us < 1e6 ? text("%.2f ms", us * 1e-3) : text("%.2f s", us * 1e-6);
}

}  // namespace occbench::commands
