// SPDX-License-Identifier: Apache-2.0
// A search on as many threads as pay off.
#pragma once

#include <cstddef>
#include <functional>

namespace occbench {

namespace detail {
/// The least i < n that `search(first, end)` finds, or n. It returns the least of its part, or `end`.
std::size_t first_of_parts(std::size_t n,
                           const std::function<std::size_t(std::size_t first, std::size_t end)>& search,
                           std::size_t max_threads);
}  // namespace detail

/// The least i < n for which `wrong(i)`, or n. The first few are timed to choose the number of threads;
/// `max_threads`: at most so many, 0: as many as there are.
template <class Wrong>
std::size_t first_where(std::size_t n, const Wrong& wrong, std::size_t max_threads = 0) {
  // The loop over elements is here, where `wrong` is inlined; the threads are not, as <thread> and <chrono>
  // would cost every kernel file seconds of compilation.
  return detail::first_of_parts(
      n,
      [&](std::size_t first, std::size_t end) {
        for (std::size_t i = first; i < end; ++i)
          if (wrong(i)) return i;
        return end;
      },
      max_threads);
}

}  // namespace occbench
