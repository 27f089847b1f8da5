// Folds and canonical forms of single ops, one property per function.
// RUN: recurra-opt %s --canonicalize | FileCheck %s

!s = !rec.val
!k = !rec.val<K>
!v = !rec.val<V>
!kv = !rec.val<K, V>

// x + 0, x * 1, x / 1 are x.
// CHECK-LABEL: func.func @neutral(
// CHECK-SAME: [[X:%.*]]: !k)
// CHECK-NEXT: return [[X]]
func.func @neutral(%x: !k) -> !k {
  %zero = rec.const 0.0 : !s
  %one = rec.const 1.0 : !s
  %0 = rec.add %x, %zero : !k, !s
  %1 = rec.mul %one, %0 : !s, !k
  %2 = rec.div %1, %one : !k, !s
  return %2 : !k
}

// A neutral element that brings an axis leaves a broadcast.
// CHECK-LABEL: func.func @widening(
// CHECK: [[B:%.*]] = rec.broadcast {{.*}} to [V] : !k
// CHECK-NEXT: return [[B]]
func.func @widening(%x: !k) -> !kv {
  %zero = rec.const 0.0 : !v
  %0 = rec.add %x, %zero : !k, !v
  return %0 : !kv
}

// CHECK-LABEL: func.func @constants(
// CHECK: rec.const 7.38905{{.*}} : !s
// CHECK-NEXT: return
func.func @constants() -> !s {
  %0 = rec.const 2.0 : !s
  %1 = rec.exp %0 : !s
  return %1 : !s
}

// Multiplication by zero is zero, over the reals.
// CHECK-LABEL: func.func @zero(
// CHECK: [[Z:%.*]] = rec.const 0.000000e+00 : !k
// CHECK: return [[Z]]
func.func @zero(%x: !k) -> !k {
  %zero = rec.const 0.0 : !s
  %0 = rec.mul %x, %zero : !k, !s
  return %0 : !k
}

// An operand need not bring axes that the other one has.
// CHECK-LABEL: func.func @narrow(
// CHECK-NOT: rec.broadcast
// CHECK: rec.mul {{.*}} : !k, !kv
func.func @narrow(%x: !k, %y: !kv) -> !kv {
  %0 = rec.broadcast %x to [V] : !k
  %1 = rec.mul %0, %y : !kv, !kv
  return %1 : !kv
}

// The sum of a broadcast is a product with the extent.
// CHECK-LABEL: func.func @sumOfBroadcast(
// CHECK: [[E:%.*]] = rec.extent V
// CHECK: [[P:%.*]] = rec.mul {{.*}}[[E]]
// CHECK: return [[P]]
func.func @sumOfBroadcast(%x: !k) -> !k {
  %0 = rec.broadcast %x to [V] : !k
  %1 = rec.sum %0 over [V] : !kv
  return %1 : !k
}

// CHECK-LABEL: func.func @sumOfSum(
// CHECK: rec.sum {{.*}} over [K, V] : !kv
// CHECK-NEXT: return
func.func @sumOfSum(%x: !kv) -> !s {
  %0 = rec.sum %x over [K] : !kv
  %1 = rec.sum %0 over [V] : !v
  return %1 : !s
}

// Signs move out of products and sums and are absorbed.
// CHECK-LABEL: func.func @signs(
// CHECK-NOT: rec.neg
// CHECK: rec.sub
// CHECK-NOT: rec.neg
// CHECK: return
func.func @signs(%a: !kv, %x: !kv, %y: !k) -> !k {
  %0 = rec.neg %x : !kv
  %1 = rec.mul %0, %y : !kv, !k
  %2 = rec.sum %1 over [V] : !kv
  %3 = rec.add %y, %2 : !k, !k
  return %3 : !k
}

// index and place undo each other.
// CHECK-LABEL: func.func @entries(
// CHECK-SAME: [[X:%.*]]: !k)
// CHECK: [[Z:%.*]] = rec.const 0.000000e+00 : !k
// CHECK: return [[X]], [[Z]]
func.func @entries(%x: !k) -> (!k, !k) {
  %0 = rec.place %x [R = 1] : !k
  %1 = rec.index %0 [R = 1] : !rec.val<K, R>
  %2 = rec.index %0 [R = 0] : !rec.val<K, R>
  return %1, %2 : !k, !k
}
