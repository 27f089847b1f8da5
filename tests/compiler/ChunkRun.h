// Runs recurrences through the compiler's passes and the chunk evaluator, on
// the arrays that the oracle takes and gives.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/passes/Plan.h"
#include "dsl/Evaluate.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <functional>

namespace recurra {

/// What a chunk function reads beside the call, and what it writes.
struct ChunkValues {
  Values cotangents;   ///< read
  Arrays checkpoints;  ///< written forward, read backward
  Values values;       ///< written
  Gradients gradients; ///< written
};

/// Evaluates a chunk function whose arguments are named by `chunk.arg`.
/// Returns the evaluator's complaint, or nothing.
std::string runChunk(mlir::func::FuncOp function, const Call &call,
                     ChunkValues &values, unsigned seed = 1);

/// Compiles to chunk with one set of choices, and evaluates in double.
class ChunkRun {
public:
  /// `adjust` may change the plan (both directions') before lowering.
  ChunkRun(const Recurrence &recurrence, const Call &call,
           std::function<void(Plan &)> adjust = {});

  bool linearise = false;
  std::vector<std::string> outputs;     ///< default: all
  std::vector<std::string> finalStates; ///< default: all
  std::vector<std::string> gradients;   ///< default: all
  unsigned seed = 1;

  /// Outputs and final states; `error` is set on failure.
  Values forward();
  /// Gradients, from the checkpoints of a forward run.
  Gradients backward(const Values &cotangents);

  std::string error;
  std::string text; ///< the last chunk function
  std::string plan; ///< the last plan

private:
  Spec makeSpec(Direction direction) const;
  bool runPasses(mlir::ModuleOp module, Direction direction);
  bool lower(Direction direction);

  const Recurrence &recurrence;
  const Call &call;
  std::function<void(Plan &)> adjust;
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<PlanState> states; ///< after the change of variables, if any
  ChunkValues chunkValues;
};

/// The largest |left - right| / max(1, |right|) over all arrays of `right`, and
/// where; infinity if an array is missing or not finite where it should be.
double distance(const Arrays &left, const Arrays &right, std::string &where);

} // namespace recurra
