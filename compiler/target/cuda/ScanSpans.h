// Spans of a sequence's tokens walked side by side, each from the state that
// enters it. Three kernels: what each span adds up to by itself ("locals"), the
// states that enter spans, one span after the other ("join"), then the walk,
// with a task for each span. How spans are cut depends on the form alone.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/target/cuda/ScanProducers.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace recurra::cuda {

extern const char *const spanPrelude;

/// A function's attribute: tokens of a span, if not the usual number.
inline constexpr llvm::StringLiteral spanAttr = "cuda.span";
std::int64_t spanTokensOf(mlir::func::FuncOp function, const ScanForm &form);

/// Beside the function's own: states that enter spans, and what is left of a
/// state at a span's end.
std::vector<Workspace> spanWorkspaces(const ScanForm &form,
                                      const ScanTiles &tiles, const Nest &nest);
void printSpanBuffers(mlir::func::FuncOp function, KernelFrame &f);
/// Where a slot's part of such a workspace begins, for the task at hand.
std::string spanPlace(KernelFrame &f, const ScanForm &form,
                      llvm::StringRef buffer, llvm::StringRef slot);

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

class SpanLocals : ScanProducers {
public:
  SpanLocals(const ScanForm &form, const ScanTiles &tiles, Nest &nest,
             const cpu::AxisOrder &order)
      : ScanProducers(form, tiles, nest, order) {}

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
  void addVectors(const Node *node);
  bool addSums(const Node *node);
  void layOut();
  std::int64_t sharedBytes() const;
  std::int64_t factorFloats() const;

  // Text.
  void printHead(mlir::func::FuncOp function);
  void printNumbers();
  void printNumberSums();
  void printDecay();
  void printCopy();
  void printUnits();
  void printVectorDecay();
  void printFactors();
  void printFactor(const SpanFactor &factor);
  std::string valueOf(const SpanFactor &factor);
  void printMultiply();
  void printMultiply(const Product &product);
  void printLocals();
  std::string threads() const { return number(32 * tiles.computeWarps()); }

  std::vector<SpanFactor> factors;
  std::vector<Product> products;
  std::int64_t tokenNumbers = 1; ///< floats per token; the first is the decay
  std::int64_t unitWords = 0;
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
  std::string factorIndex() const;
};

} // namespace recurra::cuda
