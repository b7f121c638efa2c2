// SPDX-License-Identifier: Apache-2.0
#include "harness/device/kernel.hpp"

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <utility>

namespace occbench {

namespace {

std::vector<Variant>& registry() {
  static std::vector<Variant> all;  // first use may come from any static initialiser
  return all;
}

}  // namespace

std::string_view to_string(RegisterRoute route) {
  switch (route) {
    case RegisterRoute::launch_bounds:
      return "launch_bounds";
    case RegisterRoute::maxnreg:
      return "maxnreg";
    case RegisterRoute::maxrregcount:
      return "maxrregcount";
    case RegisterRoute::free:
      break;
  }
  return "free";
}

std::string_view to_string(Ceiling ceiling) {
  constexpr std::string_view names[] = {"dram", "l1",          "shared_memory", "fp32",
                                        "fp64", "tensor_bf16", "issue",         "none"};
  return names[static_cast<std::size_t>(ceiling)];
}

Unit unit_of(Ceiling ceiling) {
  switch (ceiling) {
    case Ceiling::dram:
    case Ceiling::l1:
    case Ceiling::shared_memory:
      return Unit::byte;
    case Ceiling::fp32:
    case Ceiling::fp64:
    case Ceiling::tensor_bf16:
      return Unit::flop;
    case Ceiling::issue:
    case Ceiling::none:
      break;
  }
  return Unit::operation;
}

std::string_view rate_name(Unit unit) {
  constexpr std::string_view names[] = {"byte/s", "flop/s", "operation/s"};
  return names[static_cast<std::size_t>(unit)];
}

double amount(const Work& work, Unit unit) {
  return unit == Unit::byte ? work.bytes : unit == Unit::flop ? work.flop : work.operations;
}

std::span<const Variant> variants() { return registry(); }

void add_variant(Variant variant) {
  constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_=+-";
  if (variant.name.empty() || variant.name.find_first_not_of(allowed) != std::string::npos)
    throw std::logic_error("variant name '" + variant.name + "' of family " + variant.family +
                           " has a character outside [A-Za-z0-9_=+-]");
  const auto same = [&](const Variant& v) { return v.family == variant.family && v.name == variant.name; };
  if (std::ranges::any_of(registry(), same))
    throw std::logic_error("variant " + variant.family + "." + variant.name + " is registered twice");
  registry().push_back(std::move(variant));
}

std::uint64_t next_id() {
  static std::atomic<std::uint64_t> given = 0;
  return ++given;
}

}  // namespace occbench
