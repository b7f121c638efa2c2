// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <unordered_map>

#include "harness/binary/nsys_csv.hpp"
#include "harness/binary/sqlite_file.hpp"

namespace occbench::binary {
namespace {

std::optional<std::int64_t> integer(const SqlValue& value) {
  const auto* const found = std::get_if<std::int64_t>(&value);
  return found != nullptr ? std::optional(*found) : std::nullopt;
}

struct Gpu {
  std::string name, cc;
  std::optional<int> sm_count;
};

using Gpus = std::map<std::int64_t, Gpu>;

/// By CUDA's device number.
Gpus gpus_of(const SqliteFile& file) {
  Gpus by_id;
  file.each_row("TARGET_INFO_GPU", {"id", "name", "smCount", "computeMajor", "computeMinor"},
                [&](const std::vector<SqlValue>& row) {
                  Gpu gpu;
                  if (const auto* const name = std::get_if<std::string>(&row[1])) gpu.name = *name;
                  const auto sms = integer(row[2]), major = integer(row[3]), minor = integer(row[4]);
                  if (sms && *sms >= 1 && *sms <= 100000) gpu.sm_count = static_cast<int>(*sms);
                  if (major && minor && *major >= 1 && *major <= 99 && *minor >= 0 && *minor <= 9)
                    gpu.cc = std::to_string(*major) + "." + std::to_string(*minor);
                  if (const auto id = integer(row[0])) by_id[*id] = gpu;
                });
  Gpus by_cuda = by_id;
  file.each_row("TARGET_INFO_CUDA_DEVICE", {"gpuId", "cudaId"}, [&](const std::vector<SqlValue>& row) {
    const auto gpu = integer(row[0]), cuda = integer(row[1]);
    if (gpu && cuda && by_id.contains(*gpu)) by_cuda[*cuda] = by_id.at(*gpu);
  });
  return by_cuda;
}

/// The product of three dimensions; nullopt if one is missing or it exceeds `most`.
std::optional<std::int64_t> product(const std::vector<SqlValue>& row, std::size_t at, std::int64_t most) {
  std::int64_t result = 1;
  for (std::size_t i = at; i < at + 3; ++i) {
    const auto side = integer(row[i]);
    if (!side || *side < 1 || *side > most / result) return std::nullopt;
    result *= *side;
  }
  return result;
}

/// The launch in a row of read_nsys_sqlite's columns; nullopt if its registers, memory or shape are missing
/// or out of range. Its name is a string's number, which read_names replaces by the text.
std::optional<KernelUse> launch_of(const std::vector<SqlValue>& row, const Gpus& gpus) {
  const auto registers = integer(row[2]), fixed = integer(row[3]), dynamic = integer(row[4]);
  const auto blocks = product(row, 8, std::int64_t{1} << 62), threads = product(row, 11, 1000000);
  constexpr std::int64_t max_bytes = std::int64_t{1} << 40;
  const auto are_bytes = [](const auto& n) { return n.value_or(0) >= 0 && n.value_or(0) <= max_bytes; };
  if (!registers || *registers < 0 || *registers > 1000000 || !blocks || !threads || !are_bytes(fixed) ||
      !are_bytes(dynamic))
    return std::nullopt;
  const auto start = integer(row[5]), end = integer(row[6]);
  const auto name = integer(row[0]) ? integer(row[0]) : integer(row[1]);
  KernelUse use{.name = std::to_string(name.value_or(-1)),
                .registers_per_thread = static_cast<int>(*registers),
                .block_size = static_cast<int>(*threads),
                .static_smem_bytes = static_cast<std::size_t>(fixed.value_or(0)),
                .dynamic_smem_bytes = static_cast<std::size_t>(dynamic.value_or(0)),
                .launches = 1};
  if (start && end && *end > *start)
    use.time_us = (static_cast<double>(*end) - static_cast<double>(*start)) * 1e-3;
  use.grids = {{*blocks, {1, use.time_us}}};
  if (const auto gpu = gpus.find(integer(row[7]).value_or(0)); gpu != gpus.end()) {
    use.cc = gpu->second.cc;
    use.device_name = gpu->second.name;
    use.sm_count = gpu->second.sm_count;
  }
  return use;
}

/// Replaces the string numbers that launch_of stored as names by their texts.
void read_names(const SqliteFile& file, std::vector<KernelUse>& kernels) {
  // Keeps only the names of kernels: a report may have millions of strings.
  std::unordered_map<std::string, std::string> names;
  for (const KernelUse& use : kernels) names.try_emplace(use.name);
  file.each_row("StringIds", {"id", "value"}, [&](const std::vector<SqlValue>& row) {
    const auto id = integer(row[0]);
    const auto* const text = std::get_if<std::string>(&row[1]);
    if (!id || text == nullptr) return;
    if (const auto name = names.find(std::to_string(*id)); name != names.end()) name->second = *text;
  });
  for (KernelUse& use : kernels) {
    const std::string& name = names.at(use.name);
    use.name = name.empty() ? "unnamed kernel" : name;
  }
}

}  // namespace

KernelUses read_nsys_sqlite(const ByteSource& source) {
  const SqliteFile file(source);
  const std::string kernels = "CUPTI_ACTIVITY_KIND_KERNEL";
  if (!file.has_table(kernels) && !file.has_table("StringIds"))
    throw Damaged("is an SQLite database, and not one of nsys: it has no " + kernels);
  const Gpus gpus = gpus_of(file);
  KernelUses found{.source = "nsys SQLite export", .has_run = true, .kernels = {}, .left_out = {}};
  Launches launches;
  std::size_t unknown = 0;
  const std::vector<std::string> columns = {"demangledName",
                                            "shortName",
                                            "registersPerThread",
                                            "staticSharedMemory",
                                            "dynamicSharedMemory",
                                            "start",
                                            "end",
                                            "deviceId",
                                            "gridX",
                                            "gridY",
                                            "gridZ",
                                            "blockX",
                                            "blockY",
                                            "blockZ"};
  file.each_row(kernels, columns, [&](const std::vector<SqlValue>& row) {
    if (auto use = launch_of(row, gpus))
      launches.add(std::move(*use));
    else
      ++unknown;
  });
  found.kernels = launches.take();
  read_names(file, found.kernels);
  if (unknown > 0) found.left_out.push_back(std::to_string(unknown) + " launches without registers or shape");
  return found;
}

}  // namespace occbench::binary
