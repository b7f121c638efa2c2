// SPDX-License-Identifier: Apache-2.0
#include "harness/attach/preload/signal_handler.hpp"

#include <csignal>

namespace occbench::attach {

bool may_be_in_handler(Ending how) noexcept {
  sigset_t blocked;
  if (pthread_sigmask(SIG_SETMASK, nullptr, &blocked) != 0) return true;
  for (int number = 1; number <= SIGRTMAX; ++number) {
    struct sigaction action {};
    if (sigaction(number, nullptr, &action) != 0) continue;  // SIGKILL, SIGSTOP and the C library's signals
    const bool is_caught = action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
    const bool is_blocked = sigismember(&blocked, number) == 1;
    if (is_blocked && is_caught) return true;
    if (how == Ending::exit) continue;
    // SA_RESETHAND has restored the default by now; SA_NODEFER blocks nothing.
    if (is_blocked && action.sa_handler == SIG_DFL) return true;
    if (is_caught && (static_cast<unsigned>(action.sa_flags) & SA_NODEFER) != 0) return true;
  }
  return false;
}

}  // namespace occbench::attach
