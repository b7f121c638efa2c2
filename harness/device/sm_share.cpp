// SPDX-License-Identifier: Apache-2.0
#include "harness/device/sm_share.hpp"

#include <cuda.h>
#include <dlfcn.h>

#include <map>
#include <memory>
#include <utility>

namespace occbench {

namespace {

/// A function of libcuda.so.1, which the runtime has loaded. Linking it would fail without a GPU.
template <class Function>
Function* driver_function(const char* name) {
  static void* const library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  return library == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(library, name));
}

/// Returns null and sets `why_none`.
CUstream green_stream(CUdevice device, int sms, std::string& why_none) {
  const auto find_sms = driver_function<decltype(cuDeviceGetDevResource)>("cuDeviceGetDevResource");
  const auto split = driver_function<decltype(cuDevSmResourceSplitByCount)>("cuDevSmResourceSplitByCount");
  const auto describe = driver_function<decltype(cuDevResourceGenerateDesc)>("cuDevResourceGenerateDesc");
  const auto create = driver_function<decltype(cuGreenCtxCreate)>("cuGreenCtxCreate");
  const auto add_stream = driver_function<decltype(cuGreenCtxStreamCreate)>("cuGreenCtxStreamCreate");
  if (!find_sms || !split || !describe || !create || !add_stream) {
    why_none = "green contexts need a driver of CUDA 12.4 or later";
    return nullptr;
  }
  CUdevResource all{}, part{}, rest{};
  unsigned groups = 1;
  CUdevResourceDesc description = nullptr;
  CUgreenCtx context = nullptr;
  CUstream stream = nullptr;
  CUresult result = find_sms(device, &all, CU_DEV_RESOURCE_TYPE_SM);
  if (result == CUDA_SUCCESS) result = split(&part, &groups, &all, &rest, 0, static_cast<unsigned>(sms));
  if (result == CUDA_SUCCESS && (groups != 1 || part.sm.smCount != static_cast<unsigned>(sms))) {
    why_none = "the driver does not split off " + std::to_string(sms) + " SMs";
    return nullptr;
  }
  if (result == CUDA_SUCCESS) result = describe(&description, &part, 1);
  if (result == CUDA_SUCCESS) result = create(&context, description, device, CU_GREEN_CTX_DEFAULT_STREAM);
  if (result == CUDA_SUCCESS) result = add_stream(&stream, context, CU_STREAM_NON_BLOCKING, 0);
  if (result != CUDA_SUCCESS)
    why_none = "the driver refused a green context (error " + std::to_string(result) + ")";
  return stream;
}

}  // namespace

const SmShare* SmShare::of(int sms, std::string& why_none) {
  int device = 0;
  check(cudaGetDevice(&device), "asking for the device");
  // Never freed: the driver ends before the program's statics do.
  static auto& shares = *new std::map<std::pair<int, int>, std::unique_ptr<const SmShare>>;
  auto& share = shares[{device, sms}];
  if (!share)
    if (CUstream const own = green_stream(device, sms, why_none)) share.reset(new SmShare(own));
  return share.get();
}

cudaStream_t SmShare::enter(const Stream& stream) const {
  entry_.record(stream);
  check(cudaStreamWaitEvent(own_, entry_.get(), 0), "entering a part of the SMs");
  return own_;
}

void SmShare::leave(const Stream& stream) const {
  check(cudaEventRecord(exit_.get(), own_), "leaving a part of the SMs");
  check(cudaStreamWaitEvent(stream.get(), exit_.get(), 0), "leaving a part of the SMs");
}

}  // namespace occbench
