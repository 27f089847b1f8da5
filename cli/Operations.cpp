// Operations: a sum over the nodes of the step.
// SPDX-License-Identifier: Apache-2.0
#include "cli/Operations.h"

#include <unordered_set>

namespace recurra::cli {
namespace {

bool isFree(Op op) {
  switch (op) {
  case Op::Constant:
  case Op::Input:
  case Op::State:
  case Op::Extent:
  case Op::Rename:
  case Op::At:
  case Op::Detach:
    return true;
  default:
    return false;
  }
}

} // namespace

double operationsPerToken(const Recurrence &recurrence,
                          const std::map<std::string, std::int64_t> &extents) {
  std::vector<NodeRef> pending;
  for (const State &state : recurrence.states) {
    pending.push_back(state.next);
  }
  for (const Output &output : recurrence.outputs) {
    if (!output.optional) {
      pending.push_back(output.value);
    }
  }
  std::unordered_set<const Node *> seen;
  double total = 0;
  while (!pending.empty()) {
    NodeRef node = pending.back();
    pending.pop_back();
    if (!seen.insert(node.get()).second) {
      continue;
    }
    bool overAxis = !node->axis.empty() && !node->operands.empty();
    const Node &counted = overAxis ? *node->operands[0] : *node;
    double elements = isFree(node->op) ? 0 : 1;
    for (const std::string &axis : counted.axes) {
      elements *= static_cast<double>(extents.at(axis));
    }
    total += elements;
    pending.insert(pending.end(), node->operands.begin(), node->operands.end());
  }
  return total;
}

} // namespace recurra::cli
