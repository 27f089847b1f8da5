// The walk form: what a step becomes, forward, and with a state that is saved.
// RUN: recurra-opt %s --split-input-file --rec-to-chunk="spec='extent K 8;extent V 64;checkpoints 1;dtype q bf16' interval=16 tile=32" | FileCheck %s
// RUN: recurra-opt %s --split-input-file --rec-to-chunk="spec='extent K 8;extent V 64' tile=0" | recurra-opt --split-input-file --hide-rec | FileCheck %s --check-prefix=WHOLE

!s = !rec.val
!k = !rec.val<K>
!v = !rec.val<V>
!kv = !rec.val<K, V>

// Inputs, given states, outputs, final states, checkpoints; one tile of V per
// task; the outer product is a dot over no axis, the read one over K.
// CHECK-LABEL: func.func @simple_gla(
// CHECK-SAME: !t_h_k_bf16 {chunk.arg = "input q"}
// CHECK-SAME: {chunk.arg = "initial-state S"}
// CHECK-SAME: {chunk.arg = "output o"}
// CHECK-SAME: {chunk.arg = "final-state S"}
// CHECK-SAME: !t16_h_k_v_f32 {chunk.arg = "checkpoint S"}
// CHECK-SAME: chunk.extents = {K = 8 : i64, V = 64 : i64}
// CHECK: chunk.forall %[[n:.*]] in N by 1, %[[h:.*]] in H by 1, %[[vs:.*]] in V by 32
// CHECK-SAME: schedule = {cpu.lanes = "V"}
// CHECK: chunk.for %[[c:.*]] in T of %[[n]] by 16 carry(
// CHECK: chunk.store %{{.*}}[T:16 = %[[c]], H = %[[h]], V:32 = %[[vs]]]
// CHECK: chunk.for %[[t:.*]] in %[[c]] : T:16 by 1 carry(%[[S:.*]] =
// CHECK-DAG: %[[q:.*]] = chunk.load %{{.*}}[T = %[[t]], H = %[[h]]] : !t_h_k_bf16 -> !k
// CHECK: %[[a:.*]] = chunk.map {{.*}} -> !s {
// CHECK: math.exp
// CHECK: %[[aS:.*]] = chunk.map (%{{.*}} = %[[a]], %{{.*}} = %[[S]] : !s, !kv) -> !kv {
// CHECK: %[[S1:.*]] = chunk.dot %{{.*}}, %{{.*}} over [] into %[[aS]] : !k, !v, !kv
// CHECK: chunk.dot %[[S1]], %[[q]] over [K] : !kv, !k -> !v
// CHECK: chunk.store %{{.*}}, %{{.*}}[T = %[[t]], H = %[[h]], V:32 = %[[vs]]] : !v, !t_h_v_f32
// CHECK: chunk.yield %[[S1]] : !kv
// CHECK: chunk.store %{{.*}}[N = %[[n]], H = %[[h]], V:32 = %[[vs]]]
// WHOLE-LABEL: func.func @simple_gla(
// WHOLE-NOT: checkpoint
// WHOLE: chunk.forall %{{.*}} in N by 1, %{{.*}} in H by 1 attributes
func.func @simple_gla(%q: !rec.seq<K> {rec.name = "q"}, %k: !rec.seq<K>, %v: !rec.seq<V>, %g: !rec.seq,
    %scale: !s {rec.share = "all"}, %S0: !kv {rec.kind = "initialState", rec.name = "S", rec.layout = ["K", "V"]})
    -> (!rec.seq<V> {rec.name = "o"}, !kv {rec.name = "S", rec.layout = ["K", "V"]}) {
  %o, %ST = rec.scan forward over(%q_t = %q : !k, %k_t = %k : !k, %v_t = %v : !v, %g_t = %g : !s)
      carry(%S = %S0 : !kv) -> (!v) attributes {rec.carries = ["S"]} {
    %a = rec.exp %g_t : !s
    %aS = rec.mul %a, %S : !s, !kv
    %kv = rec.mul %k_t, %v_t : !k, !v
    %S1 = rec.add %aS, %kv : !kv, !kv
    %x = rec.mul %S1, %q_t : !kv, !k
    %y = rec.sum %x over [K] : !kv
    %o_t = rec.mul %scale, %y : !s, !v
    rec.yield carry(%S1 : !kv) emit(%o_t : !v)
  }
  return %o, %ST : !rec.seq<V>, !kv
}

// -----

// The tensors of a state have the dtype that is written on them; tiles, and
// what is saved, have that of the arithmetic.
!v = !rec.val<V>
// CHECK-LABEL: func.func @narrow(
// CHECK-SAME: !n_h_v_bf16 {chunk.arg = "initial-state S"}
// CHECK-SAME: !n_h_v_f16 {chunk.arg = "final-state S"}
// CHECK-SAME: !t16_h_v_f32 {chunk.arg = "checkpoint S"}
// CHECK: chunk.load %{{.*}} : !n_h_v_bf16 -> !v
// CHECK: chunk.store %{{.*}} : !v, !n_h_v_f16
func.func @narrow(%v: !rec.seq<V>, %S0: !v {rec.kind = "initialState", rec.name = "S", rec.dtype = "bf16"})
    -> (!rec.seq<V> {rec.name = "o"}, !v {rec.name = "S", rec.dtype = "f16"}) {
  %o, %ST = rec.scan forward over(%v_t = %v : !v) carry(%S = %S0 : !v) -> (!v) attributes {rec.carries = ["S"]} {
    %S1 = rec.add %S, %v_t : !v, !v
    rec.yield carry(%S1 : !v) emit(%S1 : !v)
  }
  return %o, %ST : !rec.seq<V>, !v
}

// -----

// A sum over the tiled axis: each tile stores its part, a second nest adds them
// in order. What lacks the axis is stored by the first tile.
!s = !rec.val
!kv = !rec.val<K, V>
!v = !rec.val<V>
// CHECK-LABEL: func.func @sums(
// CHECK: %[[part:.*]] = chunk.alloc workspace : !t_h_v32_f32
// CHECK: chunk.forall %[[n:.*]] in N by 1, %[[h:.*]] in H by 1, %[[vs:.*]] in V by 32
// CHECK: chunk.store %{{.*}}, %[[part]][T = %{{.*}}, H = %[[h]], V:32 = %[[vs]]] : !s, !t_h_v32_f32
// CHECK: chunk.store %{{.*}}, %{{.*}}[N = %[[n]], H = %[[h]]] first(%[[vs]] : V:32) : !s, !n_h_f32
// CHECK: chunk.forall %[[n:.*]] in N by 1, %[[h:.*]] in H by 1 attributes
// CHECK: chunk.for %[[t:.*]] in T of %[[n]] by 1 {
// CHECK: %[[both:.*]] = chunk.load %[[part]][T = %[[t]], H = %[[h]]] : !t_h_v32_f32 -> !v
// CHECK: chunk.reduce add %[[both]] over [V] : !v
func.func @sums(%v: !rec.seq<V>, %g: !rec.seq) -> (!rec.seq {rec.name = "o"}, !v {rec.name = "S"}, !s {rec.name = "m"}) {
  %z = rec.const 0.0 : !v
  %zs = rec.const 0.0 : !s
  %o, %ST, %mT = rec.scan forward over(%v_t = %v : !v, %g_t = %g : !s) carry(%S = %z : !v, %m = %zs : !s) -> (!s)
      attributes {rec.carries = ["S", "m"]} {
    %m1 = rec.max %m, %g_t : !s, !s
    %mS = rec.mul %m1, %S : !s, !v
    %S1 = rec.add %mS, %v_t : !v, !v
    %y = rec.sum %S1 over [V] : !v
    rec.yield carry(%S1, %m1 : !v, !s) emit(%y : !s)
  }
  return %o, %ST, %mT : !rec.seq, !v, !s
}
