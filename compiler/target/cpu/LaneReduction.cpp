// Sums over the lanes of vectors. Sixteen vectors are summed at once by a tree
// of shuffles that ends in one vector of sixteen sums: about two shuffles per
// sum, where one at a time would take four.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cpu/NestEmitter.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace recurra::cpu {

Value reduceLanes(Frame &f, Value vector, bool isMax) {
  for (int64_t width = f.lanes / 2; width >= 1; width /= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t i = 0; i < width; ++i) {
      low.push_back(i);
      high.push_back(i + width);
    }
    Value a = vector::ShuffleOp::create(f.b, f.loc, vector, vector, low);
    Value b = vector::ShuffleOp::create(f.b, f.loc, vector, vector, high);
    vector = f.combine(isMax, a, b);
  }
  return vector::ExtractOp::create(f.b, f.loc, vector, int64_t(0));
}

/// Takes a and b, each holding partial sums at distance `half`: the result has
/// those of a where the lane's bit `half` is 0 and those of b where it is 1.
static Value mergePair(Frame &f, Value a, Value b, int64_t half, bool isMax) {
  SmallVector<int64_t> kept, moved;
  for (int64_t i = 0; i < f.lanes; ++i) {
    bool second = i & half;
    kept.push_back(second ? f.lanes + i : i);
    moved.push_back(second ? f.lanes + i - half : i + half);
  }
  Value x = vector::ShuffleOp::create(f.b, f.loc, a, b, kept);
  Value y = vector::ShuffleOp::create(f.b, f.loc, a, b, moved);
  return f.combine(isMax, x, y);
}

void finishLaneReduction(Frame &f, Value partial, Value target, int64_t count,
                         bool isMax) {
  auto forOp = scf::ForOp::create(f.b, f.loc, f.integer(0), f.integer(count),
                                  f.integer(f.lanes));
  OpBuilder::InsertionGuard guard(f.b);
  f.b.setInsertionPointToStart(forOp.getBody());
  Value first = forOp.getInductionVar();
  Value source =
      f.pointer(partial, f.element, f.mul(first, f.integer(f.lanes)));
  SmallVector<Value> vectors;
  for (int64_t i = 0; i < f.lanes; ++i) {
    vectors.push_back(f.loadVector(f.pointer(source, f.element, i * f.lanes)));
  }
  // After the step of `half`, vector i holds the sums of rows i and i + half.
  for (int64_t half = f.lanes / 2; half >= 1; half /= 2) {
    SmallVector<Value> merged;
    for (int64_t i = 0; i < half; ++i) {
      merged.push_back(
          mergePair(f, vectors[i], vectors[i + half], half, isMax));
    }
    vectors = std::move(merged);
  }
  f.storeVector(vectors[0], f.pointer(target, f.element, first));
}

} // namespace recurra::cpu
