// SPDX-License-Identifier: Apache-2.0
#include "harness/io/demangle.hpp"

#include <cxxabi.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>

namespace occbench {
namespace {

/// Whether __cxa_demangle finishes soon: some names of 310 characters took minutes and exhausted memory.
bool is_bounded(std::string_view mangled) {
  constexpr std::size_t longest = 1 << 16, some = 1 << 15, times = 128;
  if (mangled.size() > longest) return false;
  const std::uint64_t limit = some + times * mangled.size();
  const auto size = max_demangled_size(mangled);
  return size && *size <= limit;
}

}  // namespace

std::string demangle(const std::string& name) {
  if (!name.starts_with("_Z") || !is_bounded(name)) return name;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && text ? std::string(text.get()) : name;
}

}  // namespace occbench
