// Which loops over tokens may be taken apart.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/target/cpu/BodyGraph.h"

namespace recurra::cpu {

/// The nest of a loop's body that steps the states, or null. Entries of the
/// states must not meet in it, but in sums that it only hands on: then blocks
/// of the states may walk over all tokens one after the other.
const Nest *findStateNest(chunk::ForOp loop, BodyGraph &graph);

/// Nothing that the loop reads is made or written by `earlier`.
bool isIndependent(chunk::ForOp loop, chunk::ForOp earlier);

} // namespace recurra::cpu
