// SPDX-License-Identifier: Apache-2.0
// The parts of CUPTI that the library uses, found at run time. They are declared here because CUPTI's headers
// are not on every machine (tests/attach_records_test.cpp compares them where they are).
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace occbench::attach::cupti {

constexpr int success = 0, not_initialized = 15, multiple_subscribers = 39;
constexpr int driver_domain = 1, on_enter = 0;
constexpr int kernels = 10;          ///< activity kind: kernels, without serializing them
constexpr std::uint32_t forced = 1;  ///< flush flag: include buffers with incomplete records

/// Callback ids of the driver calls that launch.
constexpr std::uint32_t launch_calls[] = {
    307,  // cuLaunchKernel
    442,  // cuLaunchKernel_ptsz
    477,  // cuLaunchCooperativeKernel
    478,  // cuLaunchCooperativeKernel_ptsz
    514,  // cuGraphLaunch
    515,  // cuGraphLaunch_ptsz
    652,  // cuLaunchKernelEx
    653,  // cuLaunchKernelEx_ptsz
};

/// The first fields of a kernel record, unchanged since CUDA 11.0. Times in ns of the device clock.
struct KernelRecord {
  std::uint32_t kind;
  std::uint32_t of_cache_and_registers;
  std::uint32_t partitioned_cache[2];
  std::uint64_t start, end, completed;
  std::uint32_t device, context, stream;
  std::int32_t grid[3], block[3];
  std::int32_t static_smem, dynamic_smem;
  std::uint32_t local_memory[2];
  std::uint32_t correlation;  ///< of the launching call
  std::int64_t grid_id;
  const char* name;
  void* reserved;
  std::uint64_t queued, submitted;
  std::uint8_t launch_type, is_carveout_requested, carveout_requested, padding;
  std::uint32_t smem_executed;
  std::uint64_t graph_node;  ///< 0: not in a graph
  std::uint32_t smem_limit;
  std::uint32_t graph;
};

/// Data of a call that a callback gets.
struct CallbackData {
  int site;
  const char* function;
  const void* parameters;
  void* result;
  const char* symbol;
  CUcontext context;
  std::uint32_t context_id;
  std::uint64_t* of_client;
  std::uint32_t correlation;
};

using BufferRequestedCallback = void (*)(std::uint8_t** buffer, std::size_t* bytes, std::size_t* max_records);
using BufferCompletedCallback = void (*)(CUcontext, std::uint32_t stream, std::uint8_t* buffer,
                                         std::size_t bytes, std::size_t valid_bytes);
using ApiCallback = void (*)(void*, int domain, std::uint32_t call, const CallbackData*);

struct Functions {
  int (*get_version)(std::uint32_t*) = nullptr;
  int (*subscribe)(void** subscriber, ApiCallback, void*) = nullptr;
  int (*unsubscribe)(void* subscriber) = nullptr;
  int (*enable_callback)(std::uint32_t on, void* subscriber, int domain, std::uint32_t call) = nullptr;
  int (*register_callbacks)(BufferRequestedCallback, BufferCompletedCallback) = nullptr;
  int (*enable)(int kind) = nullptr;
  int (*disable)(int kind) = nullptr;
  int (*flush_all)(std::uint32_t flag) = nullptr;
  int (*next_record)(std::uint8_t* buffer, std::size_t valid_bytes, void** record) = nullptr;
};

struct Library {
  void* handle = nullptr;
  bool is_programs = false;  ///< the program has loaded it
  Functions functions;
  std::string why;  ///< why there is no library; empty if there is one
};

/// Finds libcupti in this process, else by name, else where toolkits install it. It stays loaded, since CUPTI
/// leaves hooks in the driver. `driver_version`: 13000.
[[nodiscard]] Library find(int driver_version);
/// Whether a libcupti is in this process.
[[nodiscard]] bool is_loaded();
/// A function of the libcupti that the code at `caller` is linked to, else of any in the process (`but` comes
/// last), else null.
[[nodiscard]] void* find_program_symbol(const char* name, void* caller, void* but);

/// Functions with which a program begins to use CUPTI; cuptiActivityRegisterCallbacks is one more.
#define OCCBENCH_CUPTI_ENTRY_POINTS(X) \
  X(cuptiSubscribe)                    \
  X(cuptiSubscribe_v2)                 \
  X(cuptiActivityRegisterCallbacks_v2) \
  X(cuptiActivityEnable)               \
  X(cuptiActivityEnable_v2)            \
  X(cuptiActivityEnableContext)        \
  X(cuptiActivityEnableAndDump)        \
  X(cuptiActivityEnableDriverApi)      \
  X(cuptiActivityEnableRuntimeApi)     \
  X(cuptiEventGroupEnable)             \
  X(cuptiEventGroupSetEnable)          \
  X(cuptiPCSamplingEnable)             \
  X(cuptiPmSamplingEnable)             \
  X(cuptiProfilerInitialize)           \
  X(cuptiRangeProfilerEnable)          \
  X(cuptiSassMetricsEnable)            \
  X(cuptiFinalize)

/// Returns the name, as a constant, if calling this function begins to use CUPTI; else null.
[[nodiscard]] const char* find_entry_point(const char* name) noexcept;

}  // namespace occbench::attach::cupti
