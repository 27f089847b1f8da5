// A small walker of `rec`: one token after another, in double. It judges the
// passes on `rec` by "the same numbers before and after".
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/rec/Rec.h"
#include "dsl/Evaluate.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>

namespace recurra {

/// A real array over sorted axes; of a sequence, one after another per token.
struct RecArray {
  std::vector<double> values;
};

/// Runs a rec function for one head of one sequence.
class RecWalk {
public:
  RecWalk(std::map<std::string, std::int64_t> extents, std::int64_t tokens)
      : extents(std::move(extents)), tokens(tokens) {}

  /// The results of `function`; arrays in the sorted order of their axes.
  std::vector<RecArray> run(mlir::func::FuncOp function,
                            std::vector<RecArray> arguments);

  /// Entries of one value of a type (for a sequence: of one token).
  std::int64_t sizeOf(mlir::Type type) const;
  std::int64_t extentOf(mlir::StringAttr axis) const;

private:
  void visit(mlir::Operation &op);
  void visitScan(rec::ScanOp scan);
  void visitElementwise(mlir::Operation &op);
  void visitReduction(mlir::Operation &op, bool isMax);
  void visitAxes(mlir::Operation &op);

  /// The entry of `value` at the coordinates of a larger axis set.
  std::int64_t offset(mlir::Value value, llvm::ArrayRef<mlir::StringAttr> axes,
                      llvm::ArrayRef<std::int64_t> index) const;
  /// Calls `body` for every index over `axes`, in order.
  void forEach(llvm::ArrayRef<mlir::StringAttr> axes,
               llvm::function_ref<void(llvm::ArrayRef<std::int64_t>)> body);

  std::map<std::string, std::int64_t> extents;
  std::int64_t tokens;
  llvm::DenseMap<mlir::Value, std::vector<double>> values;
};

/// Runs a rec function with rec.* attributes on a whole call: every head of
/// every sequence, results put together, gradients added up as rec.reduce says.
/// Cotangents by output and state name, for a backward function.
struct RecResults {
  Values values;
  Gradients gradients;
};
RecResults walkCall(mlir::func::FuncOp function, const Recurrence &recurrence,
                    const Call &call, const Values &cotangents = {});

} // namespace recurra
