// SPDX-License-Identifier: Apache-2.0
// The driver's functions that the library itself calls, found at run time in the libcuda.so.1 that the
// program has loaded: never linked, never loaded by the library.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace occbench::attach {

/// dlsym of libc, or of the next library that defines it: this library's own comes first.
using Dlsym = void* (*)(void*, const char*);
[[nodiscard]] Dlsym original_dlsym();

/// A function of libcuda.so.1 by its exported name; null where it has none, or is not loaded.
[[nodiscard]] void* libcuda_symbol(const char* name);

struct Driver {
  CUresult (*ctx_get_current)(CUcontext*) = nullptr;
  CUresult (*ctx_get_device)(CUdevice*) = nullptr;
  CUresult (*ctx_synchronize)() = nullptr;
  CUresult (*device_get_attribute)(int*, CUdevice_attribute, CUdevice) = nullptr;
  CUresult (*device_get_name)(char*, int, CUdevice) = nullptr;
  CUresult (*device_get_uuid)(CUuuid*, CUdevice) = nullptr;
  CUresult (*driver_get_version)(int*) = nullptr;
  CUresult (*event_create)(CUevent*, unsigned) = nullptr;
  CUresult (*event_record)(CUevent, CUstream) = nullptr;
  CUresult (*event_elapsed_time)(float*, CUevent, CUevent) = nullptr;
  CUresult (*event_query)(CUevent) = nullptr;
  CUresult (*event_destroy)(CUevent) = nullptr;
  CUresult (*func_get_attribute)(int*, CUfunction_attribute, CUfunction) = nullptr;
  CUresult (*func_set_attribute)(CUfunction, CUfunction_attribute, int) = nullptr;
  CUresult (*occupancy)(int*, CUfunction, int, size_t) = nullptr;
  CUresult (*launch_ex)(const CUlaunchConfig*, CUfunction, void**, void**) = nullptr;
  CUresult (*launch_ex_ptsz)(const CUlaunchConfig*, CUfunction, void**, void**) = nullptr;
  CUresult (*stream_is_capturing)(CUstream, CUstreamCaptureStatus*) = nullptr;
  // Null where the driver is too old for them.
  CUresult (*exchange_capture_mode)(CUstreamCaptureMode*) = nullptr;
  CUresult (*device_get_count)(int*) = nullptr;
  CUresult (*func_get_name)(const char**, CUfunction) = nullptr;
  CUresult (*func_get_param_info)(CUfunction, size_t, size_t*, size_t*) = nullptr;
  CUresult (*kernel_get_function)(CUfunction*, CUkernel) = nullptr;
  CUresult (*graph_child)(CUgraphNode, CUgraph*) = nullptr;
  CUresult (*graph_destroy)(CUgraph) = nullptr;
  CUresult (*graph_edges)(CUgraph, CUgraphNode*, CUgraphNode*, size_t*) = nullptr;
  CUresult (*graph_exec_flags)(CUgraphExec, cuuint64_t*) = nullptr;
  CUresult (*graph_exec_set)(CUgraphExec, CUgraphNode, const CUDA_KERNEL_NODE_PARAMS*) = nullptr;
  CUresult (*graph_node_attribute)(CUgraphNode, CUlaunchAttributeID, CUlaunchAttributeValue*) = nullptr;
  CUresult (*graph_node_get)(CUgraphNode, CUDA_KERNEL_NODE_PARAMS*) = nullptr;
  CUresult (*graph_nodes)(CUgraph, CUgraphNode*, size_t*) = nullptr;
  CUresult (*graph_node_type)(CUgraphNode, CUgraphNodeType*) = nullptr;
  CUresult (*module_load_data)(CUmodule*, const void*) = nullptr;
  CUresult (*module_get_function)(CUfunction*, CUmodule, const char*) = nullptr;
  CUresult (*ctx_resource)(CUcontext, CUdevResource*, CUdevResourceType) = nullptr;
  CUresult (*green_resource)(CUgreenCtx, CUdevResource*, CUdevResourceType) = nullptr;
  CUresult (*stream_green)(CUstream, CUgreenCtx*) = nullptr;
  CUresult (*primary_state)(CUdevice, unsigned*, int*) = nullptr;
  CUresult (*primary_retain)(CUcontext*, CUdevice) = nullptr;
  CUresult (*primary_release)(CUdevice) = nullptr;
  CUresult (*device_resource)(CUdevice, CUdevResource*, CUdevResourceType) = nullptr;
  CUresult (*split_sms)(CUdevResource*, unsigned*, const CUdevResource*, CUdevResource*, unsigned,
                        unsigned) = nullptr;
  CUresult (*describe_resource)(CUdevResourceDesc*, CUdevResource*, unsigned) = nullptr;
  CUresult (*green_create)(CUgreenCtx*, CUdevResourceDesc, CUdevice, unsigned) = nullptr;
  CUresult (*green_destroy)(CUgreenCtx) = nullptr;
  CUresult (*green_stream)(CUstream*, CUgreenCtx, unsigned, int) = nullptr;
  CUresult (*stream_wait)(CUstream, CUevent, unsigned) = nullptr;
  CUresult (*stream_synchronize)(CUstream) = nullptr;
  CUresult (*stream_destroy)(CUstream) = nullptr;
  CUresult (*max_clusters)(int*, CUfunction, const CUlaunchConfig*) = nullptr;

  /// Whether all that must be there is.
  [[nodiscard]] bool is_complete() const;
  /// Whether launches can be confined to a part of the SMs.
  [[nodiscard]] bool has_green_contexts() const;
};

[[nodiscard]] Driver find_driver();

/// The number of kernels that one launch of `graph` runs, child graphs included; nullopt: the driver does not
/// answer.
[[nodiscard]] std::optional<std::uint64_t> kernels_of(const Driver& driver, CUgraph graph);

/// The nodes of a graph each of which depends on the one before alone, in this order; empty: it is another.
[[nodiscard]] std::vector<CUgraphNode> chain_of(const Driver& driver, CUgraph graph);

/// While it lives, the thread's calls do not disturb a stream capture (of cuThreadExchangeStreamCaptureMode).
class Relaxed {
 public:
  explicit Relaxed(const Driver& driver) : exchange_(driver.exchange_capture_mode) {
    if (exchange_ != nullptr) exchange_(&mode_);
  }
  Relaxed(const Relaxed&) = delete;
  Relaxed& operator=(const Relaxed&) = delete;
  ~Relaxed() {
    if (exchange_ != nullptr) exchange_(&mode_);
  }

 private:
  CUresult (*exchange_)(CUstreamCaptureMode*);
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

}  // namespace occbench::attach
