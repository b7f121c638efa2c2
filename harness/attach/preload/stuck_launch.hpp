// SPDX-License-Identifier: Apache-2.0
// Names a changed launch that does not end: its blocks may wait for others that are not resident.
#pragma once

#include <cstdint>

#include "harness/attach/preload/driver.hpp"
#include "harness/attach/preload/event_timer.hpp"
#include "harness/attach/preload/record_writer.hpp"

namespace occbench::attach {

class StuckLaunch {
 public:
  StuckLaunch(const Driver& driver, RecordWriter& writer) : driver_(driver), writer_(writer) {}

  /// Called periodically: writes one note and one file of the folder.
  void look(const EventTimer& events);

 private:
  const Driver& driver_;
  RecordWriter& writer_;
  std::uint64_t running_ = 0;  ///< the launch that was seen running, and since when
  double since_s_ = 0;
  bool is_noted_ = false;
};

}  // namespace occbench::attach
