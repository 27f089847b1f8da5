// Products and affine forms read off `rec` values by syntax. What is built from
// them is proved by FieldEvaluation.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/rec/Rec.h"

#include <vector>

namespace recurra {

/// sign * product of `top` / product of `bottom`.
struct Product {
  llvm::SmallVector<mlir::Value> top = {}, bottom = {};
  bool negative = false;

  /// Multiplies or divides by another product, cancelling equal factors.
  Product &operator*=(const Product &other);
  Product inverse() const { return {bottom, top, negative}; }
};

/// The factors of a value: through mul, div, neg and broadcast.
Product factorsOf(mlir::Value value);

/// value = (sum of slope) * x + (sum of offset), slope and offset free of x.
struct AffineForm {
  std::vector<Product> slope = {}, offset = {};
};

/// Whether the definition of `value` reaches `leaf`.
bool dependsOn(mlir::Value value, mlir::Value leaf);

/// Reads off the form; nothing if `value` is not visibly affine in `x`.
std::optional<AffineForm> affineIn(mlir::Value x, mlir::Value value);

} // namespace recurra
