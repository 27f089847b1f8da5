// What every printed CUDA program starts with: types of the ABI, conversions,
// and sums over the lanes of a warp.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace recurra::cuda {

extern const char *const prelude;

} // namespace recurra::cuda
