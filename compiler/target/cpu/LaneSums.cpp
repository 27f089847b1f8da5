// From vectors of partial sums to numbers.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cpu/LaneSums.h"

#include "compiler/target/cpu/CopyTile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace recurra::cpu {

void LaneSums::setShape(Shape shape, bool isOneBlock) {
  this->shape = shape;
  this->isOneBlock = isOneBlock;
}

void LaneSums::keep(const Node *node, const View &home) {
  Sum sum{node, home, 0, home.offset};
  int64_t vectors =
      sum.keepsRow() ? shape.blockRows * shape.tokens : shape.tokens;
  sum.partial = f.allocateElements(vectors * f.lanes);
  if (sum.keepsRow()) {
    sum.numbers = f.allocateElements(shape.rows * shape.tokens);
  }
  sums.push_back(sum);
}

Value LaneSums::at(int64_t offset, Value index) {
  View view;
  view.offset = offset;
  return f.pointer(f.basePointer(view), f.element, index);
}

Value LaneSums::pointer(const Node *node, int64_t row, Value position) {
  auto sum = llvm::find_if(
      sums, [&](const Sum &candidate) { return candidate.node == node; });
  Value vector = f.mul(position, f.integer(f.lanes));
  return f.pointer(at(sum->partial, vector), f.element,
                   row * shape.tokens * f.lanes);
}

void LaneSums::fill(const Sum &sum, int64_t vectors) {
  View partial;
  partial.offset = sum.partial;
  fillDense(f, partial, {{StringAttr(), vectors * f.lanes}},
            f.splat(f.neutral(sum.node->isMax)));
}

void LaneSums::startTokens() {
  for (const Sum &sum : sums) {
    if (!sum.keepsRow()) {
      fill(sum, shape.tokens);
    }
  }
}

/// A single block of lanes writes each vector once.
void LaneSums::startRows() {
  for (const Sum &sum : sums) {
    if (sum.keepsRow() && !isOneBlock) {
      fill(sum, shape.blockRows * shape.tokens);
    }
  }
}

/// All rows of the block in one loop: they lie one after the other.
void LaneSums::finishRows(Value row) {
  for (const Sum &sum : sums) {
    if (sum.keepsRow()) {
      finishLaneReduction(f, pointer(sum.node, 0, f.integer(0)),
                          at(sum.numbers, f.mul(row, f.integer(shape.tokens))),
                          shape.blockRows * shape.tokens, sum.node->isMax);
    }
  }
}

void LaneSums::finishTokens() {
  for (const Sum &sum : sums) {
    if (sum.keepsRow()) {
      transpose(sum);
    } else {
      finishLaneReduction(f, pointer(sum.node, 0, f.integer(0)),
                          at(sum.numbers, f.integer(0)), shape.tokens,
                          sum.node->isMax);
    }
  }
}

/// From numbers row by row to a home token by token.
void LaneSums::transpose(const Sum &sum) {
  OpBuilder::InsertionGuard guard(f.b);
  auto loop = [&](int64_t end, int64_t step) {
    auto forOp = scf::ForOp::create(f.b, f.loc, f.integer(0), f.integer(end),
                                    f.integer(step));
    f.b.setInsertionPointToStart(forOp.getBody());
    return forOp.getInductionVar();
  };
  int64_t stride = paddedElements(sum.node->axes, f.lanes);
  Value row = loop(shape.rows, 1);
  Value token = loop(shape.tokens, f.lanes);
  Value from =
      at(sum.numbers, f.add(f.mul(row, f.integer(shape.tokens)), token));
  Value to = at(sum.home.offset, f.add(row, f.mul(token, f.integer(stride))));
  for (int64_t i = 0; i < f.lanes; ++i) {
    f.storeScalar(f.loadScalar(f.pointer(from, f.element, i)),
                  f.pointer(to, f.element, i * stride));
  }
}

} // namespace recurra::cpu
