// Divisors.
// SPDX-License-Identifier: Apache-2.0
#include "models/Cut.h"

namespace recurra {

int64_t largestDivisor(int64_t count, int64_t least, int64_t most,
                       int64_t otherwise) {
  for (int64_t divisor = most; divisor >= least; --divisor) {
    if (count % divisor == 0) {
      return divisor;
    }
  }
  return otherwise;
}

} // namespace recurra
