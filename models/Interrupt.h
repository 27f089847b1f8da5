// SIGINT and SIGTERM as a request to stop after the step at hand.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>

namespace recurra {

/// While it lives, the first SIGINT or SIGTERM is a request; a second one ends
/// the process. One at a time.
class InterruptGuard {
public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard &) = delete;
  InterruptGuard &operator=(const InterruptGuard &) = delete;

  /// Whether the request came.
  bool requested() const;

private:
  struct sigaction oldInterrupt, oldTerminate;
};

} // namespace recurra
