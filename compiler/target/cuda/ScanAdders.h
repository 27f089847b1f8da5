// The warps of a scan-form kernel that add up sums and store results.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/target/cuda/ScanProducers.h"

namespace recurra::cuda {

class ScanAdders : protected ScanProducers {
protected:
  using ScanProducers::ScanProducers;

  void printAdders();
  void printSumsOfToken();
  void printTotalsOfGroup();
  std::string rowSumsAt(const std::string &token, const std::string &row) const;
  bool beginsAtZero(const ScanCarry &adjoint);

  /// The sums over vectors within a node, those within others first.
  void findWholes(const Node *node,
                  llvm::SmallVectorImpl<const Node *> &found) const;

private:
  void printTargets();
  std::string firstAddress(const Node *node);
  std::int64_t warpsPerToken() const;
  bool hasScalarTotal() const, hasScalarStore() const;
  bool areTogether();
  void printVectorSums(bool isRow);
  void printScalarSums();
  std::string nameOfSum(const Node *node);
  void printNextTargets(), printTargetsOfUnit();
  std::string entryOf(bool isRow) const;
  std::int64_t entriesPerRound() const;
  std::int64_t scalarAdder() const { return tiles.adderWarps > 1 ? 1 : 0; }
  std::string offsetOf(const Node *node, std::int64_t x);
  void printStores(ScanSum::Kind kind, std::int64_t x);
  std::string added(const Node *node, llvm::StringRef index);
  std::string knownName(const Node *node);
  std::string addedSum(const Node *node, llvm::StringRef index);
  std::string addedDecay(const Node *node, llvm::StringRef index);
  std::string sumText(const ScanSum &sum, llvm::StringRef index);
  std::string partOf(const ScanSum &sum) const;
  std::string warpOfRow(const std::string &i) const;
  std::string rowSumText(const ScanSum &sum, const std::string &i);
  void printSumOverColumns(const std::string &name, const std::string &i,
                           const std::string &parts);
  void printSumOverBoth(const ScanSum &sum, const std::string &name,
                        const std::string &of);
  void printSumOverRows(const std::string &name, const std::string &i,
                        const std::string &parts);
  /// Sums over rows that lanes left by fours, for lanes that share them.
  struct ColumnFours {
    std::int64_t firstSlot = 0, sums = 0;
    std::int64_t perLane = 0; ///< fours that a lane left
    std::int64_t shares = 0;  ///< lanes that add the same; 0: not so
    /// Lanes take rows of warps of their own, or else lanes' parts.
    bool sharesRows(const ScanTiles &tiles) const {
      return tiles.warpRows % shares == 0;
    }
  };
  ColumnFours columnFours() const;
  void printColumnFours(const ColumnFours &fours);
  std::string placeOfShare(const ColumnFours &fours) const;
  std::string ownedSum(const ColumnFours &fours, const ScanSum &sum);
  std::string sumOfVector(const Node *node);
  void printWholes(ScanOperand::Kind kind);
  llvm::SmallVector<const Node *> wholesOf(ScanOperand::Kind kind) const;
  std::int64_t entriesOf(bool isRow) const;
  std::string totalEntryOf(std::int64_t x) const;
  void declareTotals();
  void addTotals();
  void addVectorTotals(bool isRow);
  void printTotals(), printSpanTotals();
  void printVectorTotals(bool isRow);
  void printTotal(const Node *node, const std::string &entry);
  std::string timesDecay(const std::string &value, int degree);
  std::string addedScaled(const Node *node);

  llvm::DenseMap<const Node *, std::string> sumNames;
  /// Of each store: a thread's pointer, and strides.
  struct Target {
    std::string name, perToken, perRound;
    std::string element =
        ""; ///< of bytes: what they are, unless they wait as f32
  };
  llvm::DenseMap<const Node *, Target> targets;
  Target printTarget(const Node *node, int wide);
  std::string toItsToken(const Node *node, const Target &target) const;
};

} // namespace recurra::cuda
