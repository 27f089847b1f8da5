// What the tokens of a span add to states that start at zero: which outer
// products that is, and where their vectors lie.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/ScanSpanKernels.h"

using namespace mlir;

namespace recurra::cuda {

using Kind = Node::Kind;

/// Parts of bf16 that a vector has as it is in memory.
static std::int64_t naturalParts(const SpanFactor &factor) {
  constexpr std::int64_t ofFloat = 3, ofHalf = 2;
  if (factor.vectors.empty()) {
    return 1;
  }
  const Node *vector = factor.vectors.front();
  if (factor.vectors.size() > 1 || vector->kind != Kind::CopyIn) {
    return ofFloat;
  }
  auto load = cast<chunk::LoadOp>(vector->op);
  Type element = load.getBuffer().getType().getElement();
  return element.isBF16() ? 1 : element.isF16() ? ofHalf : ofFloat;
}

/// Which vector takes the decay: the one along its axis; else, the one that has
/// more parts anyway; else the shorter one.
bool SpanLocals::isRowScaled(const SpanFactor &row,
                             const SpanFactor &column) const {
  if (form.hasVectorDecay()) {
    return form.isRow(form.decay);
  }
  std::int64_t ofRow = naturalParts(row), ofColumn = naturalParts(column);
  return ofRow != ofColumn ? ofRow > ofColumn : tiles.rows() < tiles.columns();
}

unsigned SpanLocals::factorNumber(const SpanFactor &wanted) {
  auto areSame = [](ArrayRef<const Node *> x, ArrayRef<const Node *> y) {
    return x.size() == y.size() && llvm::all_of(llvm::zip(x, y), [](auto pair) {
             return isSame(std::get<0>(pair), std::get<1>(pair));
           });
  };
  auto found = llvm::find_if(factors, [&](const SpanFactor &known) {
    return known.isRow == wanted.isRow && known.isScaled == wanted.isScaled &&
           known.isNegative == wanted.isNegative &&
           areSame(known.vectors, wanted.vectors) &&
           areSame(known.numbers, wanted.numbers);
  });
  if (found == factors.end()) {
    factors.push_back(wanted);
    return factors.size() - 1;
  }
  return found - factors.begin();
}

bool SpanLocals::findProduct(unsigned state, const AffineStep::Term &term) {
  SpanFactor row, column;
  row.isRow = true;
  SmallVector<const Node *, 2> scalars;
  for (const Node *node : {term.a, term.b}) {
    if (!node) {
      continue;
    }
    node = peel(node);
    if (form.isMatrix(node)) {
      return false;
    }
    (form.isRow(node)      ? row.vectors
     : form.isColumn(node) ? column.vectors
                           : scalars)
        .push_back(node);
  }
  SpanFactor &scaled = isRowScaled(row, column) ? row : column;
  scaled.isScaled = form.decay || !scalars.empty() || term.isNegative;
  scaled.isNegative = term.isNegative;
  scaled.numbers = scalars;
  for (SpanFactor *factor : {&row, &column}) {
    factor->parts = factor->isScaled ? 3 : naturalParts(*factor);
  }
  products.push_back({state, factorNumber(row), factorNumber(column)});
  return true;
}

bool SpanLocals::findProducts() {
  factors.clear();
  products.clear();
  for (auto [i, state] : llvm::enumerate(form.states)) {
    for (const AffineStep::Term &term : state.step.terms) {
      if (!findProduct(i, term)) {
        return false;
      }
    }
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

std::int64_t SpanLocals::tilesOf(const SpanFactor &factor) const {
  return factor.isRow ? tiles.rows() / 16 : tiles.columns() / 8;
}

/// Of a vector decay: what is left of each entry at the span's end.
std::int64_t SpanLocals::factorFloats() const {
  return form.hasVectorDecay() ? scanUnit * decayWidth() : 0;
}

std::int64_t SpanLocals::sharedBytes() const {
  std::int64_t floats =
      form.spanTokens * tokenNumbers + 2 * unitWords + factorFloats();
  return ceilDiv(4 * floats, 128) * 128 + rawBytes;
}

/// Runs the printers for the numbers that they ask for; their text is dropped.
bool SpanLocals::layOut() {
  KernelText kept = f.text;
  raws.clear();
  rawBytes = unitWords = 0;
  values.operands.clear();
  for (SpanFactor &factor : factors) {
    factor.offset = unitWords;
    unitWords += factor.parts * tilesOf(factor) * 32 * (factor.isRow ? 4 : 2);
    valueOf(factor);
  }
  if (form.hasVectorDecay()) {
    logOf("i");
  }
  bool isPlain = placeNumbers();
  f.text = kept;
  for (const SpanFactor &factor : factors) {
    llvm::for_each(factor.vectors, [&](const Node *node) { addVectors(node); });
  }
  if (form.hasVectorDecay()) {
    addVectors(form.decay);
  }
  return isPlain;
}

bool SpanLocals::isPrintable() {
  return !form.isReverse && !form.hasMatrixDecay && form.isBySequence() &&
         findProducts() && layOut() && sharedBytes() <= mostShared;
}

} // namespace recurra::cuda
