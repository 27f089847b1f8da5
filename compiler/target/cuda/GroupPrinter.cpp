// Expressions used once are printed where they are used; others get a name.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/GroupPrinter.h"

#include "compiler/target/cuda/ScalarPrinter.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace recurra::cuda {

using cpu::Node;
using Kind = Node::Kind;

static const char *const minusInfinity = "-__int_as_float(0x7f800000)";

const Home &homeOf(KernelFrame &frame, NodeHomes &homes, const Node *node) {
  bool isValue = node->kind == Kind::Known || node->kind == Kind::LoopResult;
  return isValue ? frame.homes[node->value] : homes[node];
}

std::string withoutParentheses(const std::string &text) {
  if (text.size() < 2 || text.front() != '(') {
    return text;
  }
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth == 0) {
      return i + 1 == text.size() ? text.substr(1, i - 1) : text;
    }
  }
  return text;
}

GroupPrinter::GroupPrinter(KernelFrame &frame, const cpu::Nest &nest,
                           NodeHomes &homes, const NodeHints &hints)
    : f(frame), nest(nest), homes(homes), hints(hints) {
  countUses();
}

void GroupPrinter::countUses() {
  auto visit = [&](auto &self, const Node *node) -> void {
    if (node->floats()) {
      for (const Node *inner : node->operands) {
        self(self, inner);
      }
    } else {
      ++uses[node];
    }
  };
  for (const Node *node : nest.nodes) {
    for (const Node *operand : node->operands) {
      visit(visit, operand);
    }
  }
}

std::string GroupPrinter::hintOf(const Node *node) const {
  auto found = hints.find(node);
  if (found != hints.end()) {
    return found->second;
  }
  StringRef name = node->name ? node->name->getStringRef() : "";
  return node->kind == Kind::Reduce ? node->isMax ? "largest" : "sum"
         : name == "math.exp"       ? "decay"
         : name == "arith.divf"     ? "inverse"
                                    : "x";
}

//===----------------------------------------------------------------------===//
// The loop nest
//===----------------------------------------------------------------------===//

void GroupPrinter::print() {
  declareHomes();
  preparePointers();
  f.openLoops(nest.domain, point);
  for (const Node *node : nest.nodes) {
    printNode(node);
  }
  f.closeLoops(nest.domain);
  for (const Node *node : nest.nodes) {
    if (node->kind == Kind::Reduce) {
      finishReduce(node);
    }
  }
}

void GroupPrinter::declareHomes() {
  for (const Node *node : nest.nodes) {
    bool isReduce = node->kind == Kind::Reduce;
    bool isStored = cpu::isPointwise(node->kind) && node->stored;
    // A number is declared where it is computed.
    if (!isReduce && (!isStored || nest.domain.empty())) {
      continue;
    }
    Home home = f.makeHome(hintOf(node), node->axes);
    std::string start = !isReduce ? "" : node->isMax ? minusInfinity : "0";
    f.declare(home, node->element, start);
    homes[node] = home;
  }
}

void GroupPrinter::preparePointers() {
  for (const Node *node : nest.nodes) {
    if (node->kind == Kind::ScratchLoad) {
      auto load = cast<chunk::LoadOp>(node->op);
      views[node] =
          f.viewOf(load.getBuffer(), load.getIndices(), node->axes, false);
    } else if (node->kind == Kind::ScratchStore) {
      auto store = cast<chunk::StoreOp>(node->op);
      views[node] =
          f.viewOf(store.getBuffer(), store.getIndices(), node->axes, true);
    }
  }
}

void GroupPrinter::printNode(const Node *node) {
  if (node->kind == Kind::Reduce) {
    return printReduce(node);
  }
  if (node->kind == Kind::ScratchStore) {
    f.text.line("narrow(" + f.element(views[node], point) + ", " +
                operand(node->operands[0]) + ");");
    return;
  }
  if (!node->stored && uses.lookup(node) <= 1) {
    return; // printed where it is used, if it is
  }
  std::string value = withoutParentheses(compute(node));
  if (node->stored && !nest.domain.empty()) {
    names[node] = f.at(homes[node], point);
    f.text.line(names[node] + " = " + value + ";");
    return;
  }
  std::string name = f.text.name(hintOf(node));
  f.text.line("const " + f.typeName(node->element) + " " + name + " = " +
              value + ";");
  names[node] = name;
  if (node->stored) {
    homes[node] = Home{name, {}};
  }
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

bool GroupPrinter::crossesLanes(const Node *reduce) const {
  return f.layout.hasLane(nest.domain) && !f.layout.hasLane(reduce->axes);
}

void GroupPrinter::printReduce(const Node *node) {
  std::string value = operand(node->operands[0]);
  if (crossesLanes(node)) {
    for (const Axis &axis : nest.domain) {
      std::string inside = f.isInside(axis, point);
      if (!inside.empty()) {
        std::string outside = node->isMax ? minusInfinity : "0";
        value = "(" + inside + " ? " + value + " : " + outside + ")";
      }
    }
  }
  std::string total = f.at(homes[node], point);
  f.text.line(node->isMax ? total + " = larger(" + total + ", " + value + ");"
                          : total + " += " + withoutParentheses(value) + ";");
}

void GroupPrinter::finishReduce(const Node *node) {
  if (!crossesLanes(node)) {
    return;
  }
  const Home &home = homes[node];
  std::string name = home.name;
  std::string isMax = node->isMax ? "true" : "false";
  if (f.memory) {
    std::string lanes = std::to_string(f.layout.lanes);
    f.text.line("overPoint<" + isMax + ", " + lanes + ">(" + name + ", lane);");
    return;
  }
  if (home.steps.size() > 1) {
    name = "reinterpret_cast<" + f.typeName(node->element) + " (&)[" +
           std::to_string(f.layout.elementsPerLane(node->axes)) + "]>(" + name +
           ")";
  }
  f.text.line("overLanes<" + isMax + ">(" + name + ", lane);");
}

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

std::string GroupPrinter::operand(const Node *node) {
  auto found = names.find(node);
  if (found != names.end()) {
    return found->second;
  }
  if (node->kind == Kind::Constant) {
    return printNumber(node->attributes.get("value"));
  }
  bool isHere = cpu::isPointwise(node->kind) &&
                (node->floats() || llvm::is_contained(nest.nodes, node));
  return isHere ? compute(node) : f.at(homeOf(f, homes, node), point);
}

static bool isOne(const Node *node) {
  return node->kind == Kind::Constant &&
         matchPattern(node->attributes.get("value"), m_OneFloat());
}

static bool isOp(const Node *node, StringRef name) {
  return node->kind == Kind::Elementwise && node->name->getStringRef() == name;
}

/// y, if the node is 1 / (1 + exp(y)) and its parts serve nothing else.
const Node *GroupPrinter::findSigmoid(const Node *node) const {
  const Node *sum = node->operands.back();
  auto isPart = [&](const Node *part, StringRef name) {
    return isOp(part, name) && uses.lookup(part) == 1 && !names.contains(part);
  };
  if (!isOp(node, "arith.divf") || !isOne(node->operands[0]) ||
      !isPart(sum, "arith.addf") || !isOne(sum->operands[0]) ||
      !isPart(sum->operands[1], "math.exp")) {
    return nullptr;
  }
  return sum->operands[1]->operands[0];
}

/// With the functions of the point prelude; empty if it has none for it.
std::string GroupPrinter::computeFast(const Node *node) {
  if (!f.memory || !node->element.isF32()) {
    return "";
  }
  if (const Node *minus = findSigmoid(node)) {
    bool isNegated = isOp(minus, "arith.negf") && !names.contains(minus);
    return isNegated ? "sigmoidOf(" +
                           withoutParentheses(operand(minus->operands[0])) + ")"
                     : "sigmoidOf(-" + operand(minus) + ")";
  }
  if (isOp(node, "arith.divf") && !isOne(node->operands[0])) {
    return "(" + operand(node->operands[0]) + " * reciprocal(" +
           withoutParentheses(operand(node->operands[1])) + "))";
  }
  return "";
}

std::string GroupPrinter::computeElementwise(const Node *node) {
  if (std::string fast = computeFast(node); !fast.empty()) {
    return fast;
  }
  SmallVector<std::string> operands;
  for (const Node *input : node->operands) {
    operands.push_back(operand(input));
  }
  return printScalar(*node, operands);
}

std::string GroupPrinter::mask(const Node *node) {
  const SpanText &span = f.spans[node->span];
  std::string value = operand(node->operands[0]);
  if (span.valid.empty()) {
    return value;
  }
  std::string outside = node->isMax ? minusInfinity : "0";
  for (const Axis &axis : nest.domain) {
    if (axis.name == span.axis) {
      return "(" + f.entry(axis, point) + " < " + span.valid + " ? " + value +
             " : " + outside + ")";
    }
  }
  return value;
}

std::string GroupPrinter::compute(const Node *node) {
  if (node->kind == Kind::Elementwise) {
    return computeElementwise(node);
  }
  if (node->kind == Kind::ScratchLoad) {
    return f.element(views[node], point);
  }
  if (node->kind == Kind::Mask) {
    return mask(node);
  }
  std::string value = operand(node->operands[0]);
  if (node->kind == Kind::Broadcast) {
    return value;
  }
  if (node->kind == Kind::First) {
    const SpanText &span = f.spans[cast<chunk::FirstOp>(node->op).getSpan()];
    return "(" + span.origin + " == 0 ? " + value + " : 0)";
  }
  auto place = cast<chunk::PlaceOp>(node->op);
  Axis placed{place.getAxisAttr(),
              place.getResult().getType().getSize(place.getAxis())};
  return "(" + f.entry(placed, point) +
         " == " + std::to_string(place.getPosition()) + " ? " + value + " : 0)";
}

} // namespace recurra::cuda
