// SPDX-License-Identifier: Apache-2.0
// The driver's functions that the library itself calls, found at run time in the libcuda.so.1 that the
// program has loaded: never linked, never loaded by the library.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace occbench::attach {

/// dlsym of libc, or of the next library that defines it; not this library's own.
using Dlsym = void* (*)(void*, const char*);
[[nodiscard]] Dlsym original_dlsym();

/// A function of libcuda.so.1 by its exported name; null if it has none or is not loaded.
[[nodiscard]] void* libcuda_symbol(const char* name);

/// A function of the driver by its exported name or an older one; null if the driver has neither.
template <class... Arguments>
class DriverCall {
 public:
  using Function = CUresult (*)(Arguments...);
  explicit DriverCall(const char* name, const char* older = nullptr) {
    void* found = libcuda_symbol(name);
    if (found == nullptr && older != nullptr) found = libcuda_symbol(older);
    function_ = reinterpret_cast<Function>(found);
  }
  operator Function() const { return function_; }  // NOLINT(google-explicit-constructor): called like one

 private:
  Function function_ = nullptr;
};

/// The constructor looks its functions up.
struct Driver {
  DriverCall<CUcontext*> ctx_get_current{"cuCtxGetCurrent"};
  DriverCall<CUdevice*> ctx_get_device{"cuCtxGetDevice"};
  DriverCall<> ctx_synchronize{"cuCtxSynchronize"};
  DriverCall<int*, CUdevice_attribute, CUdevice> device_get_attribute{"cuDeviceGetAttribute"};
  DriverCall<char*, int, CUdevice> device_get_name{"cuDeviceGetName"};
  DriverCall<CUuuid*, CUdevice> device_get_uuid{"cuDeviceGetUuid_v2", "cuDeviceGetUuid"};
  DriverCall<int*> driver_get_version{"cuDriverGetVersion"};
  DriverCall<CUevent*, unsigned> event_create{"cuEventCreate"};
  DriverCall<CUevent, CUstream> event_record{"cuEventRecord"};
  DriverCall<float*, CUevent, CUevent> event_elapsed_time{"cuEventElapsedTime_v2", "cuEventElapsedTime"};
  DriverCall<CUevent> event_query{"cuEventQuery"};
  DriverCall<CUevent> event_destroy{"cuEventDestroy_v2", "cuEventDestroy"};
  DriverCall<int*, CUfunction_attribute, CUfunction> func_get_attribute{"cuFuncGetAttribute"};
  DriverCall<CUfunction, CUfunction_attribute, int> func_set_attribute{"cuFuncSetAttribute"};
  DriverCall<int*, CUfunction, int, size_t> occupancy{"cuOccupancyMaxActiveBlocksPerMultiprocessor"};
  DriverCall<const CUlaunchConfig*, CUfunction, void**, void**> launch_ex{"cuLaunchKernelEx"};
  DriverCall<const CUlaunchConfig*, CUfunction, void**, void**> launch_ex_ptsz{"cuLaunchKernelEx_ptsz"};
  DriverCall<CUstream, CUstreamCaptureStatus*> stream_is_capturing{"cuStreamIsCapturing"};
  // Null if the driver is too old.
  DriverCall<CUstreamCaptureMode*> exchange_capture_mode{"cuThreadExchangeStreamCaptureMode"};
  DriverCall<int*> device_get_count{"cuDeviceGetCount"};
  DriverCall<const char**, CUfunction> func_get_name{"cuFuncGetName"};
  DriverCall<CUfunction, size_t, size_t*, size_t*> func_get_param_info{"cuFuncGetParamInfo"};
  DriverCall<CUfunction*, CUkernel> kernel_get_function{"cuKernelGetFunction"};
  DriverCall<CUgraphNode, CUgraph*> graph_child{"cuGraphChildGraphNodeGetGraph"};
  DriverCall<CUgraph> graph_destroy{"cuGraphDestroy"};
  DriverCall<CUgraph, CUgraphNode*, CUgraphNode*, size_t*> graph_edges{
      "cuGraphGetEdges"};  // of CUDA 10; refuses graphs with edge data
  DriverCall<CUgraphExec, cuuint64_t*> graph_exec_flags{"cuGraphExecGetFlags"};
  DriverCall<CUgraphExec, CUgraphNode, const CUDA_KERNEL_NODE_PARAMS*> graph_exec_set{
      "cuGraphExecKernelNodeSetParams_v2"};
  DriverCall<CUgraphNode, CUlaunchAttributeID, CUlaunchAttributeValue*> graph_node_attribute{
      "cuGraphKernelNodeGetAttribute"};
  DriverCall<CUgraphNode, CUDA_KERNEL_NODE_PARAMS*> graph_node_get{"cuGraphKernelNodeGetParams_v2"};
  DriverCall<CUgraph, CUgraphNode*, size_t*> graph_nodes{"cuGraphGetNodes"};
  DriverCall<CUgraphNode, CUgraphNodeType*> graph_node_type{"cuGraphNodeGetType"};
  DriverCall<CUmodule*, const void*> module_load_data{"cuModuleLoadData"};
  DriverCall<CUfunction*, CUmodule, const char*> module_get_function{"cuModuleGetFunction"};
  DriverCall<CUcontext, CUdevResource*, CUdevResourceType> ctx_resource{"cuCtxGetDevResource"};
  DriverCall<CUgreenCtx, CUdevResource*, CUdevResourceType> green_resource{"cuGreenCtxGetDevResource"};
  DriverCall<CUstream, CUgreenCtx*> stream_green{"cuStreamGetGreenCtx"};
  DriverCall<CUdevice, unsigned*, int*> primary_state{"cuDevicePrimaryCtxGetState"};
  DriverCall<CUcontext*, CUdevice> primary_retain{"cuDevicePrimaryCtxRetain"};
  DriverCall<CUdevice> primary_release{"cuDevicePrimaryCtxRelease_v2", "cuDevicePrimaryCtxRelease"};
  DriverCall<CUdevice, CUdevResource*, CUdevResourceType> device_resource{"cuDeviceGetDevResource"};
  DriverCall<CUdevResource*, unsigned*, const CUdevResource*, CUdevResource*, unsigned, unsigned> split_sms{
      "cuDevSmResourceSplitByCount"};
  DriverCall<CUdevResourceDesc*, CUdevResource*, unsigned> describe_resource{"cuDevResourceGenerateDesc"};
  DriverCall<CUgreenCtx*, CUdevResourceDesc, CUdevice, unsigned> green_create{"cuGreenCtxCreate"};
  DriverCall<CUgreenCtx> green_destroy{"cuGreenCtxDestroy"};
  DriverCall<CUstream*, CUgreenCtx, unsigned, int> green_stream{"cuGreenCtxStreamCreate"};
  DriverCall<CUstream, CUevent, unsigned> stream_wait{"cuStreamWaitEvent"};
  DriverCall<CUstream> stream_synchronize{"cuStreamSynchronize"};
  DriverCall<CUstream> stream_destroy{"cuStreamDestroy_v2", "cuStreamDestroy"};
  DriverCall<int*, CUfunction, const CUlaunchConfig*> max_clusters{"cuOccupancyMaxActiveClusters"};

  /// Whether all required functions were found.
  [[nodiscard]] bool is_complete() const;
  /// Whether launches can be confined to some of the SMs.
  [[nodiscard]] bool has_green_contexts() const;
};

[[nodiscard]] Driver find_driver();

/// The number of kernels in one launch of `graph`, including child graphs; nullopt if the driver does not
/// answer.
[[nodiscard]] std::optional<std::uint64_t> kernels_of(const Driver& driver, CUgraph graph);

/// The nodes in order if each depends only on the previous one; else empty.
[[nodiscard]] std::vector<CUgraphNode> chain_of(const Driver& driver, CUgraph graph);

/// During its lifetime, this thread's calls do not disturb a stream capture
/// (cuThreadExchangeStreamCaptureMode).
class RelaxedCaptureGuard {
 public:
  explicit RelaxedCaptureGuard(const Driver& driver) : exchange_(driver.exchange_capture_mode) {
    if (exchange_ != nullptr) exchange_(&mode_);
  }
  RelaxedCaptureGuard(const RelaxedCaptureGuard&) = delete;
  RelaxedCaptureGuard& operator=(const RelaxedCaptureGuard&) = delete;
  ~RelaxedCaptureGuard() {
    if (exchange_ != nullptr) exchange_(&mode_);
  }

 private:
  CUresult (*exchange_)(CUstreamCaptureMode*);
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

}  // namespace occbench::attach
