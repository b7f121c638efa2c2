// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/progress.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

namespace occbench {

namespace {

std::size_t terminal_columns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

Progress::Progress() : terminal_(isatty(STDERR_FILENO) != 0) {}
Progress::~Progress() { clear(); }

double Progress::elapsed_s() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

void Progress::clear() {
  if (terminal_) std::fputs("\r\033[K", stderr);
}

void Progress::advance(const std::string& case_id) {
  ++done_;
  const auto now = Clock::now();
  const auto pause = terminal_ ? std::chrono::milliseconds(100) : std::chrono::milliseconds(5000);
  if (now - last_line_ < pause && done_ != total_) return;
  last_line_ = now;
  const double rate = static_cast<double>(done_) / elapsed_s();
  const double left_s = total_ > done_ ? static_cast<double>(total_ - done_) / rate : 0;
  char figures[96];
  std::snprintf(figures, sizeof figures, "%zu/%zu cases  %.1f/s  %.0f s left  ", done_, total_, rate, left_s);
  std::string line = figures + case_id;
  if (terminal_ && line.size() >= terminal_columns()) line.resize(terminal_columns() - 1);
  std::fprintf(stderr, terminal_ ? "\r\033[K%s" : "%s\n", line.c_str());
  std::fflush(stderr);
}

}  // namespace occbench
