// One call of a kernel: tensors and sizes are checked against the artifact's
// formulas, then its nests run on the caller's pool and memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/LoadedKernel.h"
#include "runtime/Status.h"

namespace recurra {

/// `host` may be null, as may any of its members.
Status launch(const recurra_kernel &kernel, const recurra_tensor *tensors,
              std::int64_t count, const recurra_sizes &sizes,
              const recurra_host *host);

} // namespace recurra
