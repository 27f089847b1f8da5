// The shape rule of every operator, and walks over expression graphs.
// SPDX-License-Identifier: Apache-2.0
#include "dsl/Expr.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

namespace recurra {
namespace {

using Axes = std::vector<std::string>;

bool has(const Axes &axes, const std::string &axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

Axes unite(const Axes &left, const Axes &right) {
  Axes result;
  std::set_union(left.begin(), left.end(), right.begin(), right.end(),
                 std::back_inserter(result));
  return result;
}

Axes without(Axes axes, const std::string &axis) {
  std::erase(axes, axis);
  return axes;
}

bool isCondition(const NodeRef &node) {
  return node->op == Op::Less || node->op == Op::LessEqual;
}

/// Where `axis` was reduced away below `node`, for the message.
const Node *earlierReduction(const NodeRef &node, const std::string &axis) {
  for (const NodeRef &inner : operandsFirst({node})) {
    bool reduces = inner->op == Op::Sum || inner->op == Op::Mean ||
                   inner->op == Op::MaxOver;
    if (reduces && inner->axis == axis) {
      return inner.get();
    }
  }
  return nullptr;
}

std::string place(const SourceLocation &location) {
  return location.line == 0
             ? "before"
             : "at " + location.file + ":" + std::to_string(location.line);
}

void requireAxis(const Node &node) {
  const NodeRef &operand = node.operands[0];
  if (has(operand->axes, node.axis)) {
    return;
  }
  std::string what(spelling(node.op));
  std::string message = what + " over axis '" + node.axis + "' of a value ";
  message += "with axes " + listAxes(operand->axes) + "; ";
  if (const Node *earlier = earlierReduction(operand, node.axis)) {
    message += "the axis was reduced already " + place(earlier->location) +
               ", and can be reduced once; remove one of the two";
  } else {
    message += "the value must have the axis; multiply by a value over " +
               node.axis + " first, or name another axis";
  }
  throw UserError(node.location, message);
}

void checkConditions(const Node &node) {
  for (std::size_t i = 0; i < node.operands.size(); ++i) {
    bool wanted = node.op == Op::Select && i == 0;
    if (isCondition(node.operands[i]) == wanted) {
      continue;
    }
    throw UserError(
        node.location,
        wanted ? "the condition of select is a number; it must be a "
                 "comparison; write select(x > 0, a, b)"
               : "a comparison is used as a number by '" +
                     std::string(spelling(node.op)) +
                     "'; only select reads one; write select(condition, 1, 0)");
  }
}

void checkRename(const Node &node) {
  if (has(node.operands[0]->axes, node.target)) {
    throw UserError(node.location,
                    "rename of axis '" + node.axis + "' to '" + node.target +
                        "', which the value has already; the new axis must "
                        "be absent; sum over one of them first");
  }
}

void checkIndex(const Node &node) {
  if (node.index < 0 || node.index > 15) {
    throw UserError(node.location,
                    "at(" + node.axis + ", " + std::to_string(node.index) +
                        "); an entry is a number from 0 to 15; use an axis "
                        "of at most 16 entries");
  }
}

Axes axesOf(const Node &node) {
  Axes all;
  for (const NodeRef &operand : node.operands) {
    all = unite(all, operand->axes);
  }
  switch (node.op) {
  case Op::Sum:
  case Op::Mean:
  case Op::MaxOver:
  case Op::At:
    return without(all, node.axis);
  case Op::Rename:
    return unite(without(all, node.axis), {node.target});
  case Op::Input:
  case Op::State:
    all = node.axes;
    std::sort(all.begin(), all.end());
    return all;
  default:
    return all;
  }
}

bool actsOnAxis(Op op) {
  switch (op) {
#define X(Name, Text) case Op::Name:
    RECURRA_AXIS_OPS(X)
#undef X
  case Op::Rename:
  case Op::At:
    return true;
  default:
    return false;
  }
}

} // namespace

std::string_view spelling(Op op) {
  switch (op) {
  case Op::Constant:
    return "constant";
  case Op::Input:
    return "input";
  case Op::State:
    return "state";
  case Op::Extent:
    return "extent";
  case Op::Rename:
    return "rename";
  case Op::At:
    return "at";
  case Op::Select:
    return "select";
#define X(Name, Text)                                                          \
  case Op::Name:                                                               \
    return Text;
    RECURRA_UNARY_OPS(X) RECURRA_BINARY_OPS(X) RECURRA_AXIS_OPS(X)
#undef X
  }
  return "";
}

NodeRef makeNode(Node node) {
  for (const NodeRef &operand : node.operands) {
    if (!operand) {
      throw UserError(node.location,
                      "an operand of '" + std::string(spelling(node.op)) +
                          "' has no value yet; a value must be defined "
                          "before it is used; move its definition up");
    }
  }
  if (node.op == Op::Constant && !std::isfinite(node.value)) {
    throw UserError(node.location,
                    "a constant is infinite or NaN; constants are finite; "
                    "write a large number such as -1e30");
  }
  checkConditions(node);
  if (actsOnAxis(node.op)) {
    requireAxis(node);
  }
  if (node.op == Op::Rename) {
    checkRename(node);
  }
  if (node.op == Op::At) {
    checkIndex(node);
  }
  node.axes = axesOf(node);
  return std::make_shared<const Node>(std::move(node));
}

std::vector<NodeRef> operandsFirst(const std::vector<NodeRef> &roots) {
  std::vector<NodeRef> order;
  std::unordered_set<const Node *> seen;
  auto visit = [&](auto &&self, const NodeRef &node) -> void {
    if (!node || !seen.insert(node.get()).second) {
      return;
    }
    for (const NodeRef &operand : node->operands) {
      self(self, operand);
    }
    order.push_back(node);
  };
  for (const NodeRef &root : roots) {
    visit(visit, root);
  }
  return order;
}

std::string listAxes(const std::vector<std::string> &axes) {
  std::string text = "{";
  for (const std::string &axis : axes) {
    text += (text.size() > 1 ? ", " : "") + axis;
  }
  return text + "}";
}

} // namespace recurra
