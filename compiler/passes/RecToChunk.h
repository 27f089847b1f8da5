// From one token's step to loops over tiles: the walk form, forward and
// checkpointed reverse, and what a launch of the result needs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/Artifact.h"
#include "compiler/passes/Plan.h"

namespace recurra {

/// Puts the chunk function, of the same name, in place of the rec function,
/// which is erased. Fails with a diagnostic.
mlir::FailureOr<mlir::func::FuncOp>
lowerToChunk(mlir::func::FuncOp function, const Spec &spec, const Plan &plan);

/// The arguments of a chunk function, in order.
std::vector<Argument> describeArguments(mlir::func::FuncOp function);

/// Its workspaces, in order of allocation: they follow the arguments.
std::vector<Workspace> describeWorkspaces(mlir::func::FuncOp function);

/// Its top-level foralls: entries "NAME_nest0", .. and their task counts; the
/// scratch bytes are the target's.
std::vector<Nest> describeNests(mlir::func::FuncOp function);

} // namespace recurra
