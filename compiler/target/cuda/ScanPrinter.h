// A nest in scan form as a CUDA kernel. One block walks one task's tokens; its
// warps have roles: some prepare vectors, some walk with the matrices in
// registers, some add up partial sums and store results.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/target/cuda/ScanWalkers.h"

namespace recurra::cuda {

class ScanPrinter : ScanWalkers {
public:
  ScanPrinter(const ScanForm &form, const ScanTiles &tiles, Nest &nest,
              const cpu::AxisOrder &order)
      : ScanWalkers(form, tiles, nest, order) {}

  /// False if the form does not fit a block, and why; then nothing may be
  /// printed.
  bool isPrintable(std::string &why);
  /// Whether this one, which then is laid out, can walk ahead of another's
  /// parts: elements go through the same steps.
  bool canGoAheadOf(const ScanPrinter &walk, std::string &why);
  std::string print(mlir::func::FuncOp function);

private:
  bool hasStepsOf(const ScanPrinter &walk) const;

  // Layout of shared memory.
  bool mayMultiply = true; ///< products by matrix instructions
  bool layOut(), layOutStages();
  bool areAdded() const;
  void collectProducts();
  int weightDegree(const ScanSum &sum, int natural) const;
  void collect();
  void collectSums(const Node *node);
  void placeSums();
  void placeOperands();
  void placeRaw();
  void placeFragments();
  std::int64_t sharedBytes() const;
  void printHead();
  void printRoles();
  void printShared();
};

} // namespace recurra::cuda
