// SPDX-License-Identifier: Apache-2.0
#include "harness/c_api/inspect.h"

#include <cstdlib>
#include <cstring>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "harness/binary/binaries.hpp"

namespace {

using Json = nlohmann::ordered_json;
using occbench::binary::CompiledKernel;

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json json_of(const CompiledKernel& kernel) {
  const occbench::binary::KernelUse& use = kernel.use;
  Json banks = Json::object();
  for (const auto& [bank, bytes] : kernel.constant_bytes) banks[std::to_string(bank)] = bytes;
  return {{"name", occbench::binary::demangle(use.name)},
          {"mangled", use.name},
          {"file", kernel.file},
          {"architecture", kernel.architecture},
          {"registers", or_null(use.registers_per_thread)},
          {"static_smem", kernel.is_linked ? Json(use.static_smem_bytes) : Json()},
          {"dynamic_smem", or_null(use.dynamic_smem_bytes)},
          {"stack", or_null(use.stack_bytes)},
          {"spill_bytes", or_null(use.spill_bytes)},
          {"has_local_array", or_null(kernel.has_local_array)},
          {"barriers", or_null(use.barriers)},
          {"virtual_resources", kernel.virtual_resources},
          {"tensor_columns", or_null(kernel.tensor_columns)},
          {"is_linked", kernel.is_linked},
          {"least_requested_registers", kernel.least_requested_registers},
          {"most_requested_registers", kernel.most_requested_registers},
          {"barrier_id_at_run_time", kernel.barrier_id_at_run_time},
          {"block_size", or_null(use.block_size)},
          {"launch_bound", or_null(kernel.launch_bound)},
          {"cluster_size", or_null(use.cluster_size)},
          {"code_bytes", kernel.code_bytes},
          {"constant_bytes", banks}};
}

Json inspection_of(const char* path) {
  try {
    const occbench::binary::Contents contents = occbench::binary::read_binaries(path);
    Json kernels = Json::array();
    for (const CompiledKernel& kernel : contents.kernels) kernels.push_back(json_of(kernel));
    return {{"kernels", kernels},
            {"ptx", contents.ptx},
            {"link_time_code", contents.has_link_time_code},
            {"complaints", contents.warnings}};
  } catch (const std::exception& error) {
    return {{"error", error.what()}};
  }
}

}  // namespace

char* occbench_inspect(const char* path) try {
  // A name in a file may hold any bytes.
  const std::string text = inspection_of(path).dump(-1, ' ', false, Json::error_handler_t::replace);
  return strdup(text.c_str());
} catch (const std::exception&) {
  return nullptr;
}

void occbench_inspect_free(char* json) { std::free(json); }
