// SPDX-License-Identifier: Apache-2.0
// Recompiles kernels with a register cap, from PTX that the program contains or passes to the driver.
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

/// A kernel with a register cap, in one context.
struct Version {
  int cap = 0;
  CUfunction function = nullptr;
  int registers = 0, local_bytes = 0, blocks_per_sm = 0;
};

/// Not thread-safe.
class Versions {
 public:
  /// Reads the PTX that the command extracted from the program: *.ptx in the options' folder.
  Versions(const Options& options, const Driver& driver);
  /// Adds a module's text; duplicates are ignored.
  void add(std::string ptx);

  /// A version for each cap that changes the register count and does not reduce resident blocks. Compiles
  /// those missing in this context.
  [[nodiscard]] std::vector<Version> of(const Signature& signature, const Handle& handle,
                                        const Context& context);
  /// The function of the signature's version `number` (from 0) for this handle, or null.
  [[nodiscard]] CUfunction function_of(const Signature& signature, Handle& handle, const Context& context,
                                       std::size_t number);
  void forget_context(CUcontext context);

 private:
  struct Text {
    std::string ptx;
    int target = 0;
  };
  /// The text with the highest target that the device supports; null if none, or if two differ.
  const Text* text_of(const std::string& kernel, int compute_capability) const;

  const Driver& driver_;
  std::vector<int> caps_;
  std::deque<Text> texts_;
  std::unordered_map<std::string, std::vector<const Text*>> by_kernel_;
  std::map<std::tuple<CUcontext, const Text*, int>, CUmodule> modules_;
};

}  // namespace occbench::attach
