// SPDX-License-Identifier: Apache-2.0
// What happens to each launch of the process: which signature it has, which arm it is, and its time.
#pragma once

#include <regex.h>
#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "harness/attach/driver.hpp"
#include "harness/attach/journal.hpp"
#include "harness/attach/schedule.hpp"

namespace occbench::attach {

/// What the command asked for; read from the environment.
struct Options {
  std::string folder;
  bool observe = false;
  Plan plan;
  double budget = 0.2;
  std::vector<double> levels = {0.75, 0.5, 0.25};
  std::uint64_t after = 0;  ///< launches of the process that stay untouched first
  double duration_s = 0;    ///< 0: without an end
  std::string kernel;       ///< POSIX extended regular expression; empty: all
  std::size_t limit_bytes = std::size_t{32} << 20;
  pid_t only_child_of = 0;  ///< 0: all descendants
};

/// nullopt where this process is not to be attached.
[[nodiscard]] std::optional<Options> options_from_environment();

struct Signature;
struct Context;
struct Handle;

/// A launch as the program asked for it. `stream` is never 0.
struct Request {
  CUfunction function = nullptr;
  CUlaunchConfig config{};
  void** parameters = nullptr;
  void** extra = nullptr;
  bool is_per_thread = false;  ///< stream 0 is the thread's own
  Alone kind = Alone::no;      ///< what the call itself says
};

/// One launch on its way.
struct Ticket {
  Signature* signature = nullptr;
  Handle* handle = nullptr;
  Context* context = nullptr;
  Schedule::Draw draw;
  CUfunction function = nullptr;  ///< for the changed launch
  unsigned dynamic_smem_bytes = 0;
  CUstream stream = nullptr;
  CUevent start = nullptr, stop = nullptr;
  std::uint8_t flags = 0;
  std::uint64_t sequence = 0;
};

class Launches {
 public:
  explicit Launches(Options options);
  ~Launches();
  Launches(const Launches&) = delete;
  Launches& operator=(const Launches&) = delete;

  /// Decides, and records the first event. Never throws.
  Ticket before(const Request& request) noexcept;
  /// The launch with what the ticket changes. An error means that it was not launched.
  CUresult launch_changed(const Request& request, const Ticket& ticket) noexcept;
  /// What was drawn could not be launched: the launch goes out untouched.
  void refuse(Ticket& ticket) noexcept;
  void after(Ticket& ticket, CUresult result) noexcept;

  /// Handles of functions may mean others from here on, and with `contexts` those of events as well.
  void forget(bool contexts) noexcept;
  /// Reads the times that are there.
  void drain() noexcept;
  [[nodiscard]] pid_t process() const { return process_; }

 private:
  struct Pending {
    Ticket ticket;
    std::uint16_t thread = 0;
  };
  Context& context_of(CUcontext handle);
  Handle& handle_of(CUfunction function, Context& context);
  Signature& signature_of(const Request& request, Handle& handle, Context& context);
  Alone left_alone(const Request& request, const Handle& handle, const Context& context, int blocks_per_sm);
  void find_levels(Signature& signature, Handle& handle, const Context& context);
  void poll();
  [[nodiscard]] bool others_pending(CUstream stream) const;
  [[nodiscard]] bool wants_time(Signature& signature);

  Options options_;
  Driver driver_;
  Journal journal_;
  Budget budget_;
  pid_t process_;
  regex_t kernel_{};
  bool has_kernel_ = false;
  bool is_usable_ = false;
  double begun_s_;
  std::mutex mutex_;
  std::atomic<std::uint64_t> sequence_{0};
  std::deque<Pending> pending_;
  std::deque<Context> contexts_;
  std::deque<Signature> signatures_;
  std::deque<Handle> handles_;
  std::unordered_map<CUcontext, Context*> by_context_;
  std::unordered_map<std::uint64_t, Handle*> by_handle_;
  std::unordered_map<std::uint64_t, Signature*> by_hash_;
  std::unordered_map<std::string, int> function_numbers_;
  std::unordered_map<std::uint64_t, int> argument_hashes_;  ///< so many of one function and shape
};

}  // namespace occbench::attach
