// The adjoint rule that every differentiable op of `rec` holds.
// SPDX-License-Identifier: Apache-2.0
#ifndef RECURRA_REC_INTERFACES
#define RECURRA_REC_INTERFACES

include "mlir/IR/OpBase.td"

def AdjointOpInterface : OpInterface<"AdjointOpInterface"> {
  let cppNamespace = "::recurra::rec";
  let description = [{
    The reverse-mode rule of an op with one result. `add(operand, term)` adds to
    an operand's cotangent; axes that the operand lacks are then summed away,
    and axes that the term lacks are broadcast, so a rule never mentions axes.
    Ops without the interface (`cmp`, `detach`, `const`, `extent`) pass nothing.
  }];
  let methods = [InterfaceMethod<"", "void", "adjoint",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::Value":$cotangent,
         "::llvm::function_ref<void(::mlir::OpOperand &, ::mlir::Value)>":$add)>];
}

#endif
