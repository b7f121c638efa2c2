// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/report/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

namespace occbench {

std::optional<std::size_t> terminal_columns(int descriptor) {
  constexpr std::size_t usual = 80;
  if (isatty(descriptor) == 0) return std::nullopt;
  winsize size{};
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 3 ? size.ws_col : usual;
}

}  // namespace occbench
