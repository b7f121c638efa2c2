// SPDX-License-Identifier: Apache-2.0
#include "harness/io/check.hpp"

#include <string_view>

namespace occbench {

namespace {

std::string describe(cudaError_t error, const std::string& what, const std::source_location& where) {
  std::string_view file = where.file_name();
  file.remove_prefix(file.find_last_of('/') + 1);  // npos + 1 is 0
  return (what.empty() ? "CUDA call" : what) + " failed: " + cudaGetErrorName(error) + " (" +
         cudaGetErrorString(error) + ") at " + std::string(file) + ":" + std::to_string(where.line());
}

}  // namespace

CudaError::CudaError(cudaError_t error, const std::string& what, std::source_location where)
    : std::runtime_error(describe(error, what, where)), error_(error) {}

bool CudaError::context_lost() const {
  switch (error_) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorAssert:
    case cudaErrorECCUncorrectable:
    case cudaErrorContextIsDestroyed:
    case cudaErrorDevicesUnavailable:
    case cudaErrorUnknown:
      return true;
    default:
      return false;
  }
}

void check(cudaError_t error, const char* what, std::source_location where) {
  if (error == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());  // clears the error, so that the next call does not report it again
  throw CudaError(error, what, where);
}

}  // namespace occbench
