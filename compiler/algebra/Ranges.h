// Interval arithmetic over `rec`: what the facts about inputs say of a value's
// sign and range, so that a rewrite may rely on it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/rec/Rec.h"
#include "llvm/ADT/DenseMap.h"

#include <limits>

namespace recurra {

/// The reals between two bounds; an open bound does not belong to it.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool lowOpen = false, highOpen = false;

  bool isPositive() const { return low > 0 || (low == 0 && lowOpen); }
  bool isNonNegative() const { return low >= 0; }
  bool isNonPositive() const { return high <= 0; }
  bool isAtMostOne() const { return high <= 1; }

  static Range positive() { return {.low = 0, .lowOpen = true}; }
  static Range nonNegative() { return {.low = 0}; }
  static Range nonPositive() { return {.high = 0}; }
  static Range exactly(double value) { return {value, value}; }
};

/// Ranges of values from the facts of the function's arguments and from what
/// the caller assumes. One object answers for one set of assumptions.
class Ranges {
public:
  /// Takes `range` for granted, whatever the facts or the definition say.
  void assume(mlir::Value value, Range range) { known[value] = range; }

  Range of(mlir::Value value);

private:
  Range compute(mlir::Value value);
  Range ofArgument(mlir::BlockArgument argument);

  llvm::DenseMap<mlir::Value, Range> known;
};

/// Whether `value` is above zero wherever `assumptions` hold. The gates in its
/// definition (exp, sigmoid within [0, 1]) are split at 1/2, each half taken in
/// turn, so that a x + (1 - a) y is seen to be positive for positive x and y.
bool isProvablyPositive(mlir::Value value, const Ranges &assumptions);

/// The same for at least zero.
bool isProvablyNonNegative(mlir::Value value, const Ranges &assumptions);

} // namespace recurra
