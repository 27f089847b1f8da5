// Identity testing: evaluates `rec` values over the field of 2^61 - 1 elements
// at pseudo-random points, so that two rational expressions that agree there
// are equal but for a chance below 1e-15.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/rec/Rec.h"
#include "llvm/ADT/DenseMap.h"

namespace recurra {

/// An integer modulo the prime 2^61 - 1.
struct FieldElement {
  std::uint64_t value = 0;

  static FieldElement of(double number);
  bool operator==(const FieldElement &) const = default;
};

FieldElement operator+(FieldElement x, FieldElement y);
FieldElement operator-(FieldElement x, FieldElement y);
FieldElement operator*(FieldElement x, FieldElement y);
/// x times the inverse of y; 0 where y is 0.
FieldElement operator/(FieldElement x, FieldElement y);

/// One point: a field element per leaf (an argument, or what is bound), the
/// same for every evaluation with the same seed. Elementwise arithmetic is
/// carried out; exp obeys its own algebra (exp(-x) = 1/exp(x), expm1, sigmoid
/// follow from it); whatever else (log, sum over an axis, max) is an opaque
/// function of its operands, which keeps every accepted identity true.
class FieldEvaluation {
public:
  explicit FieldEvaluation(std::uint64_t seed) : seed(seed) {}

  void bind(mlir::Value value, FieldElement element) { known[value] = element; }
  FieldElement of(mlir::Value value);

  /// A pseudo-random element that depends on the seed and `salt` alone.
  FieldElement random(std::uint64_t salt) const;

private:
  FieldElement compute(mlir::Operation *op);
  FieldElement opaque(mlir::Operation *op);
  FieldElement exponential(FieldElement x) const;

  std::uint64_t seed;
  llvm::DenseMap<mlir::Value, FieldElement> known;
};

} // namespace recurra
