// Every pass, with the IR before and after. One file per pass.
// SPDX-License-Identifier: Apache-2.0
#ifndef RECURRA_PASSES
#define RECURRA_PASSES

include "mlir/Pass/PassBase.td"

def DeriveBackward : Pass<"derive-backward", "::mlir::func::FuncOp"> {
  let summary = "replace a forward function by its vector-Jacobian product";
  let description = [{
    Arguments: those of the forward function, then a cotangent per result.
    Results: the gradients of the arguments marked `rec.gradient`, in order,
    with `rec.reduce` where a tensor is shared by several instances. A function
    without such an argument stays as it is.

    The result holds, after canonicalization, at most one forward scan, which
    emits states (the trace) and nothing else; exactly one reverse scan, which
    reads the inputs, the traces and the outputs' cotangents, carries the
    states' cotangents and then one sum per parameter, and emits the token
    inputs' gradients; and ops on `!rec.val` before, between and behind them.
    The trace of a state is its old version (before the token), or the new one
    if the old would only serve to recompute it. No division by a gate.

    ```mlir
    func.func @sum(%x: !rec.seq {rec.gradient}, %S0: !rec.val) -> !rec.val {
      %ST = rec.scan forward over(%x_t = %x : !rec.val) carry(%S = %S0 : !rec.val) {
        %x2 = rec.mul %x_t, %x_t : !rec.val, !rec.val
        %S1 = rec.add %S, %x2 : !rec.val, !rec.val
        rec.yield carry(%S1 : !rec.val)
      }
      return %ST : !rec.val
    }
    // becomes
    func.func @sum_backward(%x: !rec.seq, %S0: !rec.val, %dST: !rec.val) -> !rec.seq {
      %dx, %dS0 = rec.scan reverse over(%x_t = %x : !rec.val)
          carry(%dS = %dST : !rec.val) -> (!rec.val) {
        %dx1 = rec.mul %dS, %x_t : !rec.val, !rec.val
        %dx_t = rec.add %dx1, %dx1 : !rec.val, !rec.val
        rec.yield carry(%dS : !rec.val) emit(%dx_t : !rec.val)
      }
      return %dx : !rec.seq
    }
    ```
  }];
  let dependentDialects = ["::recurra::rec::RecDialect"];
}

def Linearise : Pass<"linearise", "::mlir::func::FuncOp"> {
  let summary = "change variables so that states become linear";
  let dependentDialects = ["::recurra::rec::RecDialect"];
}

def AnalyseStates : Pass<"analyse-states", "::mlir::func::FuncOp"> {
  let summary = "print the verdict on each state as attributes of its scan";
  let dependentDialects = ["::recurra::rec::RecDialect"];
}

#endif
