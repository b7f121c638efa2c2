// SPDX-License-Identifier: Apache-2.0
#include "harness/device/first_where.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

namespace occbench::detail {

std::size_t first_of_parts(std::size_t n,
                           const std::function<std::size_t(std::size_t first, std::size_t end)>& search,
                           std::size_t max_threads) {
  using Clock = std::chrono::steady_clock;
  constexpr double worth_s = 100e-6;  // of work per thread: several times what a thread costs
  const std::size_t few = std::min<std::size_t>(n, 32);
  const auto begun = Clock::now();
  if (const std::size_t found = search(0, few); found < few || few == n) return found;
  const double few_s = std::chrono::duration<double>(Clock::now() - begun).count();
  const double work_s = few_s * static_cast<double>(n) / static_cast<double>(few);
  const double most =
      max_threads > 0 ? static_cast<double>(max_threads) : std::max(1U, std::thread::hardware_concurrency());
  const auto threads = static_cast<std::size_t>(std::clamp(work_s / worth_s, 1.0, most));
  std::vector<std::size_t> found(threads, n);
  const auto search_part = [&](std::size_t part) {
    const std::size_t end = few + (n - few) * (part + 1) / threads;
    const std::size_t place = search(few + (n - few) * part / threads, end);
    if (place < end) found[part] = place;
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t part = 1; part < threads; ++part) others.emplace_back(search_part, part);
    search_part(0);
  }
  return *std::min_element(found.begin(), found.end());
}

}  // namespace occbench::detail
