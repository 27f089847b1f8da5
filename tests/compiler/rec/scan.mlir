// Canonical forms of rec.scan, one property per function.
// RUN: recurra-opt %s --canonicalize | FileCheck %s

!s = !rec.val

// A state that no result depends on goes, with what only it used.
// CHECK-LABEL: func.func @deadState(
// CHECK: rec.scan forward over([[X:%.*]] = {{.*}} : !s) carry([[S:%.*]] = {{.*}} : !s) attributes {rec.carries = ["S"]} {
// CHECK-NEXT: rec.add [[S]], [[X]]
// CHECK-NEXT: rec.yield carry({{.*}} : !s)
func.func @deadState(%x: !rec.seq, %y: !rec.seq, %S0: !s, %D0: !s) -> !s {
  %e, %ST, %DT = rec.scan forward over(%x_t = %x : !s, %y_t = %y : !s) carry(%S = %S0 : !s, %D = %D0 : !s) -> (!s)
      attributes {rec.carries = ["S", "D"]} {
    %S1 = rec.add %S, %x_t : !s, !s
    %D1 = rec.mul %D, %y_t : !s, !s
    rec.yield carry(%S1, %D1 : !s, !s) emit(%D1 : !s)
  }
  return %ST : !s
}

// A state that another one reads stays.
// CHECK-LABEL: func.func @liveState(
// CHECK: carry({{.*}} : !s, {{.*}} : !s)
func.func @liveState(%x: !rec.seq, %S0: !s, %D0: !s) -> !s {
  %ST, %DT = rec.scan forward over(%x_t = %x : !s) carry(%S = %S0 : !s, %D = %D0 : !s) {
    %S1 = rec.add %S, %D : !s, !s
    %D1 = rec.mul %D, %x_t : !s, !s
    rec.yield carry(%S1, %D1 : !s, !s)
  }
  return %ST : !s
}

// A state that never changes is its initial value.
// CHECK-LABEL: func.func @constantState(
// CHECK-SAME: [[X:%.*]]: !rec.seq, [[S0:%.*]]: !s)
// CHECK: rec.scan forward over({{.*}}) -> (!s) {
// CHECK: rec.mul {{.*}}[[S0]]
// CHECK: return {{.*}}, [[S0]]
func.func @constantState(%x: !rec.seq, %S0: !s) -> (!rec.seq, !s) {
  %e, %ST = rec.scan forward over(%x_t = %x : !s) carry(%S = %S0 : !s) -> (!s) {
    %y = rec.mul %S, %x_t : !s, !s
    rec.yield carry(%S : !s) emit(%y : !s)
  }
  return %e, %ST : !rec.seq, !s
}

// What depends on no token and no state is computed before the scan.
// CHECK-LABEL: func.func @hoist(
// CHECK: rec.exp
// CHECK: rec.scan
// CHECK-NOT: rec.exp
// CHECK: return
func.func @hoist(%x: !rec.seq, %a: !s, %S0: !s) -> !s {
  %ST = rec.scan forward over(%x_t = %x : !s) carry(%S = %S0 : !s) {
    %e = rec.exp %a : !s
    %y = rec.mul %e, %S : !s, !s
    %S1 = rec.add %y, %x_t : !s, !s
    rec.yield carry(%S1 : !s)
  }
  return %ST : !s
}

// A sequence is read once, and not emitted again.
// CHECK-LABEL: func.func @merge(
// CHECK-SAME: [[X:%.*]]: !rec.seq)
// CHECK: [[E:%.*]] = rec.scan forward over({{[^,]*}} : !s) -> (!s) {
// CHECK: return [[X]], [[E]], [[E]]
func.func @merge(%x: !rec.seq) -> (!rec.seq, !rec.seq, !rec.seq) {
  %a, %b, %c = rec.scan forward over(%x_t = %x : !s, %y_t = %x : !s) -> (!s, !s, !s) {
    %y = rec.mul %x_t, %y_t : !s, !s
    rec.yield emit(%y_t, %y, %y : !s, !s, !s)
  }
  return %a, %b, %c : !rec.seq, !rec.seq, !rec.seq
}
