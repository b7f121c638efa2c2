// SPDX-License-Identifier: Apache-2.0
// A search by as many threads as it is worth.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <thread>
#include <vector>

namespace occbench {

/// The least i < n for which `wrong(i)`, or n. The first few say what one takes, and so how many threads the
/// others are worth; `most_threads`: at most so many, 0: as many as there are.
template <class Wrong>
std::size_t first_where(std::size_t n, const Wrong& wrong, std::size_t most_threads = 0) {
  using Clock = std::chrono::steady_clock;
  constexpr double worth_s = 100e-6;  // of work: several times what a thread costs
  const std::size_t few = std::min<std::size_t>(n, 32);
  const auto begun = Clock::now();
  for (std::size_t i = 0; i < few; ++i)
    if (wrong(i)) return i;
  if (few == n) return n;
  const double few_s = std::chrono::duration<double>(Clock::now() - begun).count();
  const double work_s = few_s * static_cast<double>(n) / static_cast<double>(few);
  const double most = most_threads > 0 ? static_cast<double>(most_threads)
                                       : std::max(1U, std::thread::hardware_concurrency());
  const auto threads = static_cast<std::size_t>(std::clamp(work_s / worth_s, 1.0, most));
  std::vector<std::size_t> found(threads, n);
  const auto search = [&](std::size_t part) {
    const std::size_t end = few + (n - few) * (part + 1) / threads;
    for (std::size_t i = few + (n - few) * part / threads; i < end; ++i)
      if (wrong(i)) {
        found[part] = i;
        return;
      }
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t part = 1; part < threads; ++part) others.emplace_back(search, part);
    search(0);
  }
  return *std::min_element(found.begin(), found.end());
}

}  // namespace occbench
