// What is decided before rec-to-chunk, as one value: the form, the axis that
// runs along lanes and is cut into tiles, the spacing of saved states.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/Spec.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace recurra {

/// What a plan may depend on of the target: constants of its architecture, not
/// measurements of one machine, so that one spec gives one order of summation.
struct TargetDescription {
  std::int64_t lanes = 16; ///< f32 elements of a vector
  std::int64_t l1Bytes = 32 * 1024;
  std::int64_t l2Bytes = 1024 * 1024;
  /// Tokens that are recomputed at a time, if the states' entries do not meet.
  std::int64_t tokensOfPart = 64;
  /// Of states, that a lane may keep in registers; 0: tiles are chosen by the
  /// caches. Then `lanes` run along whichever axis suits a tile.
  std::int64_t registersForward = 0, registersBackward = 0;
  /// If the target has the scan form: entries of the axis that a block owns,
  /// for matrices of rows x columns. Forward, outputs are sums over the columns
  /// and blocks own rows; backward, blocks own columns.
  std::int64_t (*scanTile)(std::int64_t rows, std::int64_t columns,
                           std::int64_t states, bool isReverse) = nullptr;
};

/// A state of the recurrence: its axes as the IR names them, in memory order.
struct PlanState {
  std::string name;
  std::vector<std::string> axes;
};

/// `tile` < extent of `axis`: each task owns `tile` entries of it; a tile of 0
/// leaves the axis whole.
struct Plan {
  std::string form = "walk";
  std::string axis;          ///< along the lanes; empty if no value has axes
  bool isFree = false;       ///< the axis may be cut into tiles
  std::int64_t tile = 0;     ///< entries per task, 0 for all
  std::int64_t interval = 0; ///< tokens between saved states
  std::vector<PlanState> states; ///< all that are saved, in declared order
  std::int64_t savedBytes = 0;   ///< of one slot of checkpoints and head
  std::int64_t traceBytes = 0;   ///< of scratch for the trace, per task
  std::string why; ///< what ruled out the scan form, if it was tried
};

/// One line for people: form, axis, tile, interval, bytes.
std::string toText(const Plan &plan);

/// The size of an axis of the IR; axes that the IR renames ("N_") are the
/// user's in the spec. 0 if the spec lacks it.
std::int64_t extentOf(const Spec &spec, llvm::StringRef axis);

/// The states that a scan of `function` carries, if nobody knows better.
std::vector<PlanState> statesOf(mlir::func::FuncOp function);

/// Tokens between saved states. Forward and backward must agree on it, so it
/// depends on the states, the spec's extents and types, and the target alone.
std::int64_t planInterval(llvm::ArrayRef<PlanState> states, const Spec &spec,
                          const TargetDescription &target);

/// The plan of one direction. `states`: all states of the recurrence. Fails,
/// with a diagnostic, if an axis has no extent.
mlir::FailureOr<Plan> makePlan(mlir::func::FuncOp function, const Spec &spec,
                               const TargetDescription &target,
                               llvm::ArrayRef<PlanState> states);

/// The plan in scan form, from the one in walk form; nothing if the states are
/// no matrices that a target with that form can hold.
std::optional<Plan> makeScanPlan(mlir::func::FuncOp function, const Spec &spec,
                                 const TargetDescription &target,
                                 const Plan &walk);

} // namespace recurra
