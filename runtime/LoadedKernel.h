// A compiled op with its code in memory, ready to launch: what the opaque
// handle of the C door points to.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/Artifact.h"
#include "compiler/KernelAbi.h"
#include "compiler/Spec.h"

namespace recurra {
class CudaModule;
} // namespace recurra

/// Never destroyed: callers hold the address, and code may be running.
struct recurra_kernel {
  recurra::Spec spec;
  recurra::Artifact artifact;
  std::vector<recurra::NestEntry> entries; ///< cpu: one per Artifact::nests
  recurra::CudaModule *module = nullptr;   ///< cuda
};
