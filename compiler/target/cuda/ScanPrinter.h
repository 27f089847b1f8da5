// A nest in scan form as a CUDA kernel. One block walks one task's tokens; its
// warps have roles: some prepare vectors, some walk with the matrices in
// registers, some add up partial sums and store results.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/target/cuda/ScanAdders.h"
#include "compiler/target/cuda/ScanBalance.h"
#include "compiler/target/cuda/ScanElement.h"

namespace recurra::cuda {

class ScanPrinter : ScanAdders {
public:
  ScanPrinter(const ScanForm &form, const ScanTiles &tiles, Nest &nest,
              const cpu::AxisOrder &order)
      : ScanAdders(form, tiles, nest, order) {}

  /// False if the form does not fit a block, and why; then nothing may be
  /// printed.
  bool isPrintable(std::string &why);
  std::string print(mlir::func::FuncOp function);

private:
  // Layout of shared memory.
  bool layOut();
  bool areAdded() const;
  void collectProducts();
  int weightDegree(const ScanSum &sum, int natural) const;
  void collect();
  void collectSums(const Node *node);
  void placeSums();
  void placeOperands();
  void placeRaw();
  void placeFragments(std::int64_t mostShared);
  std::int64_t sharedBytes() const;
  void printHead();
  void printShared();

  // Decays that are matrices.
  void prepareElement(ScanElement &element) const;
  std::string decayed(const ScanState &state, const std::string &value,
                      ScanElement &element) const;
  void printElementStep(const ScanState &state, const std::string &name,
                        ScanElement &element);
  std::int64_t heldTokens() const;
  void printElementTrace();
  void printUnitTrace();

  // Decays that are vectors.
  std::string fetchFactor(llvm::StringRef at, std::int64_t offset);
  void divideStates(llvm::StringRef at);
  std::int64_t leavingOffset();
  void printExactVectors();
  void printExactVector(const ScanSum &sum);

  // Warps that walk.
  void printWalkers();
  void printInitial();
  void printEntered(), printNothingArrived(), printHandedOn();
  void printTrace();
  void printTracedStep();
  void printFragmentStep(const ScanProduct &product, const std::string &name);
  void printFragmentTrace();
  void printEntering();
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
  void printStateStep(unsigned i, ScanElement &element);
  void printStep(ScanElement &element);
  void printStepBack();
  void printReadySums();
  bool beginsAtZero(const ScanCarry &adjoint);
  void findTotalBalance();
  void printBalanceStart();
  void printBalanceOfToken();
  void printBalance();
  std::string adjointSum();
  std::string readySum(const ScanSum &sum);
  void printRights();
  void printSum(const ScanSum &sum, ScanElement &element);
  void printSlots();
  void printPuts();
  void printFinal();
  void multiplyAll(llvm::StringRef at, std::int64_t offset, bool ofStates,
                   bool ofAdjoints);
  std::string heldSlot(unsigned state, llvm::StringRef token) const;
  void copyHeld(llvm::StringRef token);
  void loadHeld(llvm::StringRef token);
  void printCut();
  void printExactSum(const ScanSum &sum);
  void loadStates();
  std::pair<std::string, std::string> elementsFrom(mlir::Value buffer,
                                                   mlir::OperandRange indices,
                                                   llvm::StringRef token);
  void storeMatrix(chunk::StoreOp store, llvm::StringRef value);

  /// All states step by instructions, and nothing but ready sums reads what
  /// was before the token.
  bool isInPlace = false;
  /// Of the one total over whole matrices, if it need not be made of them.
  ScanBalance balance;
  /// Of each state: its value after additions that are products, if any.
  llvm::SmallVector<std::string> additionNames;
};

} // namespace recurra::cuda
