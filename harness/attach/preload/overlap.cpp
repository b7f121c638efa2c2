// SPDX-License-Identifier: Apache-2.0
#include "harness/attach/preload/overlap.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace occbench::attach {

std::vector<Ran> Overlaps::add(std::vector<Ran> batch) {
  std::vector<Ran*> all;
  for (std::vector<Ran>* records : {&before_, &held_, &batch})
    for (Ran& r : *records) all.push_back(&r);
  std::ranges::sort(all, {}, [](const Ran* r) { return std::tuple(r->device, r->start_ns); });
  Ran* latest = nullptr;  // earlier run that ends last
  for (Ran* r : all) {
    if (latest != nullptr && latest->device == r->device && r->start_ns < latest->end_ns)
      latest->is_overlapped = r->is_overlapped = true;
    if (latest == nullptr || latest->device != r->device || r->end_ns > latest->end_ns) latest = r;
  }
  before_ = std::exchange(held_, std::move(batch));
  return before_;
}

}  // namespace occbench::attach
