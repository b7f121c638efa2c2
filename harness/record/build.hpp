// SPDX-License-Identifier: Apache-2.0
// What a program was built from. Each program defines it for itself: a benchmark outside this tree is of
// another commit than the library.
#pragma once

namespace occbench {

struct BuildInfo {
  const char* version;  ///< of occbench
  const char* commit;
  bool dirty;
  const char* build_type;
  const char* compiler;
  const char* compiler_flags;
  const char* cuda_toolkit;
  const char* cuda_architectures;  ///< as CMake lists them
};

extern const BuildInfo build_info;

}  // namespace occbench
