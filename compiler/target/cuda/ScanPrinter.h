// A nest in scan form as a CUDA kernel. One block walks one task's tokens; its
// warps have roles: some prepare vectors, some walk with the matrices in
// registers, some add up partial sums and store results.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/Artifact.h"
#include "compiler/target/cuda/KernelFrame.h"
#include "compiler/target/cuda/ScanValues.h"

namespace recurra::cuda {

class ScanPrinter {
public:
  /// `buffers` names the arguments and workspaces that the nest uses.
  ScanPrinter(const ScanForm &form, const ScanTiles &tiles, Nest &nest,
              const cpu::AxisOrder &order);

  /// False if the form's sums do not fit; then nothing is printed.
  bool isPrintable();
  std::string print(mlir::func::FuncOp function);

private:
  struct Raw { ///< a token's vector as it lies in the user's memory
    const Node *load = nullptr;
    std::string name;
    std::int64_t pitch = 0, offset = 0; ///< elements, bytes
    bool isTraced = false; ///< needed to walk to the segments' ends
  };

  // Layout of shared memory.
  void collect();
  void placeSums();
  void placeOperands();
  void placeRaw();
  std::int64_t sharedBytes() const;

  // Text that all roles share.
  void printHead();
  void printShared();
  void printTask();
  std::string addressOf(mlir::Value buffer, mlir::OperandRange indices,
                        llvm::StringRef token, llvm::StringRef row,
                        llvm::StringRef column);
  std::string boundary(const Node *node, llvm::StringRef row,
                       llvm::StringRef column);
  std::string rowsHere() { return countOf(form.rows, form.rowExtent); }
  std::string columnsHere() { return countOf(form.columns, form.columnExtent); }
  std::string countOf(mlir::StringAttr axis, std::int64_t extent);
  bool isPadded(mlir::StringAttr axis, std::int64_t width) const;
  std::string numbered(llvm::StringRef action, llvm::StringRef event) const;
  std::string syncProducers() const;
  void openTasks();
  void openUnits(const std::string &wait);
  void closeUnits();
  void openRole(llvm::StringRef condition, llvm::StringRef comment);
  void openElements();
  void closeElements();
  std::string insideRow(), insideColumn(), inside();
  void unrolled(llvm::StringRef index, std::int64_t count);

  // Warps that prepare.
  void printProducers();
  void printStaged();
  std::string firstChunk();
  void printRuns();
  void printCopies();
  void printScalars();
  void printHeader();
  void printVectors(bool isRow, bool isTraced);
  std::string prepared(const Node *node, llvm::StringRef index);

  // Warps that walk.
  void printWalkers();
  void printInitial();
  void printTrace();
  void printMain();
  void printEnter();
  void printLeave();
  void printTokens();
  void printToken();
  void printRestart();
  void printFetches(bool isTraced);
  void markTraced();
  void printStep(ScanElement &element);
  void printSum(const ScanSum &sum, ScanElement &element);
  void printSlots();
  void printPuts();
  void printFinal();
  void multiplyAll(llvm::StringRef factor, bool ofStates, bool ofAdjoints);
  std::string heldSlot(unsigned state, llvm::StringRef token) const;
  void copyHeld(llvm::StringRef token);
  void loadHeld(llvm::StringRef token);
  void printCut();
  void printExactSum(const ScanSum &sum);
  void loadStates(llvm::StringRef chunk);
  void storeMatrix(const Node *store, llvm::StringRef value);

  // Warps that add.
  void printAdders();
  void printTargets();
  std::int64_t entriesOf(bool isRow) const;
  std::string entryOf(bool isRow, std::int64_t x) const;
  std::int64_t scalarAdder() const { return tiles.adderWarps > 1 ? 1 : 0; }
  void printVectorSums(bool isRow);
  void openGroup();
  void closeGroup();
  void printScalarSums();
  void printStores(ScanSum::Kind kind, std::int64_t x);
  std::string added(const Node *node, llvm::StringRef index);
  std::string sumText(const ScanSum &sum, llvm::StringRef index);
  std::string sumOfVector(const Node *node);
  std::string placeOf(bool isRow) const;
  void printTotals();

  const ScanForm &form;
  ScanTiles tiles;
  Nest &nest;
  KernelFrame f;
  ScanValues values;
  llvm::DenseMap<const Node *, std::string> hints;
  llvm::SmallVector<std::string> stateNames, adjointNames, totalNames;
  llvm::DenseMap<const Node *, std::string> scalars; ///< parameters
  llvm::DenseMap<const Node *, std::string> sumNames;
  /// Of each store: the threads' pointers, and the stride per token.
  llvm::DenseMap<const Node *, std::pair<std::string, std::string>> targets;
  std::vector<Raw> raws;
  std::int64_t tokenFloats = 0, stageFloats = 0, parts = 0, slots = 0;
  std::int64_t warpSums = 0, rawBytes = 0;
  std::string sequenceName;
  bool usesMatrix = false; ///< matrix instructions sum over the columns
  bool isExact = false;    ///< to f32's precision: a vector is f32
};

} // namespace recurra::cuda
