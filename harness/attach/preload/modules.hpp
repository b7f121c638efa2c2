// SPDX-License-Identifier: Apache-2.0
// Reads the modules that the program loads: PTX if register caps are requested, else machine code to find
// kernels that read the size of their shared memory.
#pragma once

#include <mutex>

#include "harness/attach/preload/driver.hpp"
#include "harness/attach/preload/options.hpp"
#include "harness/attach/preload/record_writer.hpp"
#include "harness/attach/preload/skip_rules.hpp"
#include "harness/attach/preload/versions.hpp"

namespace occbench::attach {

/// Thread-safe: reads first, then takes the mutex that guards the other references.
class Modules {
 public:
  Modules(const Options& options, const Driver& driver, RecordWriter& writer, SkipRules& skip_rules,
          Versions& versions, std::mutex& mutex)
      : options_(options),
        driver_(driver),
        writer_(writer),
        skip_rules_(skip_rules),
        versions_(versions),
        mutex_(mutex) {}

  /// An image that the driver has loaded.
  void read(const void* image);
  void read_file(const char* path);

 private:
  void search(const void* image);

  const Options& options_;
  const Driver& driver_;
  RecordWriter& writer_;
  SkipRules& skip_rules_;
  Versions& versions_;
  std::mutex& mutex_;
  bool is_search_noted_ = false;
};

}  // namespace occbench::attach
