// The body of a chunk loop: its nests in order, copies, inner loops, and the
// carries at its end.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/target/cuda/GroupPrinter.h"

namespace recurra::cuda {

class BlockPrinter {
public:
  BlockPrinter(KernelFrame &frame, mlir::Block &block);

  /// Everything but the yielded values.
  void print();
  /// Assigns what the block yields to the loop's carries.
  void printYields(llvm::ArrayRef<Home> carries);

private:
  void printAlone(cpu::Node &node);
  void printLoad(cpu::Node &node);
  void printStore(cpu::Node &node);
  void printAlias(cpu::Node &node);
  void printRenameOfLanes(cpu::Node &node, chunk::RenameOp op);
  void printIndexOfLanes(cpu::Node &node, chunk::IndexOp op);
  void printScan(cpu::Node &node);
  void printFor(cpu::Node &node);
  void printForall(chunk::ForallOp op, unsigned iterator);
  void bindHomes(const cpu::Node &loop);
  std::string hintOf(const cpu::Node &node, llvm::StringRef otherwise);

  KernelFrame &f;
  cpu::BodyGraph graph;
  NodeHomes homes;
  NodeHints hints;
};

} // namespace recurra::cuda
