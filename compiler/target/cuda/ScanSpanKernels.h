// The kernels around a walk of spans that take all warps of a block alike.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/target/cuda/ScanProducers.h"
#include "compiler/target/cuda/ScanSpans.h"

namespace recurra::cuda {

/// A vector of every token as matrix instructions take it: words of two
/// tokens' entries each, in parts of bf16 that add up to its value.
struct SpanFactor {
  bool isRow = false;
  bool isScaled = false; ///< by the decay up to the span's end, and `numbers`
  bool isNegative = false;
  llvm::SmallVector<const Node *, 2> vectors, numbers; ///< multiplied; none: 1
  std::int64_t parts = 1;
  std::int64_t offset = 0; ///< among the words of a unit
};

/// Kernels that take a span's tokens 16 at a time, all warps alike.
class SpanTokens : protected ScanProducers {
protected:
  using ScanProducers::ScanProducers;

  void addVectors(const Node *node);
  void addFactorVectors(const Node *node);
  bool addSums(const Node *node);
  bool placeNumbers();
  void printRole();
  void printRaws(std::int64_t bytes);
  void printNumbers();
  void printNumberSums();
  void printCopy(const std::string &first);
  void printDecayToEnd(const std::string &whole);
  void printFirstReached();
  void finishNest(const char *suffix, std::int64_t bytes);
  std::int64_t threadCount() const { return 32 * tiles.computeWarps(); }
  std::string threads() const { return number(threadCount()); }

  std::int64_t tokenNumbers = 1; ///< floats per token; the first is the decay
};

class SpanLocals : SpanTokens {
public:
  SpanLocals(const ScanForm &form, const ScanTiles &tiles, Nest &nest,
             const cpu::AxisOrder &order)
      : SpanTokens(form, tiles, nest, order) {}

  /// Whether spans can be cut: states step by outer products of vectors.
  bool isPrintable();
  std::string print(mlir::func::FuncOp function);

private:
  struct Product {
    unsigned state = 0, row = 0, column = 0; ///< of `factors`
  };
  // Layout.
  bool findProducts();
  bool findProduct(unsigned state, const AffineStep::Term &term);
  bool isRowScaled(const SpanFactor &row, const SpanFactor &column) const;
  unsigned factorNumber(const SpanFactor &wanted);
  std::int64_t tilesOf(const SpanFactor &factor) const;
  bool layOut();
  std::int64_t sharedBytes() const;
  std::int64_t factorFloats() const;

  // Text.
  void printHead(mlir::func::FuncOp function);
  void printDecay();
  void printUnits();
  void printVectorDecay();
  void printFactors();
  void printFactor(const SpanFactor &factor);
  std::string valueOf(const SpanFactor &factor);
  void printMultiply();
  void printMultiply(const Product &product);
  void printLocals();

  std::vector<SpanFactor> factors;
  std::vector<Product> products;
  std::int64_t unitWords = 0;
};

/// What is left of a state at each span's end.
class SpanDecays : SpanTokens {
public:
  SpanDecays(const ScanForm &form, const ScanTiles &tiles, Nest &nest,
             const cpu::AxisOrder &order)
      : SpanTokens(form, tiles, nest, order) {}
  std::string print(mlir::func::FuncOp function);
};

class SpanJoiner : ScanKernel {
public:
  SpanJoiner(const ScanForm &form, const ScanTiles &tiles, Nest &nest,
             const cpu::AxisOrder &order)
      : ScanKernel(form, tiles, nest, order) {
    f.spanTokens = 0;
  }
  std::string print(mlir::func::FuncOp function);

private:
  void printHead(mlir::func::FuncOp function);
  void printElement();
  void printStart();
  void printSteps();
  void printResults();
  void printTotals();
  void printTotalsOf(ScanOperand::Kind kind,
                     llvm::ArrayRef<std::int64_t> places);
  void printTotal(const Node *node);
  std::string rowText() const, columnText() const, factorIndex() const;
};

} // namespace recurra::cuda
