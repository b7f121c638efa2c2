// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "benchmarks/commands/attach/parts.hpp"
#include "benchmarks/framework/numbers.hpp"
#include "benchmarks/report/format.hpp"
#include "benchmarks/report/table.hpp"
#include "harness/binary/kernel_use.hpp"
#include "harness/io/csv.hpp"

namespace occbench::commands {

namespace {

using namespace attach;

constexpr std::size_t kernels_shown = 20, kernel_name_room = 32;

std::string change_on(const SmVerdict& v, int sms) {
  const auto found = std::ranges::find(v.shares, sms, &SmShareResult::sms);
  if (found == v.shares.end()) return "";
  return text("%+.1f %% ±%.1f", 100 * found->change.value, 50 * (found->change.high - found->change.low));
}

}  // namespace

std::string sm_verdict_text(const Kernel& k, const SmVerdict& v) {
  const std::string finding = to_string(v.finding);
  if (v.finding == SmFinding::unknown) return finding + ": " + v.why;
  const SmShareResult* const share = middle_share(k, v);
  if (share == nullptr) return finding;
  return finding + text(": %d of %d SMs cost %.1f %% (%.1f to %.1f)", share->sms, k.sms,
                        100 * share->change.value, 100 * share->change.low, 100 * share->change.high);
}

std::string sentence_of_spare_sms(const Collected& all, const std::vector<Verdict>& verdicts) {
  struct Sum {
    double us = 0, longer_us = 0;
  };
  std::map<std::pair<int, int>, Sum> by_share;  // by all SMs and the share's
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    const Kernel& k = all.kernels[i];
    for (const SmShareResult& share : verdicts[i].by_sms.shares) {
      Sum& sum = by_share[{k.sms, share.sms}];
      sum.us += k.total_us();
      sum.longer_us += k.total_us() * share.change.value;
    }
  }
  const double total = all.total_us();
  if (by_share.empty() || total <= 0) return "";
  std::pair<int, int> best{};
  Sum of_best;
  for (const auto& [sms, sum] : by_share)
    if (sum.longer_us <= spare_cost * sum.us &&
        (best.first == 0 || sms.first - sms.second > best.first - best.second)) {
      best = sms;
      of_best = sum;
    }
  const std::string spare = text("SMs that can be freed at a cost of at most %.0f %%: ", 100 * spare_cost);
  if (best.first == 0) return spare + "none of those tried.";
  return spare + text("%d of %d. Kernels with %.0f %% of GPU time take %+.1f %% on the other %d.",
                      best.first - best.second, best.first, 100 * of_best.us / total,
                      100 * of_best.longer_us / of_best.us, best.second);
}

void print_sm_shares(std::ostream& out, const Collected& all, const std::vector<Verdict>& verdicts) {
  std::set<int, std::greater<>> counts;
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    if (verdicts[i].by_sms.finding == SmFinding::none) continue;
    numbers.push_back(i);
    for (const SmShareResult& share : verdicts[i].by_sms.shares) counts.insert(share.sms);
  }
  if (numbers.empty()) {
    out << "No launch was confined to fewer SMs.\n";
    return;
  }
  std::vector<csv::Row> table = {{"kernel", "blocks", "time"}};
  for (const int sms : counts) table[0].push_back(std::to_string(sms) + " SMs");
  table[0].insert(table[0].end(), {"by SMs", "SMs to spare"});
  const double total = all.total_us();
  for (std::size_t n = 0; n < std::min(numbers.size(), kernels_shown); ++n) {
    const Kernel& k = all.kernels[numbers[n]];
    const SmVerdict& v = verdicts[numbers[n]].by_sms;
    csv::Row& row = table.emplace_back();
    row = {printable(binary::short_name(k.name, kernel_name_room)), with_thousands(k.blocks()),
           text("%.1f %%", total > 0 ? 100 * k.total_us() / total : 0)};
    for (const int sms : counts) row.push_back(change_on(v, sms));
    row.push_back(v.finding == SmFinding::unknown ? sm_verdict_text(k, v) : to_string(v.finding));
    row.push_back(v.spare_sms ? text("%d of %d", *v.spare_sms, k.sms) : "");
  }
  out << '\n';
  print_aligned(out, table);
  if (numbers.size() > kernels_shown)
    out << "and " << with_thousands(numbers.size() - kernels_shown) << " more in kernels.csv\n";
  out << '\n';
  if (const std::string line = sentence_of_spare_sms(all, verdicts); !line.empty()) print_wrapped(out, line);
}

}  // namespace occbench::commands
