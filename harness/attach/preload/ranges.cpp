// SPDX-License-Identifier: Apache-2.0
#include "harness/attach/preload/ranges.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <string_view>
#include <unordered_map>

#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>

namespace occbench::attach {

namespace {

constexpr std::size_t max_names = 1'024;  // bounds names that contain a counter
constexpr std::size_t name_room = 200;
constexpr int max_nested = 64;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

class Lock {
 public:
  Lock() { pthread_mutex_lock(&mutex); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  ~Lock() { pthread_mutex_unlock(&mutex); }
};

/// Texts numbered from 1. All texts beyond the limit share the last number.
class Names {
 public:
  std::uint32_t number(const std::string& text) {
    if (const auto known = numbers_.find(text); known != numbers_.end()) return known->second;
    if (texts_.size() == max_names - 1) texts_.emplace_back("(other ranges, beyond the limit)");
    if (texts_.size() == max_names) return max_names;
    texts_.push_back(text);
    return numbers_[text] = static_cast<std::uint32_t>(texts_.size());
  }
  [[nodiscard]] std::string text(std::uint64_t number) const {
    return number < 1 || number > texts_.size() ? "" : texts_[number - 1];
  }

 private:
  std::deque<std::string> texts_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

/// Never destroyed: threads may push at process exit.
template <int which>
Names& names() {
  static Names& all = *new Names;
  return all;
}
Names& ranges() { return names<0>(); }
Names& domains() { return names<1>(); }
Names& registered_strings() { return names<2>(); }

struct Pushed {
  nvtxDomainHandle_t domain = nullptr;
  std::uint32_t range = 0;
};
/// Ranges beyond the maximum depth are only counted.
thread_local Pushed stack[max_nested];
thread_local int depth = 0, deeper = 0;
std::atomic<void (*)(std::uint32_t)> outermost_listener{nullptr};

/// Handles of domains and strings are their numbers cast to pointers.
template <class Handle>
Handle handle_of(std::uint32_t number) {
  return reinterpret_cast<Handle>(static_cast<std::uintptr_t>(number));
}
std::uint64_t number_of(const void* handle) { return reinterpret_cast<std::uintptr_t>(handle); }

std::string narrow(const wchar_t* text) {
  std::string all;
  for (; text != nullptr && *text != L'\0' && all.size() < name_room; ++text)
    all += *text > L'\0' && *text < L'\x7f' ? static_cast<char>(*text) : '?';
  return all;
}

std::string clip(const char* text) {
  return text == nullptr ? "" : std::string(std::string_view(text).substr(0, name_room));
}

int push(nvtxDomainHandle_t domain, const std::string& name) noexcept try {
  if (depth == max_nested) return max_nested + deeper++;
  std::uint32_t number = 0;
  {
    const Lock lock;
    const std::string of = domains().text(number_of(domain));
    number = ranges().number(of.empty() ? name : of + ": " + name);
  }
  stack[depth] = {domain, number};
  auto* const listener = outermost_listener.load();
  if (depth == 0 && listener != nullptr && number < max_names) listener(number);
  return depth++;
} catch (...) {
  return NVTX_NO_PUSH_POP_TRACKING;
}

/// Pops the innermost range of the domain: ranges of other domains may end before or after it.
int pop(nvtxDomainHandle_t domain) noexcept {
  if (deeper > 0) return max_nested + --deeper;
  int at = depth - 1;
  while (at >= 0 && stack[at].domain != domain) --at;
  if (at < 0) return NVTX_NO_PUSH_POP_TRACKING;
  std::copy(stack + at + 1, stack + depth, stack + at);
  --depth;
  return at;
}

std::string message_of(const nvtxEventAttributes_t* event) {
  if (event == nullptr) return "";
  switch (event->messageType) {
    case NVTX_MESSAGE_TYPE_ASCII:
      return clip(event->message.ascii);
    case NVTX_MESSAGE_TYPE_UNICODE:
      return narrow(event->message.unicode);
    case NVTX_MESSAGE_TYPE_REGISTERED: {
      const Lock lock;
      return registered_strings().text(number_of(event->message.registered));
    }
    default:
      return "(no name)";
  }
}

template <class Handle>
Handle make_handle(Names& names, const std::string& text) noexcept try {
  const Lock lock;
  return handle_of<Handle>(names.number(text));
} catch (...) {
  return nullptr;
}

int push_a(const char* name) { return push(nullptr, clip(name)); }
int push_w(const wchar_t* name) { return push(nullptr, narrow(name)); }
int push_ex(const nvtxEventAttributes_t* event) { return push(nullptr, message_of(event)); }
int pop_default() { return pop(nullptr); }
int domain_push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  return push(domain, message_of(event));
}
nvtxDomainHandle_t domain_a(const char* name) {
  return make_handle<nvtxDomainHandle_t>(domains(), clip(name));
}
nvtxDomainHandle_t domain_w(const wchar_t* name) {
  return make_handle<nvtxDomainHandle_t>(domains(), narrow(name));
}
nvtxStringHandle_t string_a(nvtxDomainHandle_t, const char* text) {
  return make_handle<nvtxStringHandle_t>(registered_strings(), clip(text));
}
nvtxStringHandle_t string_w(nvtxDomainHandle_t, const wchar_t* text) {
  return make_handle<nvtxStringHandle_t>(registered_strings(), narrow(text));
}

struct Callback {
  unsigned id;
  NvtxFunctionPointer function;
};
template <class Function>
NvtxFunctionPointer any(Function* function) {
  return reinterpret_cast<NvtxFunctionPointer>(function);
}

template <std::size_t count>
bool subscribe(const NvtxExportTableCallbacks& all, NvtxCallbackModule module,
               const Callback (&callbacks)[count]) {
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (all.GetModuleFunctionTable(module, &table, &size) == 0 || table == nullptr) return false;
  for (const Callback& c : callbacks)
    if (c.id < size && table[c.id] != nullptr) *table[c.id] = c.function;
  return true;
}

}  // namespace

std::uint32_t current_range() noexcept { return depth == 0 ? 0 : stack[depth - 1].range; }

std::string name_of_range(std::uint32_t number) {
  const Lock lock;
  return ranges().text(number);
}

void set_outermost_listener(void (*listener)(std::uint32_t range)) noexcept { outermost_listener = listener; }

void forget_range_locks() noexcept { pthread_mutex_init(&mutex, nullptr); }

}  // namespace occbench::attach

/// Each library with NVTX in the program calls this once, before its first range.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    NvtxGetExportTableFunc_t get_table) {
  using namespace occbench::attach;
  const auto* const all = static_cast<const NvtxExportTableCallbacks*>(
      get_table == nullptr ? nullptr : get_table(NVTX_ETID_CALLBACKS));
  if (all == nullptr || all->struct_size < sizeof *all || all->GetModuleFunctionTable == nullptr) return 0;
  const Callback core[] = {{NVTX_CBID_CORE_RangePushEx, any(push_ex)},
                           {NVTX_CBID_CORE_RangePushA, any(push_a)},
                           {NVTX_CBID_CORE_RangePushW, any(push_w)},
                           {NVTX_CBID_CORE_RangePop, any(pop_default)}};
  const Callback of_domains[] = {{NVTX_CBID_CORE2_DomainRangePushEx, any(domain_push)},
                                 {NVTX_CBID_CORE2_DomainRangePop, any(pop)},
                                 {NVTX_CBID_CORE2_DomainCreateA, any(domain_a)},
                                 {NVTX_CBID_CORE2_DomainCreateW, any(domain_w)},
                                 {NVTX_CBID_CORE2_DomainRegisterStringA, any(string_a)},
                                 {NVTX_CBID_CORE2_DomainRegisterStringW, any(string_w)}};
  const bool has_core = subscribe(*all, NVTX_CB_MODULE_CORE, core);
  return subscribe(*all, NVTX_CB_MODULE_CORE2, of_domains) || has_core ? 1 : 0;
}
