// A chunk function as a CUDA program: one kernel per top-level forall.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/Artifact.h"
#include "compiler/target/cuda/KernelFrame.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace recurra::cuda {

/// Each kernel behind the head is a program of its own, or all of them are one.
struct Program {
  std::string head;
  std::vector<std::string> kernels; ///< one per nest
  std::vector<Nest> nests; ///< without registers: nothing is compiled yet
  std::vector<Workspace> workspaces; ///< behind those of the function
  std::int64_t spanTokens = 0;       ///< as Artifact has it
  std::int64_t fewHeads = 0;         ///< likewise

  std::string text() const;
};

Program printProgram(mlir::func::FuncOp function);

/// What a plan says of spans, behind the rest.
std::string spansInPlan(const Program &program);

/// Marks a function whose plan has the scan form.
inline constexpr llvm::StringLiteral scanAttr = "cuda.scan";

/// Whether a function's first nest can be printed in scan form; if not, `why`
/// says so for people.
bool hasScanForm(mlir::func::FuncOp function, std::string &why);

/// The arguments that the nest uses, by name.
void printBuffers(mlir::func::FuncOp function, KernelFrame &f);

} // namespace recurra::cuda
