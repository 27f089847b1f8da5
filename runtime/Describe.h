// What the door says in JSON about kernels, the process and the machine.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/Artifact.h"
#include "runtime/Status.h"

namespace recurra {

/// Arguments, workspaces, checkpoint interval and plan of an artifact.
std::string describeArtifact(const Artifact &artifact);

/// The description of what the door's two texts compile to, planned once and
/// then remembered. Throws UserError if the definition does not parse.
Status describeTexts(const std::string &text, const std::string &specText);

std::string describeCounters();

/// Version, LLVM, processor, cache.
std::string describeProcess();

} // namespace recurra
