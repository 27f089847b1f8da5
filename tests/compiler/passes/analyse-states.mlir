// RUN: recurra-opt %s --analyse-states --split-input-file | FileCheck %s

// A gate that grows rules out chunked products: exp(G_i - G_j) could overflow.
// CHECK-LABEL: func.func @growing
// CHECK: rec.class = "3", rec.form = "scan"
// CHECK-SAME: chain = "decay scalar, input rank 1"
// CHECK-SAME: read = "linear"
// CHECK-SAME: rec.why = "log decay of S may be positive"
!kv = !rec.val<K, V>
func.func @growing(%k: !rec.seq<K>, %v: !rec.seq<V>, %g: !rec.seq, %S0: !kv) -> (!rec.seq<V>, !kv) {
  %o, %ST = rec.scan forward over(%k_t = %k : !rec.val<K>, %v_t = %v : !rec.val<V>, %g_t = %g : !rec.val)
      carry(%S = %S0 : !kv) -> (!rec.val<V>) attributes {rec.carries = ["S"]} {
    %a = rec.exp %g_t : !rec.val
    %aS = rec.mul %a, %S : !rec.val, !kv
    %kv = rec.mul %k_t, %v_t : !rec.val<K>, !rec.val<V>
    %S1 = rec.add %aS, %kv : !kv, !kv
    %x = rec.mul %S1, %k_t : !kv, !rec.val<K>
    %o_t = rec.sum %x over [K] : !kv
    rec.yield carry(%S1 : !kv) emit(%o_t : !rec.val<V>)
  }
  return %o, %ST : !rec.seq<V>, !kv
}

// -----

// One step size per column of V: no transition is shared by the columns.
// CHECK-LABEL: func.func @private_erase
// CHECK: rec.form = "walk"
// CHECK-SAME: chain = "lowrank private, input rank 1"
// CHECK-SAME: rec.why = "step of S has a low-rank term of its own per column"
!kv = !rec.val<K, V>
func.func @private_erase(%k: !rec.seq<K>, %v: !rec.seq<V>, %b: !rec.seq<V>, %S0: !kv) -> !kv {
  %ST = rec.scan forward over(%k_t = %k : !rec.val<K>, %v_t = %v : !rec.val<V>, %b_t = %b : !rec.val<V>)
      carry(%S = %S0 : !kv) attributes {rec.carries = ["S"]} {
    %e = rec.mul %S, %k_t : !kv, !rec.val<K>
    %r = rec.sum %e over [K] : !kv
    %d = rec.sub %v_t, %r : !rec.val<V>, !rec.val<V>
    %u = rec.mul %b_t, %d : !rec.val<V>, !rec.val<V>
    %ku = rec.mul %k_t, %u : !rec.val<K>, !rec.val<V>
    %S1 = rec.add %S, %ku : !kv, !kv
    rec.yield carry(%S1 : !kv)
  }
  return %ST : !kv
}

// -----

// A state that divides by itself has a fractional-linear step.
// CHECK-LABEL: func.func @riccati
// CHECK: rec.form = "walk"
// CHECK-SAME: chain = "moebius"
func.func @riccati(%r: !rec.seq<D>, %P0: !rec.val<D>) -> !rec.val<D> {
  %PT = rec.scan forward over(%r_t = %r : !rec.val<D>)
      carry(%P = %P0 : !rec.val<D>) attributes {rec.carries = ["P"]} {
    %n = rec.mul %P, %r_t : !rec.val<D>, !rec.val<D>
    %d = rec.add %P, %r_t : !rec.val<D>, !rec.val<D>
    %P1 = rec.div %n, %d : !rec.val<D>, !rec.val<D>
    rec.yield carry(%P1 : !rec.val<D>)
  }
  return %PT : !rec.val<D>
}
