// What derive-backward keeps while it goes backwards: which values matter, and
// their cotangents so far.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/rec/Rec.h"
#include "llvm/ADT/DenseSet.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace recurra {

/// The values that depend, differentiably, on an argument whose gradient is
/// wanted; those inside scans too.
class Activity {
public:
  explicit Activity(mlir::func::FuncOp function);

  bool contains(mlir::Value value) const { return active.contains(value); }

private:
  void visit(mlir::Operation *op);
  void visitScan(rec::ScanOp scan);
  bool propagate(mlir::ValueRange from, mlir::ValueRange to);

  llvm::DenseSet<mlir::Value> active;
};

/// Cotangents gathered so far, for values at one level of nesting.
class Cotangents {
public:
  explicit Cotangents(mlir::OpBuilder &builder) : builder(builder) {}

  /// Adds `term`, fitted to the axes of `value`.
  void add(mlir::Value value, mlir::Value term);

  /// Null if there is none.
  mlir::Value find(mlir::Value value) const { return sums.lookup(value); }
  mlir::Value findOrZero(mlir::Value value);
  mlir::Value zero(mlir::Value like);

  /// Runs the rule of one op, if its result has a cotangent.
  void sweep(mlir::Operation *op, llvm::function_ref<bool(mlir::Value)> active);

private:
  mlir::OpBuilder &builder;
  llvm::DenseMap<mlir::Value, mlir::Value> sums;
};

/// The rule of a scan: writes its trace and its reverse scan, takes from
/// `outer` the cotangents of its results and adds those of its operands. The
/// scan itself is left without users.
void differentiateScan(rec::ScanOp scan, const Activity &activity,
                       Cotangents &outer, mlir::OpBuilder &builder);

} // namespace recurra
