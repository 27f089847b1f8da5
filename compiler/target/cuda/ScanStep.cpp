// Equality of nodes in two bodies, and taking a step apart.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/ScanStep.h"

using namespace mlir;

namespace recurra::cuda {

using Kind = Node::Kind;

StringRef opOf(const Node *node) {
  return node->kind == Kind::Elementwise ? node->name->getStringRef() : "";
}

const Node *peel(const Node *node) {
  while (node->kind == Kind::Broadcast ||
         (node->kind == Kind::Mask && !node->isMax)) {
    node = node->operands[0];
  }
  return node;
}

Node *peel(Node *node) {
  return const_cast<Node *>(peel(static_cast<const Node *>(node)));
}

//===----------------------------------------------------------------------===//
// Equality of nodes
//===----------------------------------------------------------------------===//

bool hasSum(const Node *node) {
  return node->kind == Kind::Reduce || llvm::any_of(node->operands, hasSum);
}

static bool isSameLoad(const Node *a, const Node *b) {
  auto one = cast<chunk::LoadOp>(a->op), other = cast<chunk::LoadOp>(b->op);
  if (one.getBuffer() != other.getBuffer() ||
      one.getResult().getType() != other.getResult().getType()) {
    return false;
  }
  // Of the same token, in two loops over it; all else alike.
  for (auto [x, y] : llvm::zip(one.getIndices(), other.getIndices())) {
    bool isToken = cast<chunk::SpanType>(x.getType()).getAxis() == "T";
    if (x != y && !isToken) {
      return false;
    }
  }
  return true;
}

static bool areSame(ArrayRef<Node *> a, ArrayRef<Node *> b) {
  return a.size() == b.size() && llvm::all_of(llvm::zip(a, b), [](auto pair) {
           return isSame(std::get<0>(pair), std::get<1>(pair));
         });
}

bool isSame(const Node *a, const Node *b) {
  a = peel(a);
  b = peel(b);
  if (a == b) {
    return true;
  }
  if (a->kind != b->kind) {
    return false;
  }
  switch (a->kind) {
  case Kind::CopyIn:
    return isSameLoad(a, b);
  case Kind::Known:
    return a->value == b->value;
  case Kind::Constant:
    return a->attributes == b->attributes;
  case Kind::Reduce:
    return a->isMax == b->isMax && a->axes == b->axes &&
           areSame(a->operands, b->operands);
  case Kind::Elementwise: {
    if (a->name != b->name || a->attributes != b->attributes) {
      return false;
    }
    StringRef op = opOf(a);
    bool commutes = op == "arith.mulf" || op == "arith.addf";
    return areSame(a->operands, b->operands) ||
           (commutes && isSame(a->operands[0], b->operands[1]) &&
            isSame(a->operands[1], b->operands[0]));
  }
  default:
    return false;
  }
}

//===----------------------------------------------------------------------===//
// Affine steps
//===----------------------------------------------------------------------===//

bool dependsOn(const Node *node, function_ref<bool(const Node *)> isState) {
  return isState(node) || llvm::any_of(node->operands, [&](Node *operand) {
           return dependsOn(operand, isState);
         });
}

bool decompose(Node *node, function_ref<bool(const Node *)> isState,
               AffineStep &step) {
  node = peel(node);
  if (isState(node)) {
    return !std::exchange(step.hasState, true);
  }
  if (!dependsOn(node, isState)) {
    step.terms.push_back({node});
    return true;
  }
  StringRef op = opOf(node);
  auto scale = [&](Node *factor, Node *other) {
    return !dependsOn(factor, isState) && isState(peel(other)) &&
           !step.factor && !std::exchange(step.hasState, true) &&
           (step.factor = factor);
  };
  if (op == "arith.mulf") {
    return scale(node->operands[0], node->operands[1]) ||
           scale(node->operands[1], node->operands[0]);
  }
  if (op == "arith.addf") {
    return decompose(node->operands[0], isState, step) &&
           decompose(node->operands[1], isState, step);
  }
  if (op == "arith.subf" && !dependsOn(node->operands[1], isState)) {
    step.terms.push_back({node->operands[1], nullptr, true});
    return decompose(node->operands[0], isState, step);
  }
  if (op == "math.fma") {
    Node *a = node->operands[0], *b = node->operands[1];
    if (!dependsOn(a, isState) && !dependsOn(b, isState)) {
      step.terms.push_back({a, b});
      return decompose(node->operands[2], isState, step);
    }
    return (scale(a, b) || scale(b, a)) &&
           decompose(node->operands[2], isState, step);
  }
  return false;
}

/// Terms as products: a lone product node is one of its factors.
void splitProducts(AffineStep &step) {
  for (AffineStep::Term &term : step.terms) {
    Node *node = peel(term.a);
    if (!term.b && opOf(node) == "arith.mulf") {
      term.a = node->operands[0];
      term.b = node->operands[1];
    }
  }
}

static bool areSame(const AffineStep::Term &x, const AffineStep::Term &y) {
  if (x.isNegative != y.isNegative || !x.b != !y.b) {
    return false;
  }
  return x.b ? (isSame(x.a, y.a) && isSame(x.b, y.b)) ||
                   (isSame(x.a, y.b) && isSame(x.b, y.a))
             : isSame(x.a, y.a);
}

bool areSame(const AffineStep &x, const AffineStep &y) {
  if (!x.factor != !y.factor || (x.factor && !isSame(x.factor, y.factor)) ||
      x.terms.size() != y.terms.size()) {
    return false;
  }
  return llvm::all_of(x.terms, [&](const AffineStep::Term &term) {
    return llvm::any_of(y.terms, [&](const AffineStep::Term &other) {
      return areSame(term, other);
    });
  });
}

} // namespace recurra::cuda
