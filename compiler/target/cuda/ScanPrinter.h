// A nest in scan form as a CUDA kernel. One block walks one task's tokens; its
// warps have roles: some prepare vectors, some walk with the matrices in
// registers, some add up partial sums and store results.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/target/cuda/ScanKernel.h"

namespace recurra::cuda {

class ScanPrinter : ScanKernel {
public:
  ScanPrinter(const ScanForm &form, const ScanTiles &tiles, Nest &nest,
              const cpu::AxisOrder &order)
      : ScanKernel(form, tiles, nest, order) {}

  /// False if the form's sums do not fit; then nothing may be printed.
  bool isPrintable();
  std::string print(mlir::func::FuncOp function);

private:
  // Layout of shared memory.
  bool layOut();
  void collectProducts();
  int weightDegree(const ScanSum &sum, int natural) const;
  void collect();
  void collectSums(const Node *node);
  void placeSums();
  void placeOperands();
  void placeRaw();
  std::int64_t sharedBytes() const;
  void printHead();
  void printShared();

  // Warps that prepare.
  void printProducers();
  void printStaged();
  std::string firstChunk();
  void printRuns();
  void printPrefetch();
  void printCopies();
  void printScalars();
  void printPreparedSums();
  std::string scalarText(const ScanOperand &operand);
  void printHeader();
  void printVectors(bool isTraced);
  void printEntry(const std::string &entry, bool isRow, bool isTraced);
  void printEntryStores(bool isRow, bool isTraced, bool padded);
  std::string read(const std::string &expression);
  std::string prepared(const Node *node, llvm::StringRef index);
  void printParts(const std::string &name, const std::string &value,
                  std::int64_t count);
  std::string factorText(const Node *node, int degree, bool padded);
  void printRowWords(bool isTraced, bool padded);
  void printColumnWords(bool isTraced, bool padded);

  // Warps that walk.
  void printWalkers();
  void printInitial();
  void printTrace();
  void printTracedStep();
  void printMain();
  void printEnter();
  void printLeave();
  void printTokens();
  void printTokensOfGroup();
  void printToken();
  void printRestart();
  void printFetches(bool isTraced);
  void markTraced();
  void printPicks();
  void printProductFetches(bool isTraced);
  void printProducts(ScanElement &element);
  void printMultiply(const ScanProduct &product, const std::string &to);
  ScanElement steppedElement();
  bool isReady(const ScanSum &sum);
  bool canStepInPlace();
  void printStep(ScanElement &element);
  void printStepBack();
  void printReadySums();
  void printRights();
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
  void storeMatrix(chunk::StoreOp store, llvm::StringRef value);

  // Warps that add.
  void printAdders();
  void printTargets();
  void printNextTargets();
  std::string entryOf(bool isRow) const;
  std::int64_t entriesPerRound() const;
  std::int64_t scalarAdder() const { return tiles.adderWarps > 1 ? 1 : 0; }
  void printVectorSums(bool isRow);
  void printScalarSums();
  void printStores(ScanSum::Kind kind, std::int64_t x);
  std::string added(const Node *node, llvm::StringRef index);
  std::string knownName(const Node *node);
  std::string addedSum(const Node *node, llvm::StringRef index);
  std::string addedDecay(const Node *node, llvm::StringRef index);
  std::string sumText(const ScanSum &sum, llvm::StringRef index);
  std::string sumOfVector(const Node *node);
  void printTotals();

  /// All states step by instructions, and nothing but ready sums reads what
  /// was before the token.
  bool isInPlace = false;
  /// Of each state: its value after additions that are products, if any.
  llvm::SmallVector<std::string> additionNames;
  llvm::DenseMap<const Node *, std::string> sumNames;
  /// Of each store: a thread's pointer, and strides.
  struct Target {
    std::string name, perToken, perRound;
  };
  llvm::DenseMap<const Node *, Target> targets;
  std::map<std::string, std::string> readNames; ///< of what was read first
  std::string sequenceName; ///< the token whose numbers are prepared
};

} // namespace recurra::cuda
