// What the door says in JSON about kernels, the process and the machine.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/Artifact.h"

namespace recurra {

/// Arguments, workspaces, checkpoint interval and plan of an artifact.
std::string describeArtifact(const Artifact &artifact);

std::string describeCounters();

/// Version, LLVM, processor, cache.
std::string describeProcess();

} // namespace recurra
