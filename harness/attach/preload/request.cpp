// SPDX-License-Identifier: Apache-2.0
#include "harness/attach/preload/request.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace occbench::attach {

namespace {

/// Whether a word may be a device address. Parameter types are unknown: a wrong guess costs one signature too
/// many or too few.
bool may_be_pointer(std::uint64_t word, bool is_alone) {
  constexpr std::uint64_t low = std::uint64_t{1} << 32, high = std::uint64_t{1} << 48;
  constexpr std::uint64_t usual = std::uint64_t{1} << 44, alignment = 256;
  return word >= low && word < high && (is_alone || word >= usual || word % alignment == 0);
}

}  // namespace

std::uint64_t argument_hash(const Request& request, const std::vector<Parameter>& parameters) {
  std::uint64_t hash = 0;
  const auto* packed = static_cast<const unsigned char*>(nullptr);
  if (request.extra != nullptr)
    for (void** at = request.extra; *at != CU_LAUNCH_PARAM_END; at += 2)
      if (*at == CU_LAUNCH_PARAM_BUFFER_POINTER) packed = static_cast<const unsigned char*>(at[1]);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& p = parameters[i];
    const unsigned char* const bytes = request.parameters != nullptr
                                           ? static_cast<const unsigned char*>(request.parameters[i])
                                       : packed != nullptr ? packed + p.offset
                                                           : nullptr;
    if (bytes == nullptr) return hash;
    for (std::size_t at = 0; at < p.size; at += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes + at, std::min(sizeof word, p.size - at));
      // Up to 4 KiB per launch: a round takes seven cycles, mix() twelve. 0 means no word.
      if (!may_be_pointer(word, p.size == sizeof word))
        hash = std::rotl((hash + 0x632be59bd9b4e019) ^ word, 23) * 0x9e3779b97f4a7c15;
    }
  }
  return hash;
}

unsigned cluster_size(const CUlaunchConfig& config) {
  for (unsigned i = 0; i < config.numAttrs; ++i)
    if (config.attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
      const auto& size = config.attrs[i].value.clusterDim;
      return size.x * size.y * size.z;
    }
  return 1;
}

bool may_start_early(const CUlaunchConfig& config) {
  for (unsigned i = 0; i < config.numAttrs; ++i)
    if (config.attrs[i].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
      return config.attrs[i].value.programmaticStreamSerializationAllowed != 0;
  return false;
}

SkipReason reason_in_attributes(const CUlaunchConfig& config) {
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const CUlaunchAttribute& a = config.attrs[i];
    switch (static_cast<int>(a.id)) {
      case CU_LAUNCH_ATTRIBUTE_IGNORE:
      case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
      case CU_LAUNCH_ATTRIBUTE_PRIORITY:
      case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
      case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
        break;
      case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        if (a.value.cooperative != 0) return SkipReason::cooperative;
        break;
      case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
      case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:  // not passed on in changed launches
        break;
      case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
      case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
        return SkipReason::dependent;
      case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        return SkipReason::own_carveout;
      default:
        return SkipReason::attribute;
    }
  }
  return SkipReason::none;
}

}  // namespace occbench::attach
