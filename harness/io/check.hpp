// SPDX-License-Identifier: Apache-2.0
// The two kinds of errors: failed CUDA calls and user errors.
#pragma once

#include <cuda_runtime_api.h>

#include <source_location>
#include <stdexcept>
#include <string>

namespace occbench {

/// Exit codes of the program (the contract with scripts and CI).
enum class Exit : int {
  ok = 0,
  some_case_failed = 1,
  usage = 2,
  no_device = 3,
  file = 4,
  tool_missing = 5,
};

/// An error that the user can fix: a one-line message and the exit code.
class UserError : public std::runtime_error {
 public:
  UserError(Exit code, const std::string& line) : std::runtime_error(line), code_(code) {}
  [[nodiscard]] Exit code() const { return code_; }

 private:
  Exit code_;
};

/// A failed CUDA runtime call.
class CudaError : public std::runtime_error {
 public:
  CudaError(cudaError_t error, const std::string& what, std::source_location where);
  [[nodiscard]] cudaError_t error() const { return error_; }
  /// True when the error corrupted the context (illegal address, trap, ...): nothing more can run.
  [[nodiscard]] bool context_lost() const;

 private:
  cudaError_t error_;
};

/// Throws CudaError unless `error` is cudaSuccess.
void check(cudaError_t error, const char* what = "",
           std::source_location where = std::source_location::current());

}  // namespace occbench
