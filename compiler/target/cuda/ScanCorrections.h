// Backward, spans are walked side by side as if nothing followed them. What the
// adjoints at a span's end are in truth adds to the gradients of its tokens:
// sums of products with them, scaled by the decay that is left to the end. No
// readout takes part. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/target/cuda/ScanSpanKernels.h"

namespace recurra::cuda {

class SpanCorrector : SpanTokens {
public:
  SpanCorrector(const ScanForm &form, const ScanTiles &tiles, Nest &nest,
                const cpu::AxisOrder &order)
      : SpanTokens(form, tiles, nest, order) {}

  /// Whether the gradients are linear in what arrives, and totals free of it.
  bool isPrintable();
  std::string print(mlir::func::FuncOp function);

private:
  /// An adjoint summed with a product of vectors along one axis.
  struct Contraction {
    unsigned adjoint = 0;
    bool isOverColumns = false;
    llvm::SmallVector<const Node *, 2> weights; ///< none: 1
    std::int64_t weightOffset = 0, partOffset = 0;
  };
  /// An adjoint times a state, summed over both axes.
  struct Pair {
    unsigned adjoint = 0, state = 0;
  };
  /// What is to be added to a value; empty: nothing. It may lack the decay that
  /// states before the token lack.
  struct Delta {
    std::string text;
    bool lacksDecay = false;
  };
  /// An adjoint times factors.
  struct Term {
    bool isNegative = false;
    unsigned adjoint = 0;
    llvm::SmallVector<const Node *, 2> factors;
  };
  // What is to be added.
  bool isCorrected(const Node *node) const;
  bool hasPlainTotals() const;
  bool hasPlainResults() const;
  bool expand(const Node *node, bool isNegative,
              llvm::SmallVectorImpl<Term> &terms) const;
  bool expandProduct(const Node *node, bool isNegative,
                     llvm::SmallVectorImpl<Term> &terms) const;
  std::optional<Delta> delta(const Node *node);
  std::optional<Delta> deltaOfProduct(const Node *node);
  std::optional<Delta> deltaOfSum(const Node *reduce);
  std::optional<Delta> deltaOfTerm(const Node *reduce, const Term &term);
  static std::optional<Delta> combine(const std::optional<Delta> &a,
                                      const std::optional<Delta> &b,
                                      llvm::StringRef sign);
  unsigned contractionNumber(const Contraction &wanted);
  unsigned pairNumber(const Pair &wanted);
  std::string contracted(unsigned number, llvm::StringRef entry);
  bool collectPairs();
  std::optional<std::string> changeOf(const Pair &pair);
  bool layOut();
  void placeContractions();
  std::int64_t sharedBytes() const;

  // Text.
  void printHead(mlir::func::FuncOp function);
  void printTask();
  void printPassed();
  std::string endCondition(const Node *store);
  struct Results {
    std::string result, waiting, condition;
  };
  Results resultsOf(const Node *node, const std::string &first);
  void printAdjoints();
  void printFirstPairs();
  void printUnits();
  void printWeights();
  void printContractions();
  void printContraction(const Contraction &contraction);
  void printVectors(bool isLoad);
  void printWords(const Node *store, bool isLoad);
  void printChanges();
  void printNumberLoads();
  void printNumberStores();
  std::int64_t widthOf(bool isRow) const {
    return isRow ? tiles.rows() : tiles.columns();
  }
  /// Eight tokens' entries of four lanes, two each, meet on no bank.
  static std::int64_t pitchOf(std::int64_t width) {
    return width + (40 - width % 32) % 32;
  }
  std::string endOf(bool isRow) { return isRow ? rowsHere() : columnsHere(); }
  std::string multiplyName() const {
    return isExact ? "multiplyExactly(" : "multiply(";
  }

  std::vector<Contraction> contractions;
  std::vector<Pair> pairs;
  llvm::DenseMap<const Node *, std::string> waitingNames; ///< of words
  bool isOfNumber = false;                                ///< what is stored
  std::int64_t contractedFloats = 0;
};

} // namespace recurra::cuda
