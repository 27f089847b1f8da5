// What may no longer appear behind each phase.
// RUN: recurra-opt %s --phase-linear --phase-backward | FileCheck %s --check-prefix=BACKWARD
// RUN: recurra-opt %s --phase-linear --rec-to-chunk="spec='extent K 32;extent V 32'" | recurra-opt --hide-rec | FileCheck %s --check-prefix=CHUNK
// RUN: not recurra-opt %s --hide-rec 2>&1 | FileCheck %s --check-prefix=HIDDEN
// RUN: recurra-opt %s --phase-linear --rec-to-chunk="spec='extent K 32;extent V 32'" --lower-to-cpu | recurra-opt --hide-rec --hide-chunk | FileCheck %s --check-prefix=LLVM

// No detach, no broadcast, one scan of each direction; the clamp is in sight.
// BACKWARD-LABEL: func.func @gated_backward
// BACKWARD-NOT: rec.{{detach|broadcast}}
// BACKWARD: rec.scan forward
// BACKWARD-NOT: rec.scan forward
// BACKWARD: rec.scan reverse
// BACKWARD-NOT: rec.scan
// BACKWARD: return

// CHUNK-LABEL: func.func @gated
// CHUNK-NOT: rec.scan
// CHUNK: chunk.forall

// HIDDEN: unregistered dialect

// LLVM-NOT: {{chunk|vector|scf|arith|math|func}}.
// LLVM: llvm.func @gated_nest0
// LLVM-NOT: {{chunk|vector|scf|arith|math|func}}.
func.func @gated(%k: !rec.seq<K> {rec.kind = "input", rec.name = "k"}, %v: !rec.seq<V> {rec.gradient, rec.kind = "input", rec.name = "v"},
    %g: !rec.seq {rec.gradient, rec.kind = "input", rec.name = "g"})
    -> (!rec.seq<V> {rec.kind = "output", rec.name = "o"}) {
  %S0 = rec.const 0.0 : !rec.val<K, V>
  %o, %ST = rec.scan forward over(%k_t = %k : !rec.val<K>, %v_t = %v : !rec.val<V>, %g_t = %g : !rec.val)
      carry(%S = %S0 : !rec.val<K, V>) -> (!rec.val<V>) attributes {rec.carries = ["S"]} {
    %floor = rec.const -1.0e4 : !rec.val
    %g_c = rec.max %g_t, %floor : !rec.val, !rec.val
    %a = rec.exp %g_c : !rec.val
    %aS = rec.mul %a, %S : !rec.val, !rec.val<K, V>
    %kv = rec.mul %k_t, %v_t : !rec.val<K>, !rec.val<V>
    %S1 = rec.add %aS, %kv : !rec.val<K, V>, !rec.val<K, V>
    %m = rec.amax %S1 over [K] : !rec.val<K, V>
    %md = rec.detach %m : !rec.val<V>
    %x = rec.mul %S1, %k_t : !rec.val<K, V>, !rec.val<K>
    %y = rec.sum %x over [K] : !rec.val<K, V>
    %o_t = rec.mul %y, %md : !rec.val<V>, !rec.val<V>
    rec.yield carry(%S1 : !rec.val<K, V>) emit(%o_t : !rec.val<V>)
  }
  return %o : !rec.seq<V>
}
