// The kernel of a nest of points.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/Artifact.h"
#include "compiler/target/cuda/PointForm.h"
#include "compiler/target/cuda/TileMemory.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace recurra::cuda {

/// Prints what `form` found, and says in `nest` how to launch it:
/// 1. a worker, the lanes of a point, takes its share of heads, rows, tokens;
/// 2. it loads the next tokens, then computes and stores each.
class PointPrinter : TileMemory {
public:
  PointPrinter(mlir::func::FuncOp function, chunk::ForallOp forall,
               const PointForm &form, Nest &nest, const cpu::AxisOrder &order);
  std::string print();

private:
  /// One load or store: where its entries lie.
  struct Access {
    std::string buffer, type, words, wide;
    std::string pointer;     ///< to the worker's next token
    std::string offset;      ///< of token 0
    std::string tokenStride; ///< empty: all tokens have the same
    std::string stride;      ///< along the axis; empty: a number
  };

  Access makeAccess(mlir::Value buffer, mlir::OperandRange indices,
                    bool isStore);
  void findAccesses();
  void printHead();
  void printShare();
  void printLoops();
  void printPointers();
  void printWords(bool ofToken);
  void printAdvance();
  void printTake(const Access &access);
  void printTokens();
  bool load(chunk::LoadOp op, const Home &home, const Axes &axes) override;
  bool store(chunk::StoreOp op, const Home &home, const Axes &axes) override;
  bool loop(chunk::ForOp op, llvm::ArrayRef<Home> carries) override;
  void openPoints();
  void closePoints();
  std::string address(const Access &access) const;
  std::string vector(const Access &access, llvm::StringRef row) const;
  std::string rowExists(llvm::StringRef row) const;

  mlir::func::FuncOp function;
  chunk::ForallOp forall;
  const PointForm &form;
  Nest &nest;
  KernelFrame f;
  llvm::DenseMap<mlir::Operation *, Access> accesses;
  /// Names of variables.
  std::string share, head, row, isMine, base, token, isHere, next, apart;
};

} // namespace recurra::cuda
