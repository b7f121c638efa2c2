// SPDX-License-Identifier: Apache-2.0
// Kernels compiled again with a cap on their registers, from PTX that the program holds or hands the driver.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "harness/attach/preload/driver.hpp"
#include "harness/attach/preload/options.hpp"

namespace occbench::attach {

struct Context;
struct Handle;
struct Signature;

/// A kernel with a cap, in one context.
struct Version {
  int cap = 0;
  CUfunction function = nullptr;
  int registers = 0, local_bytes = 0, blocks_per_sm = 0;
};

/// Not thread-safe.
class Versions {
 public:
  /// Reads what the command found in the program's file: *.ptx in the options' folder.
  Versions(const Options& options, const Driver& driver);
  /// Adds a module's text. The first of each text counts.
  void add(std::string ptx);

  /// A version for each cap that changes the registers and lets no fewer blocks in. Compiles what this
  /// context lacks.
  [[nodiscard]] std::vector<Version> of(const Signature& signature, const Handle& handle,
                                        const Context& context);
  /// The function of the signature's version `number`, counted from 0, for this handle; null where it has
  /// none.
  [[nodiscard]] CUfunction function_of(const Signature& signature, Handle& handle, const Context& context,
                                       std::size_t number);
  void forget_context(CUcontext context);

 private:
  struct Text {
    std::string ptx;
    int target = 0;
  };
  /// The text of the highest target that the device takes; null where there is none, or two that differ.
  const Text* text_of(const std::string& kernel, int compute_capability) const;

  const Driver& driver_;
  std::vector<int> caps_;
  std::deque<Text> texts_;
  std::unordered_map<std::string, std::vector<const Text*>> by_kernel_;
  std::map<std::tuple<CUcontext, const Text*, int>, CUmodule> modules_;
};

}  // namespace occbench::attach
