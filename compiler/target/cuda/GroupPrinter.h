// A nest of the body graph: one loop nest over a lane's elements, in which
// every node is an expression, then sums over the lanes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/target/cuda/KernelFrame.h"

namespace recurra::cuda {

using NodeHomes = llvm::DenseMap<const cpu::Node *, Home>;
using NodeHints = llvm::DenseMap<const cpu::Node *, std::string>;

class GroupPrinter {
public:
  GroupPrinter(KernelFrame &frame, const cpu::Nest &nest, NodeHomes &homes,
               const NodeHints &hints);
  void print();

private:
  void countUses();
  void declareHomes();
  void preparePointers();
  void printNode(const cpu::Node *node);
  void printReduce(const cpu::Node *node);
  void finishReduce(const cpu::Node *node);
  std::string operand(const cpu::Node *node);
  std::string compute(const cpu::Node *node);
  std::string mask(const cpu::Node *node);
  std::string computeElementwise(const cpu::Node *node);
  std::string computeFast(const cpu::Node *node);
  const cpu::Node *findSigmoid(const cpu::Node *node) const;
  bool crossesLanes(const cpu::Node *reduce) const;
  std::string hintOf(const cpu::Node *node) const;

  KernelFrame &f;
  const cpu::Nest &nest;
  NodeHomes &homes;
  const NodeHints &hints;
  Point point;
  llvm::DenseMap<const cpu::Node *, unsigned> uses;
  llvm::DenseMap<const cpu::Node *, std::string> names; ///< of this point
  llvm::DenseMap<const cpu::Node *, MemoryView> views;
};

/// Where the result of a node lies.
const Home &homeOf(KernelFrame &frame, NodeHomes &homes, const cpu::Node *node);

/// "(a + b)" without its outermost parentheses.
std::string withoutParentheses(const std::string &text);

} // namespace recurra::cuda
