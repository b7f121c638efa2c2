// SPDX-License-Identifier: Apache-2.0
// The few facts that only NVML knows, loaded at run time: a machine without it lacks these facts and
// nothing else.
#pragma once

#include <optional>
#include <string>

namespace occbench::nvml {

struct Facts {
  std::string driver_version;                   ///< empty: NVML is not there
  std::optional<bool> mig;                      ///< multi-instance mode on
  std::optional<double> power_limit_w;          ///< the limit enforced now, watts
  std::optional<std::string> throttle_reasons;  ///< "none", or names joined by '+', as of this call
};

/// Facts of the device with this UUID ("GPU-..."). Never throws.
Facts facts(const std::string& uuid);

}  // namespace occbench::nvml
