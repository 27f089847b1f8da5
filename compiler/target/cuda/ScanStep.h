// A state's step as the algebra sees it: a factor times the old value, plus
// terms; and which nodes of two bodies are alike.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/target/cpu/BodyGraph.h"

namespace recurra::cuda {

using cpu::Axes;
using cpu::Axis;
using cpu::Node;

/// `factor` * x + terms. A term is a product of two nodes, or one node.
struct AffineStep {
  struct Term {
    Node *a = nullptr, *b = nullptr;
    bool isNegative = false;
  };
  Node *factor = nullptr; ///< null: 1
  bool hasState = false;
  llvm::SmallVector<Term, 2> terms;
};

/// The name of an elementwise node's op, else "".
llvm::StringRef opOf(const Node *node);

/// A node without what only puts it on more axes, or masks it.
const Node *peel(const Node *node);
Node *peel(Node *node);

/// A sum is part of it.
bool hasSum(const Node *node);

/// What two bodies compute alike: the same ops on the same loads.
bool isSame(const Node *a, const Node *b);

bool dependsOn(const Node *node,
               llvm::function_ref<bool(const Node *)> isState);

/// False if the node is not affine in each element of the state.
bool decompose(Node *node, llvm::function_ref<bool(const Node *)> isState,
               AffineStep &step);

/// Makes a lone product node its two factors.
void splitProducts(AffineStep &step);

bool areSame(const AffineStep &x, const AffineStep &y);

} // namespace recurra::cuda
