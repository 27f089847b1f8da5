// A chunk function as a CUDA program: one kernel per top-level forall.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/Artifact.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace recurra::cuda {

struct Program {
  std::string text;
  std::vector<Nest> nests; ///< without registers: nothing is compiled yet
};

Program printProgram(mlir::func::FuncOp function);

} // namespace recurra::cuda
