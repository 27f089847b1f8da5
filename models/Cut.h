// How long axes are cut into pieces for kernels that run them in parallel.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace recurra {

/// The largest divisor of `count` from `least` to `most`, or else `otherwise`.
int64_t largestDivisor(int64_t count, int64_t least, int64_t most,
                       int64_t otherwise);

} // namespace recurra
