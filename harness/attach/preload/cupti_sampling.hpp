// SPDX-License-Identifier: Apache-2.0
// The parts of CUPTI's PM sampling that the library uses, available since CUDA 12.6. They are declared here
// for the reason given in cupti.hpp. Each function takes one struct, which begins with its size up to its
// last field.
#pragma once

#include <cstddef>
#include <cstdint>

namespace occbench::attach::cupti {

enum Refusal : int {  // CUPTI's result codes
  hardware_busy = 26,
  not_supported = 27,
  virtual_device = 33,
  insufficient_privileges = 35,
  old_profiler_in_use = 36,
  insufficient_virtual_privileges = 40,
  confidential_computing = 41,
  mig_device = 43,
  unknown_chip = 46,
};

constexpr int of_pm_sampling = 1;                ///< type of a host object
constexpr int every_clocks = 0, every_time = 1;  ///< triggers: SYS clocks, nanoseconds
constexpr int counter_data_full = 1;             ///< why decoding stopped

/// The first fields of each struct.
struct Parameters {
  static constexpr std::size_t padding = 0;  ///< bytes at the end
  std::size_t size = 0;
  void* reserved = nullptr;
};
struct Initialize : Parameters {
  static constexpr const char* function = "cuptiProfilerInitialize";
};
struct GetChipName : Parameters {
  static constexpr const char* function = "cuptiDeviceGetChipName";
  std::size_t device = 0;
  const char* chip = nullptr;
};

// Host functions: turn metrics into a configuration, and counters into metrics.
struct HostInitialize : Parameters {
  static constexpr const char* function = "cuptiProfilerHostInitialize";
  int type = of_pm_sampling;
  const char* chip = nullptr;
  const std::uint8_t* availability = nullptr;
  void* host = nullptr;
};
struct HostDeinitialize : Parameters {
  static constexpr const char* function = "cuptiProfilerHostDeinitialize";
  void* host = nullptr;
};
struct HostAddMetrics : Parameters {
  static constexpr const char* function = "cuptiProfilerHostConfigAddMetrics";
  void* host = nullptr;
  const char** names = nullptr;
  std::size_t count = 0;
};
struct HostGetConfigSize : Parameters {
  static constexpr const char* function = "cuptiProfilerHostGetConfigImageSize";
  void* host = nullptr;
  std::size_t bytes = 0;
};
struct HostGetConfig : Parameters {
  static constexpr const char* function = "cuptiProfilerHostGetConfigImage";
  void* host = nullptr;
  std::size_t bytes = 0;
  std::uint8_t* config = nullptr;
};
struct HostGetPasses : Parameters {
  static constexpr const char* function = "cuptiProfilerHostGetNumOfPasses";
  std::size_t bytes = 0;
  std::uint8_t* config = nullptr;
  std::size_t passes = 0;
};
struct HostEvaluate : Parameters {
  static constexpr const char* function = "cuptiProfilerHostEvaluateToGpuValues";
  void* host = nullptr;
  const std::uint8_t* data = nullptr;
  std::size_t bytes = 0;
  std::size_t sample = 0;
  const char** names = nullptr;
  std::size_t count = 0;
  double* values = nullptr;
};

// Device functions.
struct SamplingEnable : Parameters {
  static constexpr const char* function = "cuptiPmSamplingEnable";
  std::size_t device = 0;
  void* sampler = nullptr;
};
struct OfSampler : Parameters {
  void* sampler = nullptr;
};
struct SamplingDisable : OfSampler {
  static constexpr const char* function = "cuptiPmSamplingDisable";
};
struct SamplingStart : OfSampler {
  static constexpr const char* function = "cuptiPmSamplingStart";
};
struct SamplingStop : OfSampler {
  static constexpr const char* function = "cuptiPmSamplingStop";
};
struct SamplingConfigure : OfSampler {
  static constexpr const char* function = "cuptiPmSamplingSetConfig";
  std::size_t bytes = 0;
  const std::uint8_t* config = nullptr;
  std::size_t hardware_bytes = 0;
  std::uint64_t interval = 0;
  int trigger = every_time;
  int append_mode = 0;  ///< keep the oldest samples
};
struct SamplingGetDataSize : OfSampler {
  static constexpr const char* function = "cuptiPmSamplingGetCounterDataSize";
  const char** names = nullptr;
  std::size_t count = 0;
  std::uint32_t max_samples = 0;
  std::size_t bytes = 0;
};
struct SamplingClearData : OfSampler {
  static constexpr const char* function = "cuptiPmSamplingCounterDataImageInitialize";
  std::size_t bytes = 0;
  std::uint8_t* data = nullptr;
};
struct SamplingDecode : OfSampler {
  static constexpr const char* function = "cuptiPmSamplingDecodeData";
  static constexpr std::size_t padding = 3;
  std::uint8_t* data = nullptr;
  std::size_t bytes = 0;
  int stop_reason = 0;
  std::uint8_t has_overflowed = 0;
};
struct SamplingGetDataInfo : Parameters {
  static constexpr const char* function = "cuptiPmSamplingGetCounterDataInfo";
  const std::uint8_t* data = nullptr;
  std::size_t bytes = 0;
  std::size_t total = 0, populated = 0, completed = 0;
};
struct SamplingGetSample : OfSampler {
  static constexpr const char* function = "cuptiPmSamplingCounterDataGetSampleInfo";
  const std::uint8_t* data = nullptr;
  std::size_t bytes = 0;
  std::size_t sample = 0;
  std::uint64_t start_ns = 0, end_ns = 0;
};

}  // namespace occbench::attach::cupti
