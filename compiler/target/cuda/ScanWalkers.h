// The warps of a scan-form kernel that walk: matrices in registers, token by
// token, and what the layout asks of them before anything is printed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/target/cuda/ScanAdders.h"
#include "compiler/target/cuda/ScanBalance.h"
#include "compiler/target/cuda/ScanElement.h"

namespace recurra::cuda {

class ScanWalkers : protected ScanAdders {
protected:
  using ScanAdders::ScanAdders;

  void printWalkers();
  void prepareElement(ScanElement &element) const;
  std::int64_t leavingOffset();
  void printToken();
  void markTraced();
  void printProducts(ScanElement &element);
  bool isReady(const ScanSum &sum);
  bool canStepInPlace();
  void printStep(ScanElement &element);
  void findTotalBalance();

  /// All states step by instructions, and nothing but ready sums reads what
  /// was before the token.
  bool isInPlace = false;
  /// Of the one total over whole matrices, if it need not be made of them.
  ScanBalance balance;
  /// Those of the walk that this one goes ahead of.
  ScanTiles walkTiles = tiles;
  /// Of each state: its value after additions that are products, if any.
  llvm::SmallVector<std::string> additionNames;

private:
  // Decays that are matrices.
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
  void printExactVectors();
  void printExactVector(const ScanSum &sum);

  // From unit to unit, from token to token.
  std::string laneEntries(bool isRow) const;
  void printPlaces();
  bool areRegistersFull() const;
  void printInitial();
  void printEntered(), printNothingArrived(), printHandedOn();
  void printLeft();
  void loadCarried(llvm::ArrayRef<std::string> matrices,
                   const std::string &own);
  std::string carriedAt(std::size_t matrix);
  void printTrace();
  void printTracedStep();
  void printFragmentStep(const ScanProduct &product, const std::string &name);
  void printFragmentTrace();
  void printMain();
  void printEnter(), printSaved(), printLeave();
  void printTokens(), printGroups(), printGroupsBack();
  void openGroups(const std::string &count);
  bool asksAhead() const;
  void printTokensOfGroup();
  void printRestart();
  void printFetches(bool isTraced);
  void printPicks();
  void printProductFetches(bool isTraced);
  void printMultiply(const ScanProduct &product, const std::string &to);
  ScanElement steppedElement();
  void printStateStep(unsigned i, ScanElement &element);
  void printStepBack();
  void printReadySums();
  void printBalanceStart();
  void printBalanceOfToken();
  void printBalance();
  std::string adjointSum();
  std::string readySum(const ScanSum &sum);
  void printRights();
  void printSum(const ScanSum &sum, ScanElement &element);
  std::string columnOf(std::int64_t slot) const;
  void printSlots();
  void printPuts();
  void printFinal();
  void multiplyAll(llvm::StringRef at, std::int64_t offset, bool ofStates,
                   bool ofAdjoints);
  void multiplyBy(const std::string &factor, bool ofStates, bool ofAdjoints);
  std::string heldSlot(unsigned state, llvm::StringRef token) const;
  void copyHeld(llvm::StringRef token);
  void loadFour(const std::string &matrix, const std::string &from,
                const std::string &value = "four.x[e]");
  void loadHeld(llvm::StringRef token);
  void printCut();
  void printExactSum(const ScanSum &sum);
  void loadStates();
  std::pair<std::string, std::string> elementsFrom(mlir::Value buffer,
                                                   mlir::OperandRange indices,
                                                   llvm::StringRef token);
  void storeMatrix(chunk::StoreOp store, llvm::StringRef value);
};

} // namespace recurra::cuda
