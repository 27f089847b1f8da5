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
std::vector<Workspace> spanWorkspaces(mlir::func::FuncOp function,
                                      const ScanForm &form,
                                      const ScanTiles &tiles, const Nest &nest);
void printSpanBuffers(mlir::func::FuncOp function, KernelFrame &f,
                      const ScanForm &form);
/// Where a slot's part of such a workspace begins, for the task at hand.
std::string spanPlace(KernelFrame &f, const ScanForm &form,
                      llvm::StringRef buffer, llvm::StringRef slot);

/// Backward: whether a value changes with what arrives at a span's end.
bool dependsOnAdjoint(const ScanForm &form, const Node *node);
/// The one adjoint that a result behind the loops is made of, if that is so.
std::optional<unsigned> adjointBehind(const ScanForm &form, const Node *node);
/// Stores of such values that are not f32 wait as f32 until all is added.
llvm::SmallVector<const Node *> wideStores(const ScanForm &form);
int widePlace(const ScanForm &form, const Node *store); ///< -1: it is none
/// The address of what waits, from that of the result in `buffer`.
std::string onWide(std::string address, const std::string &buffer, int place);
std::int64_t totalFloats(const ScanForm &form, const ScanTiles &tiles);

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
  void printReverseSteps();
  void printResults();
  void printTotals();
  void printTotalsOf(ScanOperand::Kind kind,
                     llvm::ArrayRef<std::int64_t> places);
  void printTotal(const Node *node);
  std::string factorIndex() const;
};

} // namespace recurra::cuda
