// The two programs of the proposal for `rec`: they parse, and print the same twice.
// RUN: recurra-opt %s | FileCheck %s
// RUN: recurra-opt %s | recurra-opt | FileCheck %s

!s = !rec.val
!k = !rec.val<K>
!v = !rec.val<V>
!kv = !rec.val<V, K>

// CHECK: !kv = !rec.val<K, V>
// CHECK-LABEL: func.func @palimpsa(
// CHECK-SAME: !rec.seq<V> {rec.fact = "nonNegative"}
// CHECK-SAME: !kv
func.func @palimpsa(%q: !rec.seq<K>, %k: !rec.seq<K>, %v: !rec.seq<V>, %beta: !rec.seq<V> {rec.fact = "nonNegative"},
    %g: !rec.seq {rec.fact = "nonPositive"}, %prior: !s {rec.fact = "positive"}, %scale: !s {rec.share = "all"}, %M0: !kv, %J0: !kv)
    -> (!rec.seq<V>, !kv, !kv) {
  // CHECK: rec.scan forward over({{.*}} : !k, {{.*}}) carry({{.*}}) -> (!v) {
  %o, %MT, %JT = rec.scan forward over(%q_t = %q : !k, %k_t = %k : !k, %v_t = %v : !v, %b_t = %beta : !v, %g_t = %g : !s)
      carry(%M = %M0 : !kv, %J = %J0 : !kv) -> (!v) {
    %a = rec.exp %g_t : !s
    %aM = rec.mul %a, %M : !s, !kv
    %vk = rec.mul %k_t, %v_t : !k, !v
    %M1 = rec.add %aM, %vk : !kv, !kv
    %k2 = rec.mul %k_t, %k_t : !k, !k
    %bk2 = rec.mul %k2, %b_t : !k, !v
    %aJ = rec.mul %a, %J : !s, !kv
    %J1 = rec.add %aJ, %bk2 : !kv, !kv
    %I = rec.add %J1, %prior : !kv, !s
    %mu = rec.div %M1, %I : !kv, !kv
    %x = rec.mul %mu, %q_t : !kv, !k
    // CHECK: rec.sum {{.*}} over [K] : !kv
    %y = rec.sum %x over [K] : !kv
    %o_t = rec.mul %scale, %y : !s, !v
    // CHECK: rec.yield carry({{.*}} : !kv, !kv) emit({{.*}} : !v)
    rec.yield carry(%M1, %J1 : !kv, !kv) emit(%o_t : !v)
  }
  return %o, %MT, %JT : !rec.seq<V>, !kv, !kv
}

// CHECK-LABEL: func.func @gated_delta_rule(
func.func @gated_delta_rule(%q: !rec.seq<K>, %k: !rec.seq<K>, %v: !rec.seq<V>, %beta: !rec.seq, %g: !rec.seq, %scale: !s, %S0: !kv)
    -> (!rec.seq<V>, !kv) {
  %o, %ST = rec.scan forward over(%q_t = %q : !k, %k_t = %k : !k, %v_t = %v : !v, %b_t = %beta : !s, %g_t = %g : !s)
      carry(%S = %S0 : !kv) -> (!v) {
    %a = rec.exp %g_t : !s
    %aS = rec.mul %a, %S : !s, !kv
    %e = rec.mul %aS, %k_t : !kv, !k
    %r = rec.sum %e over [K] : !kv
    %d = rec.sub %v_t, %r : !v, !v
    %u = rec.mul %b_t, %d : !s, !v
    %ku = rec.mul %k_t, %u : !k, !v
    %S1 = rec.add %aS, %ku : !kv, !kv
    %x = rec.mul %S1, %q_t : !kv, !k
    %y = rec.sum %x over [K] : !kv
    %o_t = rec.mul %scale, %y : !s, !v
    rec.yield carry(%S1 : !kv) emit(%o_t : !v)
  }
  return %o, %ST : !rec.seq<V>, !kv
}
