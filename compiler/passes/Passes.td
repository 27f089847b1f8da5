// Every pass, with the IR before and after. One file per pass.
// SPDX-License-Identifier: Apache-2.0
#ifndef RECURRA_PASSES
#define RECURRA_PASSES

include "mlir/Pass/PassBase.td"

def FactorProducts : Pass<"factor-products", "::mlir::func::FuncOp"> {
  let summary = "multiply small factors first, pull them out of sums";
  let description = [{
    The same real numbers with less work on values that have all axes of a
    state: factors that lack an axis are combined first, a factor without the
    summed axes leaves the sum, a sum over a product with a sum of products is
    distributed where the parts are cheaper (a state that was recomputed only
    for one contraction goes away), sums over the same axes are merged, several
    quotients by one value share its reciprocal. A rewrite must lower a count of
    the entries touched.
    ```mlir
    %kv = rec.mul %k, %v : !rec.val<K>, !rec.val<V>
    %c = rec.mul %kv, %s : !rec.val<K, V>, !rec.val
    %x = rec.mul %S, %q : !rec.val<K, V>, !rec.val<K>
    %y = rec.mul %x, %v : !rec.val<K, V>, !rec.val<V>
    %z = rec.sum %y over [K] : !rec.val<K, V>
    // becomes
    %ks = rec.mul %k, %s : !rec.val<K>, !rec.val
    %c = rec.mul %ks, %v : !rec.val<K>, !rec.val<V>
    %x = rec.mul %S, %q : !rec.val<K, V>, !rec.val<K>
    %y = rec.sum %x over [K] : !rec.val<K, V>
    %z = rec.mul %v, %y : !rec.val<V>, !rec.val<V>
    ```
  }];
  let dependentDialects = ["::recurra::rec::RecDialect"];
}

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
  let description = [{
    Every change is proved exact by identity testing and finite by the facts; a
    missing fact is named in a remark and the state is left alone. Initial and
    final states are converted outside the scan.

    ```mlir
    // %I is a state with next value %I1, both of them positive
    %r = rec.div %I, %I1 : !kv, !kv         %d = rec.mul %a, %r : !s, !kv
    %m = rec.mul %d, %mu : !kv, !kv         %u = rec.div %vk, %I1 : !kv, !kv
    %mu1 = rec.add %m, %u : !kv, !kv
    // becomes, with %X = %I * %mu carried in the place of %mu
    %x = rec.mul %a, %X : !s, !kv           %X1 = rec.add %x, %vk : !kv, !kv
    %mu1 = rec.div %X1, %I1 : !kv, !kv
    ```
    A state that relaxes towards a parameter, I1 = a I + (1 - a) prior + u, is
    carried as I - prior.
  }];
  let dependentDialects = ["::recurra::rec::RecDialect"];
}

def AnalyseStates : Pass<"analyse-states", "::mlir::func::FuncOp"> {
  let summary = "print the verdict on each state as attributes of its scan";
  let description = [{
    For people and tests: passes call StateAnalysis and never read these.

    ```mlir
    rec.scan forward over(..) carry(%S = %S0 : !kv) -> (!v) {
    // becomes
    rec.scan forward over(..) carry(%S = %S0 : !kv) -> (!v) attributes {
      rec.class = "1", rec.form = "matmul", rec.states = [
        {name = "S", solved = 0, chain = "decay scalar, input rank 1",
         read = "linear"} ]} {
    ```
  }];
  let dependentDialects = ["::recurra::rec::RecDialect"];
}

def RecToChunk : Pass<"rec-to-chunk", "::mlir::ModuleOp"> {
  let summary = "lower each function of rec to loops over tiles, in the walk form";
  let description = [{
    Makes a plan for each function and lowers it: sizes, element types and tiles
    enter. The pipeline calls the same code with the Spec at hand.

    ```mlir
    func.func @sum(%x: !rec.seq<D>, %S0: !rec.val<D> {rec.kind = "initialState"}) -> !rec.val<D> {
      %ST = rec.scan forward over(%x_t = %x : !rec.val<D>) carry(%S = %S0 : !rec.val<D>) {
        %S1 = rec.add %S, %x_t : !rec.val<D>, !rec.val<D>
        rec.yield carry(%S1 : !rec.val<D>)
      }
      return %ST : !rec.val<D>
    }
    // becomes, with spec='extent D 8'
    func.func @sum(%x: !chunk.buf<T, H, D, f32>, %S0: !chunk.buf<N, H, D, f32>, %ST: !chunk.buf<N, H, D, f32>) {
      chunk.forall %n in N by 1, %h in H by 1 {
        %Si = chunk.load %S0[N = %n, H = %h] : !chunk.buf<N, H, D, f32> -> !chunk.tile<D:8>
        %Sf = chunk.for %c in T of %n by 64 carry(%Sc = %Si : !chunk.tile<D:8>) {
          %Se = chunk.for %t in %c : T:64 by 1 carry(%S = %Sc : !chunk.tile<D:8>) {
            %x_t = chunk.load %x[T = %t, H = %h] : !chunk.buf<T, H, D, f32> -> !chunk.tile<D:8>
            %S1 = chunk.map (%a = %S, %b = %x_t : !chunk.tile<D:8>, !chunk.tile<D:8>) -> !chunk.tile<D:8> {..}
            chunk.yield %S1 : !chunk.tile<D:8>
          }
          chunk.yield %Se : !chunk.tile<D:8>
        }
        chunk.store %Sf, %ST[N = %n, H = %h] : !chunk.tile<D:8>, !chunk.buf<N, H, D, f32>
      }
      return
    }
    ```
  }];
  let options = [
    Option<"spec", "spec", "std::string", "", "a Spec's lines, separated by ';'">,
    Option<"tile", "tile", "int64_t", "-1", "overrides the plan's tile (0: whole)">,
    Option<"interval", "interval", "int64_t", "0", "overrides the plan's interval">,
  ];
  let dependentDialects = ["::recurra::chunk::ChunkDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
}

#endif
