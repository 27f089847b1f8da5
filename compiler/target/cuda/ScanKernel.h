// What the printers of a scan-form kernel's roles share: names, the layout of
// shared memory, addresses, and loops over what a lane holds.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/Artifact.h"
#include "compiler/target/cuda/KernelFrame.h"
#include "compiler/target/cuda/ScanFragments.h"
#include "compiler/target/cuda/ScanValues.h"

namespace recurra::cuda {

class ScanKernel {
protected:
  ScanKernel(const ScanForm &form, const ScanTiles &tiles, Nest &nest,
             const cpu::AxisOrder &order);
  /// The digits of a whole number, as the printed text has them.
  static std::string number(std::int64_t x) { return std::to_string(x); }
  /// The sequence that a task walks along.
  const SequenceText &sequence() { return f.sequences[sequenceSpan()]; }
  mlir::Value sequenceSpan() const;

  // Memory.
  /// One element as an lvalue. Axes that the access keeps are indexed by `row`
  /// and `column`.
  std::string addressOf(mlir::Value buffer, mlir::OperandRange indices,
                        llvm::StringRef token, llvm::StringRef row,
                        llvm::StringRef column);
  /// A tensor's stride along one of its axes.
  std::string strideOf(mlir::Value buffer, llvm::StringRef axis);
  /// A value before or after the loops.
  std::string boundary(const Node *node, llvm::StringRef row,
                       llvm::StringRef column);
  /// Entries of the axes that this block has.
  std::string rowsHere() { return countOf(form.rows); }
  std::string columnsHere() { return countOf(form.columns); }
  bool isPadded(mlir::StringAttr axis) const;
  /// The tiles cover what a block has of a matrix.
  bool holdsMatrix() const;
  /// Where entry i of a vector lies: a lane's entries side by side.
  std::string placeOf(bool isRow) const;
  /// Where the factors lie that enter and leave a token's segment, after the
  /// token's vectors.
  std::int64_t specialOffset() const;
  /// Entries of a vector decay, with what pads them.
  std::int64_t decayWidth() const {
    return values.powerKind() == ScanOperand::Row ? tiles.rows()
                                                  : tiles.columns();
  }
  /// How many such factors: a number to enter, one to leave. Or a vector, which
  /// leads into the segment from its first token; from the others, it is G.
  std::int64_t specialFloats() const {
    return form.hasVectorDecay() ? decayWidth() : 2;
  }
  /// What is kept of the logs of decays in a run, and in the next one.
  std::int64_t logFloats() const;
  /// Floats that a warp's partial sums of one token take, and those before
  /// them: results of matrix instructions.
  std::int64_t partFloats() const;
  /// Where the first and the last weight of a sum over columns lie, and the
  /// zeros that lanes without one read in their place.
  std::pair<std::int64_t, std::int64_t> weightSpan() const;
  std::int64_t zeroFloats() const;
  /// Words that a token's outer products take.
  std::int64_t productFloats() const;
  std::int64_t matrixFloats() const {
    return usesMatrix ? tiles.rowTiles * 128 : 0;
  }
  // Barriers: numbered ones block, with those who arrive and those who wait.
  std::string numbered(llvm::StringRef action, llvm::StringRef event,
                       llvm::StringRef unit = "unit") const;
  std::string stageOfUnit() const;
  std::string syncProducers() const;

  // Loops.
  void openTasks();
  void openUnits(const std::string &wait);
  void closeUnits();
  void openElements();
  void closeElements();
  void unrolled(llvm::StringRef index, std::int64_t count);
  /// The tokens of a group, one after the other; their sums are independent.
  void openGroup(bool mayBeFull = false), closeGroup();
  void openToken(bool mayBeFull = false), printNow(); ///< token p, its operands
  /// A value of the element (a, n, e), 0 where that does not exist.
  std::string guarded(const std::string &value);
  /// Whether an element exists, (a, n, e) or another; empty if all do.
  std::string inside(llvm::StringRef row = "firstRow + 16 * a + e / 2 * 8",
                     llvm::StringRef column = "firstColumn + 8 * n + e % 2");

  const ScanForm &form;
  ScanTiles tiles;
  Nest &nest;
  KernelFrame f;
  ScanValues values;
  ScanFragments fragments;
  llvm::DenseMap<const Node *, std::string> hints;
  llvm::SmallVector<std::string> stateNames, adjointNames, totalNames,
      parameterNames;
  /// Which of a thread's entries of a total that is a vector is meant.
  std::string totalEntry, elementText = "[a][n][e]";
  llvm::DenseMap<const Node *, std::string> scalars; ///< parameters
  std::vector<ScanVector> raws;
  std::int64_t stageCount = 2; ///< units that are prepared or read at a time
  std::int64_t tokenFloats = 0, stageFloats = 0, rawBytes = 0; ///< of operands
  std::int64_t parts = 0, slots = 0, warpSums = 0; ///< of partial sums
  bool usesMatrix = false; ///< matrix instructions sum over the columns
  bool isExact = false;    ///< to f32's precision: a vector is f32

private:
  std::string loopResult(const Node *node) const;
  std::int64_t extentOf(mlir::StringAttr axis) const;
  std::int64_t widthOf(mlir::StringAttr axis) const;
  std::string countOf(mlir::StringAttr axis);
  std::string originOf(mlir::StringAttr axis) const;
  void printPiece();
};

} // namespace recurra::cuda
