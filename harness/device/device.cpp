// SPDX-License-Identifier: Apache-2.0
#include "harness/device/device.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>

#include "harness/device/parameters.hpp"
#include "harness/io/check.hpp"

namespace occbench {

namespace {

std::string format_uuid(const cudaUUID_t& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    std::array<char, 4> byte{};
    std::snprintf(byte.data(), byte.size(), "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    text += byte.data();
    if (i == 3 || i == 5 || i == 7 || i == 9) text += '-';
  }
  return text;
}

int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, which, device), "reading a device attribute");
  return value;
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

/// Portable size: CUDA C++ Programming Guide, 'Thread Block Clusters'.
int max_blocks_per_cluster(const theory::SmLimits& sm) { return sm.cc_major >= 9 ? 8 : 0; }

Device read_device(int index) {
  cudaDeviceProp prop{};
  check(cudaGetDeviceProperties(&prop, index), "reading device properties");
  Device d;
  d.index = index;
  d.name = prop.name;
  d.uuid = format_uuid(prop.uuid);
  d.sm = {.cc_major = prop.major,
          .cc_minor = prop.minor,
          .sm_count = prop.multiProcessorCount,
          .warp_size = prop.warpSize,
          .max_threads_per_block = prop.maxThreadsPerBlock,
          .max_threads_per_sm = prop.maxThreadsPerMultiProcessor,
          .max_blocks_per_sm = prop.maxBlocksPerMultiProcessor,
          .registers_per_block = prop.regsPerBlock,
          .registers_per_sm = prop.regsPerMultiprocessor,
          .smem_per_block_bytes = prop.sharedMemPerBlock,
          .smem_per_block_optin_bytes = prop.sharedMemPerBlockOptin,
          .smem_per_sm_bytes = prop.sharedMemPerMultiprocessor,
          .smem_reserved_per_block_bytes = prop.reservedSharedMemPerBlock};
  std::ranges::copy(prop.maxThreadsDim, d.max_block_dimensions.begin());
  std::ranges::copy(prop.maxGridSize, d.max_grid_dimensions.begin());
  d.sm_clock_max_hz = attribute(cudaDevAttrClockRate, index) * 1e3;
  d.memory_clock_hz = attribute(cudaDevAttrMemoryClockRate, index) * 1e3;
  d.memory_bus_bits = prop.memoryBusWidth;
  d.dram_bytes_per_s = 2.0 * d.memory_clock_hz * d.memory_bus_bits / 8;  // two transfers a clock
  d.memory_bytes = prop.totalGlobalMem;
  d.l2_bytes = static_cast<std::size_t>(prop.l2CacheSize);
  d.ecc = prop.ECCEnabled != 0;
  d.integrated = prop.integrated != 0;
  d.max_blocks_per_cluster = max_blocks_per_cluster(d.sm);
  theory::set_sm_rates(d);
  check(cudaDriverGetVersion(&d.driver_version), "reading the driver version");
  d.nvml = nvml::facts(d.uuid);
  return d;
}

double capability(const Device& d) { return d.sm.sm_count * d.fp32_lanes_per_sm * d.sm_clock_max_hz; }

}  // namespace

std::string Device::compute_capability() const {
  return std::to_string(sm.cc_major) + "." + std::to_string(sm.cc_minor);
}

std::vector<Device> enumerate_devices(std::string* why_none) {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess || count == 0) {
    static_cast<void>(cudaGetLastError());
    if (why_none != nullptr)
      *why_none = std::string("no CUDA device: ") +
                  (error == cudaErrorInsufficientDriver
                       ? "there is no NVIDIA driver, or it is older than this program's CUDA runtime"
                   : error == cudaSuccess ? "the driver lists none"
                                          : cudaGetErrorString(error));
    return {};
  }
  std::vector<Device> devices;
  for (int i = 0; i < count; ++i) devices.push_back(read_device(i));
  return devices;
}

Device model_device(const theory::DeviceSpec& spec) {
  std::string shown = spec.name;
  std::ranges::transform(shown, shown.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  Device d{spec};
  d.name = "model of " + shown;
  d.uuid = "model:" + spec.name;
  d.is_model = true;
  d.max_blocks_per_cluster = max_blocks_per_cluster(d.sm);
  return d;
}

Choice choose_device(const std::vector<Device>& devices, std::string_view wanted) {
  if (devices.empty()) throw UserError(Exit::no_device, "no CUDA device was found; " + without_device());
  if (wanted.empty()) {
    const auto best = std::ranges::max_element(devices, [](const Device& a, const Device& b) {
      return std::pair(!a.integrated, capability(a)) < std::pair(!b.integrated, capability(b));
    });
    return {&*best, devices.size() == 1 ? "the only device"
                                        : "the most capable discrete device (SMs x FP32 lanes x clock)"};
  }
  const std::string key = lower(wanted);
  const bool is_index = std::ranges::all_of(key, [](unsigned char c) { return std::isdigit(c) != 0; });
  for (const Device& d : devices)
    if (is_index ? std::to_string(d.index) == key
                 : lower(d.uuid).starts_with(key) || lower(d.name).find(key) != std::string::npos)
      return {&d, "asked for by '" + std::string(wanted) + "'"};
  std::string known;
  for (const Device& d : devices)
    known += (known.empty() ? "" : ", ") + std::to_string(d.index) + " " + d.name;
  throw UserError(Exit::usage, "no device matches '" + std::string(wanted) + "'; this machine has: " + known);
}

std::string without_device() {
  return "`occbench calc --device h200 ...` answers without one, and `occbench run --device M` predicts, "
         "with M " +
         model_names();
}

Device open_device(std::string_view wanted) {
  std::string why_none;
  const auto devices = enumerate_devices(&why_none);
  if (devices.empty()) throw UserError(Exit::no_device, why_none + "; " + without_device());
  const Device device = *choose_device(devices, wanted).device;
  // Creates the context, which needs memory of its own.
  if (const cudaError_t error = cudaSetDevice(device.index); error == cudaErrorMemoryAllocation)
    throw UserError(Exit::no_device,
                    device.name +
                        " has too little free memory for a CUDA context: some 500 MiB are "
                        "needed, 1 GiB to measure; stop other processes on it, or choose another "
                        "with --device");
  else
    check(error, "selecting the device");
  return device;
}

}  // namespace occbench
