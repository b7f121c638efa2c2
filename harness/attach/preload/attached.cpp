// SPDX-License-Identifier: Apache-2.0
#include "harness/attach/preload/attached.hpp"

#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <utility>

#include "harness/attach/preload/children.hpp"
#include "harness/attach/preload/hook_slots.hpp"
#include "harness/attach/preload/ranges.hpp"
#include "harness/attach/preload/signal_handler.hpp"

namespace occbench::attach {
namespace {

std::atomic<Launches*> state{nullptr};
std::atomic<bool> is_inert{false};
std::atomic<bool> is_forked{false};  ///< child of an attached process; cannot use its driver
pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;

/// Whether this thread is in a hooked function already.
__attribute__((tls_model("initial-exec"))) thread_local bool is_within = false;

/// The launches of a process that ends; null if this may be a signal handler, since the interrupted code may
/// hold locks of the driver, malloc or this library. Pending times are then lost.
Launches* launches_at_exit(Ending how) noexcept {
  Launches* const launches = state.load();
  return launches == nullptr || is_within || !launches->process().is_caller() || may_be_in_handler(how)
             ? nullptr
             : launches;
}

__attribute__((destructor)) void note_if_unseen() {
  if (state.load() == nullptr && !is_inert.load() && !is_forked.load()) note_unseen_driver();
}

void at_exit() {
  if (Launches* const launches = launches_at_exit(Ending::exit)) launches->end();
}

/// A fork's child starts over: the files belong to the parent.
void in_child() {
  pthread_mutex_init(&making, nullptr);
  forget_slot_lock();
  forget_range_locks();
  if (state.exchange(nullptr) != nullptr) is_forked.store(true);
}

/// Registered before any thread can launch while another one forks.
__attribute__((constructor)) void prepare_for_forks() { pthread_atfork(nullptr, nullptr, in_child); }

/// A program may push ranges before its first launch.
__attribute__((constructor)) void register_range_listener() {
  set_outermost_listener([](std::uint32_t range) {
    if (Launches* const launches = find_launches()) launches->begin_step(range);
  });
}

}  // namespace

OwnCallGuard::OwnCallGuard() { is_within = true; }
OwnCallGuard::~OwnCallGuard() { is_within = false; }
bool OwnCallGuard::is_in_this_thread() noexcept { return is_within; }

Launches* find_launches() noexcept { return state.load(); }

Launches* get_launches() noexcept {
  Launches* launches = state.load(std::memory_order_acquire);
  if (launches != nullptr || is_inert.load(std::memory_order_relaxed)) return launches;
  pthread_mutex_lock(&making);
  launches = state.load();
  if (launches == nullptr && !is_inert.load()) try {
      if (auto options = options_from_environment()) {
        launches = new Launches(std::move(*options));
        static std::atomic<bool> is_first{true};
        if (is_first.exchange(false)) std::atexit(at_exit);
        state.store(launches, std::memory_order_release);
      } else {
        is_inert.store(true);
      }
    } catch (...) {
      is_inert.store(true);
    }
  pthread_mutex_unlock(&making);
  return launches;
}

void drain_at_exit() noexcept {
  if (Launches* const launches = launches_at_exit(Ending::at_once)) launches->drain();
  note_if_unseen();
}

}  // namespace occbench::attach
