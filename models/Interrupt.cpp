// Catches the signals.
// SPDX-License-Identifier: Apache-2.0
#include "models/Interrupt.h"

namespace recurra {
namespace {

volatile std::sig_atomic_t interrupted = 0;

} // namespace

InterruptGuard::InterruptGuard() {
  interrupted = 0;
  struct sigaction action = {};
  action.sa_handler = [](int) { interrupted = 1; };
  action.sa_flags = int(SA_RESETHAND);
  sigaction(SIGINT, &action, &oldInterrupt);
  sigaction(SIGTERM, &action, &oldTerminate);
}

InterruptGuard::~InterruptGuard() {
  sigaction(SIGINT, &oldInterrupt, nullptr);
  sigaction(SIGTERM, &oldTerminate, nullptr);
}

bool InterruptGuard::requested() const { return interrupted != 0; }

} // namespace recurra
