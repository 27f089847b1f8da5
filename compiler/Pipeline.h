// The order of the passes: one function per phase, each registered by name
// with recurra-opt, and the dialects that they need.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"

namespace recurra {

/// rec, chunk, and the upstream dialects that programs in them use; without
/// those of the first two that `hidden` names.
void registerDialects(mlir::DialectRegistry &registry,
                      llvm::ArrayRef<std::string> hidden = {});

/// Imported `rec` to the form that everything later starts from: states made
/// linear, nothing dead, products in a cheap order.
void addLinearPhase(mlir::OpPassManager &passes);

/// A forward function of that form to its backward function.
void addBackwardPhase(mlir::OpPassManager &passes);

/// Every pass, and the phases `phase-linear` and `phase-backward`, by name, for
/// recurra-opt; once per process.
void registerPasses();

} // namespace recurra
