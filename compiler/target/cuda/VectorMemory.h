// The loop over tokens of a kernel in which threads have vectors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/target/cuda/TileMemory.h"
#include "compiler/target/cuda/VectorForm.h"

namespace recurra::cuda {

class VectorMemory : public TileMemory {
public:
  /// The buffers have their names.
  VectorMemory(KernelFrame &frame, const VectorForm &form);

  bool load(chunk::LoadOp op, const Home &home, const Axes &axes) override;
  bool store(chunk::StoreOp op, const Home &home, const Axes &axes) override;
  bool loop(chunk::ForOp op, llvm::ArrayRef<Home> carries) override;

private:
  struct Access {
    std::string buffer, type, wide;
    std::string words;   ///< where a load goes
    std::string pointer; ///< to the next token
    std::string tokenStride, stride;
  };

  Access makeAccess(mlir::Value buffer) const;
  void add(mlir::Operation *op, mlir::Value buffer);
  void printPointers(chunk::ForOp op);
  void printStep(chunk::ForOp op, llvm::ArrayRef<Home> carries);
  void printTakes(const std::string &count);
  void openTokens(const std::string &count);
  void printAdvance(const Access &access);

  KernelFrame &f;
  const VectorForm &form;
  llvm::DenseMap<mlir::Operation *, Access> accesses;
  std::string index; ///< [..] of the words of the present token
  std::string areWide, next;
};

} // namespace recurra::cuda
