// The CUDA target: `chunk` printed as CUDA C++, compiled by NVRTC.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/target/Target.h"

namespace recurra {

const Target &cudaTarget();

} // namespace recurra
