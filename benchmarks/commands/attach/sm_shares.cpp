// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/attach/sm_shares.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <string>

#include "benchmarks/commands/calc/print.hpp"
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
  const auto found = std::ranges::find(v.shares, sms, &ShareFound::sms);
  if (found == v.shares.end()) return "";
  return text("%+.1f %% ±%.1f", 100 * found->change.value, 50 * (found->change.high - found->change.low));
}

}  // namespace

void print_sm_shares(std::ostream& out, const Collected& all, const std::vector<SmVerdict>& verdicts) {
  std::set<int, std::greater<>> counts;
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    if (verdicts[i].finding == SmFinding::none) continue;
    numbers.push_back(i);
    for (const ShareFound& share : verdicts[i].shares) counts.insert(share.sms);
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
    const SmVerdict& v = verdicts[numbers[n]];
    csv::Row& row = table.emplace_back();
    row = {printable(binary::short_name(k.name, kernel_name_room)), grouped(k.blocks()),
           text("%.1f %%", total > 0 ? 100 * k.total_us() / total : 0)};
    for (const int sms : counts) row.push_back(change_on(v, sms));
    row.emplace_back(words_of(v.finding));
    row.push_back(v.spare_sms ? text("%d of %d", *v.spare_sms, k.sms) : "");
  }
  out << '\n';
  print_aligned(out, table);
  if (numbers.size() > kernels_shown)
    out << "and " << grouped(numbers.size() - kernels_shown) << " more in kernels.csv\n";
  out << '\n';
  if (const std::string line = sentence_of_sms(all, verdicts); !line.empty()) print_wrapped(out, line);
}

}  // namespace occbench::commands
