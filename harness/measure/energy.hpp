// SPDX-License-Identifier: Apache-2.0
// A launch's energy from the board's counter, which is updated some ten times a second.
#pragma once

#include <cstdint>
#include <optional>

namespace occbench {

/// Energy of back-to-back launches.
struct Energy {
  double power_w = 0;       ///< mean power of the whole board
  double per_launch_j = 0;  ///< power_w over launches per second
};

/// Measures the energy drawn between two updates of the counter.
class EnergySteps {
 public:
  /// The window begins after `warm_up_s` and lasts at least `window_s`. A board takes most of a second to
  /// bring a load under its limit: a window above `limit_w` is restarted.
  EnergySteps(double warm_up_s, double window_s, double limit_w)
      : warm_up_s_(warm_up_s), window_s_(window_s), max_w_((1 + sensor_error) * limit_w) {}

  /// Takes the counter (J) at `now_s`, after so many launches. Returns the energy at the end of the window.
  std::optional<Energy> take(double energy_j, double now_s, std::uint64_t ended) {
    const bool stepped = last_j_ && energy_j != *last_j_;
    last_j_ = energy_j;
    if (!stepped || now_s < warm_up_s_) return {};
    const Reading reading{energy_j, now_s, ended};
    if (!first_) first_ = reading;
    const double window_s = now_s - first_->at_s;
    if (window_s < window_s_ || ended == first_->ended) return {};
    const double joules = energy_j - first_->energy_j;
    if (joules > max_w_ * window_s) {
      first_ = reading;
      return {};
    }
    return Energy{joules / window_s, joules / static_cast<double>(ended - first_->ended)};
  }

 private:
  static constexpr double sensor_error = 0.03;
  struct Reading {
    double energy_j, at_s;
    std::uint64_t ended;
  };
  double warm_up_s_, window_s_, max_w_;
  std::optional<double> last_j_;
  std::optional<Reading> first_;
};

}  // namespace occbench
