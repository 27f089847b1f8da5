// From a module in the llvm dialect to LLVM IR text, assembly text or the
// bytes of a relocatable object.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/target/cpu/CpuArch.h"
#include "mlir/IR/BuiltinOps.h"

namespace recurra {

enum class CodeForm { Ir, Assembly, Object };

/// False, with a message, on failure. `text` receives the text or the bytes.
bool emitCode(mlir::ModuleOp module, const CpuArch &arch, CodeForm form,
              std::string &text, std::string &message);

} // namespace recurra
