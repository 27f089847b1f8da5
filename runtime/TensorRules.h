// What a launch demands of each tensor: dtype, rank, sizes, memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/CallSizes.h"

namespace recurra {

/// The first broken rule, with the tensor's name and the remedy.
Status checkTensors(const recurra_kernel &kernel, const recurra_tensor *tensors,
                    std::int64_t count, const CallSizes &sizes);

} // namespace recurra
