// RUN: recurra-opt %s --factor-products | FileCheck %s

!s = !rec.val
!k = !rec.val<K>
!v = !rec.val<V>
!kv = !rec.val<K, V>

// Factors that lack an axis are multiplied first.
// CHECK-LABEL: func.func @smallFirst(
// CHECK-SAME: [[K:%.*]]: !k, [[V:%.*]]: !v, [[W:%.*]]: !k)
// CHECK: [[KW:%.*]] = rec.mul [[K]], [[W]] : !k, !k
// CHECK-NEXT: rec.mul [[KW]], [[V]] : !k, !v
// CHECK-NEXT: return
func.func @smallFirst(%k: !k, %v: !v, %w: !k) -> !kv {
  %0 = rec.mul %k, %v : !k, !v
  %1 = rec.mul %0, %w : !kv, !k
  return %1 : !kv
}

// A factor without the summed axis leaves the sum.
// CHECK-LABEL: func.func @outOfSum(
// CHECK-SAME: [[S:%.*]]: !kv, [[Q:%.*]]: !k, [[V:%.*]]: !v)
// CHECK: [[X:%.*]] = rec.mul [[S]], [[Q]] : !kv, !k
// CHECK-NEXT: [[Y:%.*]] = rec.sum [[X]] over [K] : !kv
// CHECK-NEXT: rec.mul [[V]], [[Y]]
func.func @outOfSum(%S: !kv, %q: !k, %v: !v) -> !v {
  %0 = rec.mul %S, %v : !kv, !v
  %1 = rec.mul %0, %q : !kv, !k
  %2 = rec.sum %1 over [K] : !kv
  return %2 : !v
}

// A state that only one contraction reads is not recomputed.
// CHECK-LABEL: func.func @distribute(
// CHECK-SAME: [[A:%.*]]: !s, [[S:%.*]]: !kv, [[K:%.*]]: !k, [[V:%.*]]: !v, [[D:%.*]]: !v)
// CHECK-NOT: rec.mul [[K]], [[V]]
// CHECK: [[SD:%.*]] = rec.mul [[D]], [[S]] : !v, !kv
// CHECK: rec.sum [[SD]] over [V] : !kv
// CHECK: [[VD:%.*]] = rec.mul [[D]], [[V]] : !v, !v
// CHECK: rec.sum [[VD]] over [V] : !v
func.func @distribute(%a: !s, %S: !kv, %k: !k, %v: !v, %d: !v) -> !k {
  %0 = rec.mul %a, %S : !s, !kv
  %1 = rec.mul %k, %v : !k, !v
  %2 = rec.add %0, %1 : !kv, !kv
  %3 = rec.mul %2, %d : !kv, !v
  %4 = rec.sum %3 over [V] : !kv
  return %4 : !k
}

// The same sum stays where the state has another use.
// CHECK-LABEL: func.func @keepShared(
// CHECK: [[S1:%.*]] = rec.add
// CHECK-NEXT: [[X:%.*]] = rec.mul [[S1]]
// CHECK-NEXT: rec.sum [[X]]
// CHECK-NEXT: return
func.func @keepShared(%a: !s, %S: !kv, %k: !k, %v: !v, %d: !v) -> (!k, !kv) {
  %0 = rec.mul %a, %S : !s, !kv
  %1 = rec.mul %k, %v : !k, !v
  %2 = rec.add %0, %1 : !kv, !kv
  %3 = rec.mul %2, %d : !kv, !v
  %4 = rec.sum %3 over [V] : !kv
  return %4, %2 : !k, !kv
}

// Two sums over the same axes are one.
// CHECK-LABEL: func.func @mergeSums(
// CHECK: [[XY:%.*]] = rec.add {{.*}} : !kv, !kv
// CHECK-NEXT: rec.sum [[XY]] over [K, V]
// CHECK-NEXT: return
func.func @mergeSums(%x: !kv, %y: !kv) -> !s {
  %0 = rec.sum %x over [K, V] : !kv
  %1 = rec.sum %y over [K, V] : !kv
  %2 = rec.add %0, %1 : !s, !s
  return %2 : !s
}

// Quotients by one value share its reciprocal; one alone stays.
// CHECK-LABEL: func.func @reciprocal(
// CHECK-SAME: [[X:%.*]]: !kv, [[Y:%.*]]: !kv, [[I:%.*]]: !kv)
// CHECK: [[R:%.*]] = rec.div {{.*}}, [[I]]
// CHECK: rec.mul [[X]], [[R]]
// CHECK: rec.mul [[Y]], [[R]]
// CHECK: rec.div [[X]], [[Y]]
func.func @reciprocal(%x: !kv, %y: !kv, %I: !kv) -> (!kv, !kv, !kv) {
  %0 = rec.div %x, %I : !kv, !kv
  %1 = rec.div %y, %I : !kv, !kv
  %2 = rec.div %x, %y : !kv, !kv
  return %0, %1, %2 : !kv, !kv, !kv
}

// Nothing to gain: unchanged.
// CHECK-LABEL: func.func @unchanged(
// CHECK-NEXT: rec.mul
// CHECK-NEXT: rec.add
// CHECK-NEXT: return
func.func @unchanged(%k: !k, %v: !v, %S: !kv) -> !kv {
  %0 = rec.mul %k, %v : !k, !v
  %1 = rec.add %S, %0 : !kv, !kv
  return %1 : !kv
}
