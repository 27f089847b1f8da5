// A host for callers without a pool of their own: as many threads as asked for,
// and memory from malloc, full of NaN if wanted.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/recurra.h"

namespace recurra {

class ThreadHost {
public:
  explicit ThreadHost(int threads, bool poison = false)
      : threads(threads), poison(poison) {}
  /// Refers to this object.
  recurra_host host();

private:
  int threads;
  bool poison;
};

} // namespace recurra
