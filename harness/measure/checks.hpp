// SPDX-License-Identifier: Apache-2.0
// Compares outputs with their references on host threads, while the device runs other cases.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "harness/device/arena.hpp"

namespace occbench {

class Checks {
 public:
  /// Like Problem::mismatch: nullopt, or one line on what differs.
  using Check = std::function<std::optional<std::string>()>;

  explicit Checks(Arena& arena);
  /// Drops checks that have not begun.
  ~Checks();
  Checks(const Checks&) = delete;
  Checks& operator=(const Checks&) = delete;

  /// Whether an output is small enough to be copied. A spot check of a large one is faster in place.
  [[nodiscard]] static bool can_copy(std::size_t bytes, bool is_spot_check) {
    return bytes <= (is_spot_check ? usual_bytes : max_bytes);
  }
  /// Copies the output of the last launch, which `check` reads on another thread. The future rethrows its
  /// exceptions. Waits while more copies are in use than there are workers, or four large ones.
  std::future<std::optional<std::string>> begin(Check check);

 private:
  static constexpr std::size_t usual_bytes = std::size_t{16} << 20, max_bytes = std::size_t{72} << 20;
  static constexpr std::size_t large = 4;          ///< copies of more than usual_bytes, in pinned memory
  static constexpr std::size_t large_threads = 4;  ///< per large copy, whose check takes most of a second
  using Free = std::vector<Arena::OutputCopy*>;
  struct Task {
    std::packaged_task<std::optional<std::string>()> run;
    Arena::OutputCopy* copy;
    Free* from;
  };
  void work();

  Arena& arena_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  std::vector<Arena::OutputCopy> copies_;
  Free free_, free_large_;
  bool ending_ = false;
  std::vector<std::jthread> workers_;  // last: they use the others
};

}  // namespace occbench
