// How one value of a step depends on a state: affine (and with which kinds of
// coefficients), max-plus, fractional, or not at all.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/rec/Rec.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <string>
#include <vector>

namespace recurra {

/// p * sum over `summed` of (e * x): a contraction of the state.
struct Contraction {
  rec::Axes outer = {}; ///< axes of p
  rec::Axes inner = {}; ///< axes of e
  rec::Axes summed = {};
};

struct Transition {
  enum Kind { Free, Affine, MaxPlus, Fractional, Nonlinear };
  static constexpr int elementwise = 1000; ///< an offset of no small rank

  Kind kind = Free;
  bool diagonal = false;                          ///< has a term factors * x
  llvm::SmallVector<mlir::Value, 2> factors = {}; ///< of the diagonal term
  std::vector<Contraction> contractions = {};
  int offset = 0;          ///< rank of what does not depend on the state
  std::string reason = {}; ///< Nonlinear: the first op that is

  bool isIdentity() const {
    return kind == Affine && diagonal && factors.empty() &&
           contractions.empty() && offset == 0;
  }
};

/// Propagates transitions forward from some base values (a state, or a later
/// version of it), which count as x.
class Propagation {
public:
  Propagation(rec::ScanOp scan, llvm::ArrayRef<mlir::Value> bases);

  const Transition &of(mlir::Value value);
  bool isFree(mlir::Value value) { return of(value).kind == Transition::Free; }
  /// From now on `value` does not depend on x: a cut behind which any function
  /// of it is allowed.
  void cut(mlir::Value value) { known[value] = Transition(); }

private:
  Transition compute(mlir::Operation *op);
  Transition add(mlir::Operation *op);
  Transition multiply(mlir::Value state, mlir::Value factor);
  Transition divide(rec::DivOp op);
  Transition largest(rec::MaxOp op);
  Transition summed(rec::SumOp op);
  Transition nonlinear(mlir::Operation *op);
  int rank(mlir::Value value);

  rec::ScanOp scan;
  rec::Axes axes; ///< of x
  llvm::DenseMap<mlir::Value, Transition> known;
};

} // namespace recurra
