// SPDX-License-Identifier: Apache-2.0
// Kernels compiled again with a cap on their registers, from PTX that the program holds or hands the driver.
// Its caller sees to it that one thread at a time is in it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "harness/attach/preload/driver.hpp"

namespace occbench::attach {

/// One of a kernel in one context.
struct Version {
  int cap = 0;
  CUfunction function = nullptr;
  int registers = 0, local_bytes = 0, blocks_per_sm = 0;
};

class Versions {
 public:
  Versions(const Driver& driver, std::vector<int> caps);
  /// A module's text. The first of each text counts.
  void add(std::string ptx);
  /// Reads what the command found in the program's file: `folder`/*.ptx.
  void add_files(const std::string& folder);

  struct Wanted {
    std::string kernel;
    CUfunction function = nullptr;  ///< the program's own
    CUcontext context = nullptr;    ///< the current one
    int compute_capability = 0;     ///< 90
    int registers = 0, block_size = 0, blocks_per_sm = 0;
    unsigned dynamic_smem = 0;
  };
  /// Of each cap that changes the registers and lets no fewer blocks in. Compiles what this context lacks.
  [[nodiscard]] std::vector<Version> of(const Wanted& wanted);
  void forget_context(CUcontext context);

 private:
  struct Text {
    std::string ptx;
    int target = 0;
  };
  /// Of the highest target that the device takes; null where none is, or two that differ are.
  const Text* text_of(const std::string& kernel, int compute_capability) const;

  const Driver& driver_;
  std::vector<int> caps_;
  std::deque<Text> texts_;
  std::unordered_map<std::string, std::vector<const Text*>> by_kernel_;
  std::map<std::tuple<CUcontext, const Text*, int>, CUmodule> modules_;
};

}  // namespace occbench::attach
