// SPDX-License-Identifier: Apache-2.0
#include "harness/attach/preload/cupti.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "harness/attach/preload/driver.hpp"

namespace occbench::attach::cupti {

namespace {

constexpr int newest = 13, oldest = 11;
constexpr std::uint32_t min_version = 18;  // of CUDA 11.8
constexpr const char* names[] = {
#define OCCBENCH_NAME(symbol) #symbol,
    "cuptiActivityRegisterCallbacks", OCCBENCH_CUPTI_ENTRY_POINTS(OCCBENCH_NAME)
#undef OCCBENCH_NAME
};

std::string soname(int major) { return "libcupti.so." + std::to_string(major); }

void* find_loaded(int major) { return dlopen(soname(major).c_str(), RTLD_LAZY | RTLD_NOLOAD); }

void* load(int major) {
  const std::string name = soname(major);
  std::vector<std::string> paths{name};
  std::vector<std::string> roots;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* const root = std::getenv(variable)) roots.emplace_back(root);
  roots.emplace_back("/usr/local/cuda");
  for (const std::string& root : roots)
    for (const char* folder : {"/extras/CUPTI/lib64/", "/lib64/", "/lib/"})
      paths.push_back(root + folder + name);
  for (const std::string& path : paths)
    if (void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
  return nullptr;
}

}  // namespace

const char* find_entry_point(const char* name) noexcept {
  if (std::strncmp(name, "cupti", 5) != 0) return nullptr;
  for (const char* const known : names)
    if (std::strcmp(known, name) == 0) return known;
  return nullptr;
}

bool is_loaded() {
  for (int major = newest; major >= oldest; --major)
    if (void* const handle = find_loaded(major)) {
      dlclose(handle);
      return true;
    }
  return false;
}

void* find_program_symbol(const char* name, void* caller, void* but) {
  const Dlsym symbol = original_dlsym();
  if (symbol == nullptr) return nullptr;
  const auto in = [&](void* handle) {
    void* const found = handle == nullptr ? nullptr : symbol(handle, name);
    if (handle != nullptr) dlclose(handle);
    return found;
  };
  Dl_info own{}, at{};
  void* found = nullptr;
  if (dladdr(caller, &at) != 0) found = in(dlopen(at.dli_fname, RTLD_LAZY | RTLD_NOLOAD));
  // A lookup in the program and its libraries finds this library's function first.
  if (found != nullptr && dladdr(found, &at) != 0 && dladdr(reinterpret_cast<void*>(&soname), &own) != 0 &&
      at.dli_fbase == own.dli_fbase)
    found = nullptr;
  if (found == nullptr) found = symbol(RTLD_NEXT, name);
  for (const bool may_be_ours : {false, true})
    for (int major = newest; major >= oldest && found == nullptr; --major) {
      void* const handle = find_loaded(major);
      if (handle == nullptr) continue;
      if (may_be_ours || handle != but) found = symbol(handle, name);
      dlclose(handle);
    }
  return found;
}

Library find(int driver_version) {
  constexpr int thousand = 1000;
  Library l;
  for (int major = newest; major >= oldest && l.handle == nullptr; --major) l.handle = find_loaded(major);
  l.is_programs = l.handle != nullptr;
  for (int major = newest; major >= oldest && l.handle == nullptr; --major)
    if (major <= driver_version / thousand) l.handle = load(major);
  const Dlsym symbol = original_dlsym();
  if (l.handle == nullptr || symbol == nullptr) {
    l.why = "libcupti is neither on the library path nor in a toolkit";
    return l;
  }
  const auto get = [&](auto& function, const char* name) {
    void* const found = symbol(l.handle, name);
    std::memcpy(&function, &found, sizeof found);
    if (found == nullptr) l.why = "libcupti is too old";
  };
  Functions& f = l.functions;
  get(f.get_version, "cuptiGetVersion");
  get(f.subscribe, "cuptiSubscribe");
  get(f.unsubscribe, "cuptiUnsubscribe");
  get(f.enable_callback, "cuptiEnableCallback");
  get(f.register_callbacks, "cuptiActivityRegisterCallbacks");
  get(f.enable, "cuptiActivityEnable");
  get(f.disable, "cuptiActivityDisable");
  get(f.flush_all, "cuptiActivityFlushAll");
  get(f.next_record, "cuptiActivityGetNextRecord");
  std::uint32_t version = 0;
  if (l.why.empty() && (f.get_version(&version) != success || version < min_version))
    l.why = "libcupti is too old";
  return l;
}

}  // namespace occbench::attach::cupti
