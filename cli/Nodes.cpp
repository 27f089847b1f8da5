// Nodes: a walk over shared expression graphs.
// SPDX-License-Identifier: Apache-2.0
#include "cli/Nodes.h"

#include <unordered_set>

namespace recurra::cli {

void forEachNode(std::vector<NodeRef> roots,
                 const std::function<void(const Node &)> &visit) {
  std::unordered_set<const Node *> seen;
  while (!roots.empty()) {
    NodeRef node = roots.back();
    roots.pop_back();
    if (seen.insert(node.get()).second) {
      visit(*node);
      roots.insert(roots.end(), node->operands.begin(), node->operands.end());
    }
  }
}

std::vector<NodeRef> rootsOf(const Recurrence &recurrence, bool wantedOnly) {
  std::vector<NodeRef> roots;
  for (const State &state : recurrence.states) {
    roots.push_back(state.next);
  }
  for (const Output &output : recurrence.outputs) {
    if (!output.optional || !wantedOnly) {
      roots.push_back(output.value);
    }
  }
  return roots;
}

} // namespace recurra::cli
