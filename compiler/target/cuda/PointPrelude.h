// What kernels over points use beside the prelude.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace recurra::cuda {

extern const char *const pointPrelude;

} // namespace recurra::cuda
