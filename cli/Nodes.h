// The nodes of expressions, each once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dsl/Recurrence.h"

#include <functional>

namespace recurra::cli {

/// Calls `visit` once for each node that the roots are made of.
void forEachNode(std::vector<NodeRef> roots,
                 const std::function<void(const Node &)> &visit);

/// The next values of the states and the values of the outputs; without the
/// optional ones if `wantedOnly`.
std::vector<NodeRef> rootsOf(const Recurrence &recurrence, bool wantedOnly);

} // namespace recurra::cli
