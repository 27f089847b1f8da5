// What programs with kernels of the scan form start with, after the prelude:
// barriers between the roles of a block's warps, copies, matrix instructions.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace recurra::cuda {

extern const char *const scanPrelude;

} // namespace recurra::cuda
