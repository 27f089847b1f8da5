// Declarations and registration of the passes of Passes.td.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/rec/Rec.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace recurra {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/passes/Passes.h.inc"
} // namespace recurra
