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
Json known(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json json_of(const CompiledKernel& kernel) {
  const occbench::binary::KernelUse& use = kernel.use;
  Json banks = Json::object();
  for (const auto& [bank, bytes] : kernel.constant_bytes) banks[std::to_string(bank)] = bytes;
  return {{"name", occbench::binary::demangled(use.name)},
          {"mangled", use.name},
          {"file", kernel.file},
          {"architecture", kernel.architecture},
          {"registers", known(use.registers_per_thread)},
          {"static_smem", kernel.is_linked ? Json(use.static_smem_bytes) : Json()},
          {"dynamic_smem", known(use.dynamic_smem_bytes)},
          {"stack", known(use.stack_bytes)},
          {"spill_bytes", known(use.spill_bytes)},
          {"has_local_array", known(kernel.has_local_array)},
          {"barriers", known(use.barriers)},
          {"virtual_resources", kernel.virtual_resources},
          {"tensor_columns", known(kernel.tensor_columns)},
          {"is_linked", kernel.is_linked},
          {"least_requested_registers", kernel.least_requested_registers},
          {"most_requested_registers", kernel.most_requested_registers},
          {"barrier_id_at_run_time", kernel.barrier_id_at_run_time},
          {"block_size", known(use.block_size)},
          {"launch_bound", known(kernel.launch_bound)},
          {"cluster_size", known(use.cluster_size)},
          {"code_bytes", kernel.code_bytes},
          {"constant_bytes", banks}};
}

Json inspected(const char* path) {
  try {
    const occbench::binary::Contents contents = occbench::binary::read_binaries(path);
    Json kernels = Json::array();
    for (const CompiledKernel& kernel : contents.kernels) kernels.push_back(json_of(kernel));
    return {{"kernels", kernels},
            {"ptx", contents.ptx},
            {"link_time_code", contents.has_link_time_code},
            {"complaints", contents.complaints}};
  } catch (const std::exception& error) {
    return {{"error", error.what()}};
  }
}

}  // namespace

char* occbench_inspect(const char* path) try {
  // A name in a file may hold any bytes.
  const std::string text = inspected(path).dump(-1, ' ', false, Json::error_handler_t::replace);
  return strdup(text.c_str());
} catch (const std::exception&) {
  return nullptr;
}

void occbench_inspect_free(char* json) { std::free(json); }
