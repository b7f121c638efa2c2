// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/report/progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "benchmarks/report/format.hpp"
#include "benchmarks/report/terminal.hpp"

namespace occbench {

Progress::Progress() : terminal_(isatty(STDERR_FILENO) != 0) {}
Progress::~Progress() { clear(); }

double Progress::elapsed_s() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

void Progress::clear() {
  if (!terminal_) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
}

void Progress::on_case(const std::string& case_id) {
  ++started_;
  if (visits_ == 0) show(case_id);
}

void Progress::on_visit(const std::string& case_id, int round) {
  ++visits_;
  round_ = std::max(round_, round);
  show(case_id);
}

void Progress::on_result(const std::string& case_id, bool launched) {
  ++done_;
  if (launched) ++launched_;
  show(case_id);
}

void Progress::show(const std::string& case_id) {
  const auto now = Clock::now();
  const auto pause = terminal_ ? std::chrono::milliseconds(100) : std::chrono::milliseconds(10'000);
  if (now - last_line_ < pause) return;
  last_line_ = now;
  std::string line = text("%zu/%zu cases", done_, total_);
  if (visits_ > 0) {
    line += text("  round %d  %.0f visits/s  ", round_ + 1, static_cast<double>(visits_) / elapsed_s());
  } else if (launched_ == 0 && started_ > 0) {
    line += text("  verifying %zu  ", started_);
  } else if (launched_ > 0) {  // cases that cannot run take no time, and do not predict the rest
    const double rate = static_cast<double>(launched_) / elapsed_s();
    line += "  " + significant(rate) + "/s  " +
            duration(std::ceil(static_cast<double>(total_ - std::min(done_, total_)) / rate)) + " left  ";
  }
  line += case_id;
  if (const auto columns = terminal_columns(STDERR_FILENO))
    line = clip(line, *columns - 3);  // leaves room for ^C
  std::fprintf(stderr, terminal_ ? "\r\033[K%s" : "%s\n", line.c_str());
  std::fflush(stderr);
}

}  // namespace occbench
