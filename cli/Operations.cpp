// Operations: a sum over the nodes of the step.
// SPDX-License-Identifier: Apache-2.0
#include "cli/Operations.h"

#include "cli/Nodes.h"

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
  double total = 0;
  forEachNode(rootsOf(recurrence, true), [&](const Node &node) {
    bool overAxis = !node.axis.empty() && !node.operands.empty();
    const Node &counted = overAxis ? *node.operands[0] : node;
    double elements = isFree(node.op) ? 0 : 1;
    for (const std::string &axis : counted.axes) {
      elements *= static_cast<double>(extents.at(axis));
    }
    total += elements;
  });
  return total;
}

} // namespace recurra::cli
