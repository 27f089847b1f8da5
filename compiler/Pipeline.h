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

/// Imported `rec` with its states made linear. Whether a state can be depends
/// on others, so this runs while all of them are alive.
void addLinearise(mlir::OpPassManager &passes);

/// Nothing dead, equal values one, products in a cheap order.
void addTidy(mlir::OpPassManager &passes);

/// Both: imported `rec` to the form that everything later starts from.
void addLinearPhase(mlir::OpPassManager &passes);

/// A forward function of that form to its backward function.
void addBackwardPhase(mlir::OpPassManager &passes);

/// Every pass, and the phases `phase-linear` and `phase-backward`, by name, for
/// recurra-opt; once per process.
void registerPasses();

} // namespace recurra
