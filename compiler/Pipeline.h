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

/// Every pass and phase by name, for recurra-opt; once per process.
void registerPasses();

} // namespace recurra
