// SPDX-License-Identifier: Apache-2.0
#include "harness/attach/preload/activity.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

#include "harness/attach/preload/cupti.hpp"
#include "harness/attach/preload/driver.hpp"
#include "harness/attach/preload/signal_handler.hpp"

namespace occbench::attach {
namespace {

// CUPTI returns a buffer once all its kernels have ended, so small ones return soon. With many kernels in
// flight, as in graphs, buffers are larger.
constexpr std::size_t small_buffer = std::size_t{16} << 10, large_buffer = std::size_t{256} << 10;
constexpr std::size_t most_small = 32, max_buffers = 256;  // buffers that CUPTI may hold
constexpr std::size_t max_records = 1 << 17;               // waiting for take()

constexpr int max_wait_ms = 100;

enum class State : int { never, on, ended };

/// Never destroyed: CUPTI may call until the process is gone.
struct Session {
  std::atomic<State> state{State::never};
  std::recursive_mutex calls;  ///< one thread at a time begins, flushes or ends
  cupti::Library library;
  void* subscriber = nullptr;
  pid_t process = 0;
  std::atomic<const char*> taken_by{nullptr};  ///< first CUPTI function called by the program or a tool

  std::mutex records;  ///< call nothing while holding it: CUPTI's threads wait for it
  std::vector<KernelRun> ran;
  std::vector<std::uint8_t*> buffers;  ///< with CUPTI
  std::string why;
  cupti::BufferRequestedCallback programs_requested = nullptr;
  cupti::BufferCompletedCallback programs_completed = nullptr;
  int (*register_original)(cupti::BufferRequestedCallback, cupti::BufferCompletedCallback) = nullptr;
  std::atomic<std::uint64_t> dropped{0};
  std::atomic<void (*)()> release{nullptr};
};

Session& session() {
  static auto* const one = new Session;
  return *one;
}

thread_local std::uint32_t last_correlation = 0;
thread_local bool is_calling = false;
void on_call(void*, int, std::uint32_t, const cupti::CallbackData* data) {
  if (data->site == cupti::on_enter) last_correlation = data->correlation;
}

/// Uses malloc: the program may free a buffer that it gets by mistake.
void on_requested(std::uint8_t** buffer, std::size_t* bytes, std::size_t* records) {
  Session& s = session();
  const std::lock_guard lock(s.records);
  *records = 0;  // 0: as many as fit
  *bytes = 0;
  *buffer = nullptr;
  if (s.buffers.size() >= max_buffers) return;  // CUPTI then drops records
  const std::size_t size = s.buffers.size() < most_small ? small_buffer : large_buffer;
  *buffer = static_cast<std::uint8_t*>(std::malloc(size));
  if (*buffer == nullptr) return;
  *bytes = size;
  s.buffers.push_back(*buffer);
}

void on_completed(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  Session& s = session();
  bool is_whole = true;
  {
    const std::lock_guard lock(s.records);
    std::erase(s.buffers, buffer);
    void* at = nullptr;
    while (valid > 0 && s.library.functions.next_record(buffer, valid, &at) == cupti::success) {
      const auto* const r = static_cast<const cupti::KernelRecord*>(at);
      if (r->kind != cupti::kernels) continue;
      if (r->end == 0 || r->end < r->start) {
        is_whole = false;
        continue;
      }
      if (s.ran.size() >= max_records) {
        ++s.dropped;
        continue;
      }
      s.ran.push_back({.correlation = r->correlation,
                       .device = r->device,
                       .graph = r->graph,
                       .graph_node = r->graph_node,
                       .start_ns = r->start,
                       .end_ns = r->end});
    }
  }
  // Incomplete only after a forced flush: CUPTI may still write to the buffer when the kernel ends.
  if (is_whole) std::free(buffer);
}

/// The end of the last whole record within the first `room` bytes of a buffer.
std::size_t whole_records(std::uint8_t* buffer, std::size_t valid, std::size_t room) {
  if (valid <= room) return valid;
  std::size_t end = 0;
  void* at = nullptr;
  while (session().library.functions.next_record(buffer, valid, &at) == cupti::success) {
    const auto start = static_cast<std::size_t>(static_cast<std::uint8_t*>(at) - buffer);
    if (start > room) break;
    end = start;
  }
  return end;
}

void on_programs_requested(std::uint8_t** buffer, std::size_t* bytes, std::size_t* records) {
  session().programs_requested(buffer, bytes, records);
}

void on_programs_completed(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t bytes,
                           std::size_t valid) {
  Session& s = session();
  bool is_ours = false;
  {
    const std::lock_guard lock(s.records);
    is_ours = std::erase(s.buffers, buffer) > 0;
  }
  if (!is_ours) return s.programs_completed(context, stream, buffer, bytes, valid);
  for (std::size_t from = 0, part = 0; from < valid; from += part) {
    std::uint8_t* program_buffer = nullptr;
    std::size_t room = 0, records = 0;
    s.programs_requested(&program_buffer, &room, &records);
    part = program_buffer == nullptr ? 0 : whole_records(buffer + from, valid - from, room);
    std::copy_n(buffer + from, part, program_buffer);
    if (program_buffer != nullptr) s.programs_completed(context, stream, program_buffer, room, part);
    if (part == 0) break;
  }
  std::free(buffer);
}

int register_through(cupti::BufferRequestedCallback requested, cupti::BufferCompletedCallback completed) {
  Session& s = session();
  if (requested == nullptr || completed == nullptr) return s.register_original(requested, completed);
  s.programs_requested = requested;
  s.programs_completed = completed;
  return s.register_original(on_programs_requested, on_programs_completed);
}

/// Reverts begin(); waits up to `wait_ms` for launched kernels to end. The caller holds `calls`.
void stop(Session& s, std::string why, int wait_ms) {
  if (s.state.exchange(State::ended) != State::on) return;
  {
    const std::lock_guard lock(s.records);
    s.why = std::move(why);
  }
  if (auto* const release = s.release.exchange(nullptr)) release();
  const cupti::Functions& f = s.library.functions;
  for (const std::uint32_t call : cupti::launch_calls)
    f.enable_callback(0, s.subscriber, cupti::driver_domain, call);
  f.disable(cupti::kernels);
  // CUPTI must not keep any of our buffers for the program's records.
  const auto has_buffers = [&] {
    const std::lock_guard lock(s.records);
    return !s.buffers.empty();
  };
  for (int ms = 0; ms < wait_ms && has_buffers(); ++ms) {
    f.flush_all(0);
    if (has_buffers()) usleep(1000);
  }
  f.flush_all(cupti::forced);
  f.unsubscribe(s.subscriber);
}

void at_exit() {
  Session& s = session();
  if (s.state != State::on || s.process != getpid() || is_calling || may_be_in_handler(Ending::exit)) return;
  activity::flush();
  const activity::CuptiCallGuard calling;
  const std::lock_guard lock(s.calls);
  stop(s, "", 0);
}

}  // namespace

namespace activity {

CuptiCallGuard::CuptiCallGuard() : before_(std::exchange(is_calling, true)) {}
CuptiCallGuard::~CuptiCallGuard() { is_calling = before_; }

void release_at_end(void (*release)()) noexcept { session().release = release; }

std::string begin(Timing timing, int driver_version) {
  Session& s = session();
  if (s.state != State::never)
    return s.process != getpid() ? "it was forked from a process that uses CUPTI" : "CUPTI was used before";
  const CuptiCallGuard calling;
  const std::unique_lock lock(s.calls, std::try_to_lock);
  if (!lock) return "CUPTI was in use when this process was forked";
  if (std::getenv("CUDA_INJECTION64_PATH") != nullptr)
    return "CUPTI is taken by an injected tool (CUDA_INJECTION64_PATH)";
  const auto describe_user = [&] {
    return "the program uses CUPTI itself (" + std::string(s.taken_by.load()) + ")";
  };
  if (s.taken_by != nullptr) return describe_user();
  if (timing == Timing::automatic && cupti::is_loaded())
    return "the program has loaded CUPTI and may use it (--timing activity takes it until then)";
  // A second libcupti may lack what a Python package needs from its own.
  if (!cupti::is_loaded() && original_dlsym()(RTLD_DEFAULT, "Py_IsInitialized") != nullptr)
    return "this Python process has not loaded CUPTI, and may load its own later";
  s.library = cupti::find(driver_version);
  if (!s.library.why.empty()) return s.library.why;
  const cupti::Functions& f = s.library.functions;
  if (const int error = f.subscribe(&s.subscriber, on_call, nullptr); error != cupti::success)
    return (error == cupti::multiple_subscribers ? "CUPTI is taken by another tool (error "
                                                 : "CUPTI cannot be used (error ") +
           std::to_string(error) + ')';
  s.process = getpid();
  s.state = State::on;
  int error = f.register_callbacks(on_requested, on_completed);
  if (error == cupti::success) error = f.enable(cupti::kernels);
  int callbacks = 0;
  for (const std::uint32_t call : cupti::launch_calls)
    if (f.enable_callback(1, s.subscriber, cupti::driver_domain, call) == cupti::success) ++callbacks;
  if (error != cupti::success || callbacks == 0) {
    stop(s, "", 0);
    return "CUPTI does not record kernels (error " + std::to_string(error) + ')';
  }
  if (s.taken_by != nullptr) {  // by another thread meanwhile
    stop(s, "", max_wait_ms);
    return describe_user();
  }
  std::atexit(at_exit);  // after CUPTI's own handlers, so it runs before them
  return "";
}

bool is_within() noexcept { return is_calling; }

bool is_on() noexcept { return session().state.load(std::memory_order_acquire) == State::on; }

std::string why_ended() {
  Session& s = session();
  const std::lock_guard lock(s.records);
  return s.why;
}

void forget_correlation() noexcept { last_correlation = 0; }
std::uint32_t correlation() noexcept { return last_correlation; }

void flush() noexcept {
  Session& s = session();
  const CuptiCallGuard calling;
  const std::unique_lock lock(s.calls, std::try_to_lock);
  if (!lock || s.state != State::on || s.process != getpid()) return;
  s.library.functions.flush_all(0);
}

void end(const char* why) noexcept try {
  Session& s = session();
  if (s.process != getpid()) return;
  const CuptiCallGuard calling;
  const std::lock_guard lock(s.calls);
  stop(s, why, max_wait_ms);
} catch (...) {
}

std::vector<KernelRun> take() {
  Session& s = session();
  const std::lock_guard lock(s.records);
  return std::exchange(s.ran, {});
}

std::uint64_t dropped_records() noexcept { return session().dropped; }

void yield_to(const char* function) noexcept try {
  Session& s = session();
  if (is_calling) return;
  const char* none = nullptr;
  s.taken_by.compare_exchange_strong(none, function);
  if (s.state == State::never || s.process != getpid()) return;
  const CuptiCallGuard calling;
  const std::lock_guard lock(s.calls);  // waits for another thread that is about to stop
  stop(s, "the program began to use CUPTI itself (" + std::string(function) + ")", max_wait_ms);
} catch (...) {
}

void* library() noexcept { return session().library.handle; }

void* register_callbacks_for(void* original) noexcept {
  Session& s = session();
  if (s.state != State::ended || s.process != getpid()) return original;
  const std::lock_guard lock(s.records);
  if (s.buffers.empty() || original != reinterpret_cast<void*>(s.library.functions.register_callbacks))
    return original;
  std::memcpy(&s.register_original, &original, sizeof original);
  return reinterpret_cast<void*>(&register_through);
}

}  // namespace activity

}  // namespace occbench::attach
