// Every op of `rec`: parses, prints, and parses again to the same text.
// RUN: recurra-opt %s | FileCheck %s
// RUN: recurra-opt %s | recurra-opt | FileCheck %s

!s = !rec.val
!k = !rec.val<K>
!kv = !rec.val<K, V>

// CHECK-LABEL: func.func @elementwise(
func.func @elementwise(%x: !k, %y: !kv) -> !kv {
  // CHECK: rec.add {{.*}} : !k, !kv
  %0 = rec.add %x, %y : !k, !kv
  // CHECK: rec.sub
  %1 = rec.sub %0, %y : !kv, !kv
  // CHECK: rec.mul
  %2 = rec.mul %1, %y : !kv, !kv
  // CHECK: rec.div
  %3 = rec.div %2, %y : !kv, !kv
  // CHECK: rec.max
  %4 = rec.max %3, %y : !kv, !kv
  // CHECK-COUNT-12: rec.{{neg|abs|exp|log|expm1|log1p|sqrt|rsqrt|tanh|sigmoid|softplus|detach}} {{.*}} : !kv
  %5 = rec.neg %4 : !kv
  %6 = rec.abs %5 : !kv
  %7 = rec.exp %6 : !kv
  %8 = rec.log %7 : !kv
  %9 = rec.expm1 %8 : !kv
  %10 = rec.log1p %9 : !kv
  %11 = rec.sqrt %10 : !kv
  %12 = rec.rsqrt %11 : !kv
  %13 = rec.tanh %12 : !kv
  %14 = rec.sigmoid %13 : !kv
  %15 = rec.softplus %14 : !kv
  %16 = rec.detach %15 : !kv
  // CHECK: rec.const 5.000000e-01 : !s
  %17 = rec.const 0.5 : !s
  // CHECK: rec.const -inf : !k
  %18 = rec.const -inf : !k
  // CHECK: [[MASK:%.*]] = rec.cmp ge {{.*}} : !kv, !k
  %19 = rec.cmp ge %16, %18 : !kv, !k
  // CHECK: rec.select [[MASK]], {{.*}} : !mask_kv, !kv, !s
  %20 = rec.select %19, %16, %17 : !rec.mask<K, V>, !kv, !s
  return %20 : !kv
}

// CHECK-LABEL: func.func @axes(
func.func @axes(%x: !kv) -> !kv {
  // CHECK: rec.sum {{.*}} over [K, V] : !kv
  %0 = rec.sum %x over [V, K] : !kv
  // CHECK: rec.amax {{.*}} over [V] : !kv
  %1 = rec.amax %x over [V] : !kv
  // CHECK: rec.broadcast {{.*}} to [V] : !k
  %2 = rec.broadcast %1 to [V] : !k
  // CHECK: rec.rename {{.*}} [K -> E] : !kv
  %3 = rec.rename %2 [K -> E] : !kv
  // CHECK: rec.place {{.*}} [J = 1] : !s
  %4 = rec.place %0 [J = 1] : !s
  // CHECK: rec.index {{.*}} [J = 1] : !j
  %5 = rec.index %4 [J = 1] : !rec.val<J>
  // CHECK: rec.extent K
  %6 = rec.extent K
  // CHECK: rec.sum {{.*}} over [E] : !ev
  %7 = rec.sum %3 over [E] : !rec.val<E, V>
  %8 = rec.mul %7, %1 : !rec.val<V>, !k
  %9 = rec.mul %8, %6 : !kv, !s
  %10 = rec.mul %9, %5 : !kv, !s
  return %10 : !kv
}

// A scan may read nothing, carry nothing, emit nothing, and name its states.
// CHECK-LABEL: func.func @scans(
func.func @scans(%x: !rec.seq<K>, %S0: !k) -> (!rec.seq<K>, !k) {
  // CHECK: rec.scan forward over({{.*}} : !k) -> (!k) {
  %e = rec.scan forward over(%x_t = %x : !k) -> (!k) {
    // CHECK: rec.yield emit({{.*}} : !k)
    rec.yield emit(%x_t : !k)
  }
  // CHECK: rec.scan reverse over({{.*}} : !k) carry({{.*}} : !k) attributes {rec.carries = ["S"]} {
  %ST = rec.scan reverse over(%x_t = %x : !k) carry(%S = %S0 : !k) attributes {rec.carries = ["S"]} {
    %S1 = rec.add %S, %x_t : !k, !k
    // CHECK: rec.invariant {{.*}} : !k, !k
    rec.invariant %S, %S : !k, !k
    // CHECK: rec.yield carry({{.*}} : !k)
    rec.yield carry(%S1 : !k)
  }
  return %e, %ST : !rec.seq<K>, !k
}

// CHECK-LABEL: func.func @attributes(
// CHECK-SAME: rec.dtype = "bf16", rec.fact = ["positive", "range(0, 1)", "unit(K)"], rec.gradient, rec.kind = "input", rec.layout = ["V", "K"], rec.name = "x", rec.share = "group"
// CHECK-SAME: rec.reduce = "batchGroup"
func.func @attributes(%x: !kv {rec.kind = "input", rec.name = "x", rec.share = "group", rec.dtype = "bf16",
    rec.layout = ["V", "K"], rec.fact = ["positive", "range(0, 1)", "unit(K)"], rec.gradient})
    -> (!kv {rec.reduce = "batchGroup"}) {
  return %x : !kv
}
