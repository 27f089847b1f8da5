// The plan, as it stands on the lowered function: lanes along a free axis that
// is seldom summed over, tiles that fit a cache, one interval for both
// directions.
// RUN: recurra-opt %s --rec-to-chunk="spec='extent K 64;extent V 256;extent D 96;extent E 96'" | FileCheck %s
// RUN: recurra-opt %s --rec-to-chunk="spec='extent K 64;extent V 40;extent D 96;extent E 96;direction backward'" | FileCheck %s --check-prefix=BACKWARD
// RUN: recurra-opt %s --rec-to-chunk="spec='extent K 1000;extent V 1000;extent D 1000;extent E 1000'" | FileCheck %s --check-prefix=LARGE

!s = !rec.val
!k = !rec.val<K>
!v = !rec.val<V>
!kv = !rec.val<K, V>

// K and V are both free; the output sums over K.
// CHECK-LABEL: @read(
// CHECK-SAME: chunk.plan = "form walk, lanes V in tiles of 64, states saved every 64 tokens (65536 bytes per head)"
// BACKWARD-LABEL: @read(
// BACKWARD-SAME: chunk.plan = "form walk, lanes V, whole, states saved every 64 tokens (10240 bytes per head) and recomputed between (655360 bytes of scratch)"
// LARGE-LABEL: @read(
// LARGE-SAME: chunk.plan = "form walk, lanes V in tiles of 64, states saved every 16 tokens (4000000 bytes per head)"
func.func @read(%q: !rec.seq<K>, %k: !rec.seq<K>, %v: !rec.seq<V>) -> !rec.seq<V> {
  %z = rec.const 0.0 : !kv
  %o, %ST = rec.scan forward over(%q_t = %q : !k, %k_t = %k : !k, %v_t = %v : !v) carry(%S = %z : !kv) -> (!v) {
    %kv = rec.mul %k_t, %v_t : !k, !v
    %S1 = rec.add %S, %kv : !kv, !kv
    %x = rec.mul %S1, %q_t : !kv, !k
    %y = rec.sum %x over [K] : !kv
    rec.yield carry(%S1 : !kv) emit(%y : !v)
  }
  return %o : !rec.seq<V>
}

// The state is erased along K: V alone is free, though K stands last.
// CHECK-LABEL: @erase(
// CHECK-SAME: chunk.plan = "form walk, lanes V
func.func @erase(%k: !rec.seq<K>, %v: !rec.seq<V>) -> (!kv {rec.layout = ["V", "K"]}) {
  %z = rec.const 0.0 : !kv
  %ST = rec.scan forward over(%k_t = %k : !k, %v_t = %v : !v) carry(%S = %z : !kv) {
    %e = rec.mul %S, %k_t : !kv, !k
    %r = rec.sum %e over [K] : !kv
    %d = rec.sub %v_t, %r : !v, !v
    %kd = rec.mul %k_t, %d : !k, !v
    %S1 = rec.add %S, %kd : !kv, !kv
    rec.yield carry(%S1 : !kv)
  }
  return %ST : !kv
}

// A state times a matrix of its own axis: no axis is free, none is cut.
// CHECK-LABEL: @mix(
// CHECK-SAME: chunk.plan = "form walk, lanes D, whole
// LARGE-LABEL: @mix(
// LARGE-SAME: chunk.plan = "form walk, lanes D, whole
func.func @mix(%x: !rec.seq<D>, %R: !rec.val<D, E>) -> !rec.val<D> {
  %z = rec.const 0.0 : !rec.val<D>
  %r = rec.scan forward over(%x_t = %x : !rec.val<D>) carry(%y = %z : !rec.val<D>) {
    %ye = rec.rename %y [D -> E] : !rec.val<D>
    %p = rec.mul %R, %ye : !rec.val<D, E>, !rec.val<E>
    %s = rec.sum %p over [E] : !rec.val<D, E>
    %n = rec.add %s, %x_t : !rec.val<D>, !rec.val<D>
    rec.yield carry(%n : !rec.val<D>)
  }
  return %r : !rec.val<D>
}
