// SPDX-License-Identifier: Apache-2.0
#include "harness/attach/preload/overlap.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace occbench::attach {

std::vector<KernelRun> Overlaps::add(std::vector<KernelRun> batch) {
  std::vector<KernelRun*> all;
  for (std::vector<KernelRun>* records : {&before_, &held_, &batch})
    for (KernelRun& r : *records) all.push_back(&r);
  std::ranges::sort(all, {}, [](const KernelRun* r) { return std::tuple(r->device, r->start_ns); });
  KernelRun* latest = nullptr;  // earlier run that ends last
  for (KernelRun* r : all) {
    if (latest != nullptr && latest->device == r->device && r->start_ns < latest->end_ns)
      latest->is_overlapped = r->is_overlapped = true;
    if (latest == nullptr || latest->device != r->device || r->end_ns > latest->end_ns) latest = r;
  }
  before_ = std::exchange(held_, std::move(batch));
  return before_;
}

}  // namespace occbench::attach
