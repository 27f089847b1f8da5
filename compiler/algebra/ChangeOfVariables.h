// Changes of variables that make a state of a scan linear: what to try, and the
// proofs that a try is exact and stays finite. `linearise` carries them out.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/algebra/FieldEvaluation.h"
#include "compiler/algebra/Products.h"

namespace recurra {

/// P, an expression over states (other than the one it multiplies) at one time
/// and over time-constants. It is found in the step either at the start of the
/// token (`atEnd` false) or at its end, read off the states' new values.
struct Multiplier {
  mlir::Value expression;
  bool atEnd = false;
  bool inverted = false; ///< P is 1 / expression
};

/// A multiplier with what the new update needs: X = P x, X' = gain X + P' u.
/// Exactly one of `gain` (a factor of the step; 1 if null) and `gainIsSlope`
/// describes the gain: slope * P' / P, to be cancelled by syntax.
struct MultiplierChange {
  Multiplier multiplier;
  AffineForm update; ///< of x' in x, as written
  mlir::Value gain;
  bool gainIsSlope = false;
};

/// Why there is no change, in the user's words; empty if nothing was tried.
struct Refusal {
  std::string remark;
};

/// A multiplier for state `index` of `scan` that makes its decay lose an axis;
/// proved exact and positive. Nothing, and perhaps a refusal, otherwise.
std::optional<MultiplierChange> findMultiplier(rec::ScanOp scan, unsigned index,
                                               Refusal &refusal);

/// A time-constant phi such that X = x - phi has an update free of phi.
mlir::Value findShift(rec::ScanOp scan, unsigned index);

/// The user's name of an argument, a token's value or a state; "a value" else.
std::string nameOf(mlir::Value value);

} // namespace recurra
