// RUN: recurra-opt %s --linearise --canonicalize --cse --split-input-file --mlir-use-nameloc-as-prefix --verify-diagnostics | FileCheck %s

// The mean of Palimpsa decays by I_old / I_new, so I * mu is linear; I relaxes
// towards %prior, so it is carried without it. Boundary values are converted
// outside the scan.
// CHECK-LABEL: func.func @published
// CHECK-DAG: %[[M0:.*]] = rec.mul %[[PRIOR:.*]], %{{.*}} : !s, !kv
// CHECK-DAG: %[[J0:.*]] = rec.const 0.0
// CHECK: rec.scan forward
// CHECK-SAME: carry(%[[M:.*]] = %[[M0]] : !kv, %[[J:.*]] = %[[J0]] : !kv)
// CHECK-SAME: rec.carries = ["mu_scaled", "I_shifted"]
// CHECK-DAG: rec.mul %[[A:.*]], %[[M]] : !s, !kv
// CHECK-DAG: rec.mul %[[A]], %[[J]] : !s, !kv
// CHECK-NOT: rec.expm1
// CHECK-NOT: rec.div
// CHECK: rec.yield
// CHECK: %[[IT:.*]] = rec.add {{.*}}, %[[PRIOR]] : !kv, !s
// CHECK: rec.div {{.*}}, %[[IT]] : !kv, !kv
!s = !rec.val
!k = !rec.val<K>
!v = !rec.val<V>
!kv = !rec.val<K, V>
func.func @published(%k: !rec.seq<K>, %v: !rec.seq<V>,
    %beta: !rec.seq<V> {rec.fact = "nonNegative", rec.name = "beta"},
    %g: !rec.seq {rec.fact = "nonPositive", rec.name = "g"},
    %prior: !rec.val {rec.fact = "positive", rec.name = "prior"}, %mu0: !kv)
    -> (!kv, !kv) {
  %I0 = rec.broadcast %prior to [K, V] : !rec.val
  %muT, %IT = rec.scan forward over(%k_t = %k : !k, %v_t = %v : !v, %b_t = %beta : !v, %g_t = %g : !rec.val)
      carry(%mu = %mu0 : !kv, %I = %I0 : !kv) attributes {rec.carries = ["mu", "I"]} {
    %a = rec.exp %g_t : !rec.val
    %aI = rec.mul %a, %I : !rec.val, !kv
    %e = rec.expm1 %g_t : !rec.val
    %left = rec.neg %e : !rec.val
    %drawn = rec.mul %left, %prior : !rec.val, !rec.val
    %k2 = rec.mul %k_t, %k_t : !k, !k
    %bk2 = rec.mul %k2, %b_t : !k, !v
    %i = rec.add %aI, %drawn : !kv, !rec.val
    // expected-remark @+1 {{state 'I' is kept less 'prior', towards which it relaxes}}
    %I1 = rec.add %i, %bk2 : !kv, !kv
    %r = rec.div %I, %I1 : !kv, !kv
    %d = rec.mul %a, %r : !rec.val, !kv
    %m = rec.mul %d, %mu : !kv, !kv
    %vk = rec.mul %k_t, %v_t : !k, !v
    %u = rec.div %vk, %I1 : !kv, !kv
    // expected-remark @+1 {{state 'mu' is made linear by a factor that its decay contains}}
    %mu1 = rec.add %m, %u : !kv, !kv
    rec.yield carry(%mu1, %I1 : !kv, !kv)
  }
  return %muT, %IT : !kv, !kv
}

// -----

// A running mean weighted by w: n * m is linear, though the decay 1 - w / n is
// no product.
// CHECK-LABEL: func.func @weighted_mean
// CHECK: rec.scan forward
// CHECK-SAME: rec.carries = ["m_scaled", "n"]
// CHECK: %[[WX:.*]] = rec.mul %{{.*}}, %{{.*}} : !d, !d
// CHECK: rec.add %m_scaled, %[[WX]]
!d = !rec.val<D>
func.func @weighted_mean(%w: !rec.seq<D> {rec.fact = "nonNegative", rec.name = "w"},
    %x: !rec.seq<D>, %m0: !d, %n0: !d {rec.fact = "positive", rec.name = "n"}) -> (!d, !d) {
  %mT, %nT = rec.scan forward over(%w_t = %w : !d, %x_t = %x : !d)
      carry(%m = %m0 : !d, %n = %n0 : !d) attributes {rec.carries = ["m", "n"]} {
    %n1 = rec.add %n, %w_t : !d, !d
    %s = rec.div %w_t, %n1 : !d, !d
    %e = rec.sub %x_t, %m : !d, !d
    %se = rec.mul %s, %e : !d, !d
    // expected-remark @+1 {{state 'm' is made linear by a factor that its decay contains}}
    %m1 = rec.add %m, %se : !d, !d
    rec.yield carry(%m1, %n1 : !d, !d)
  }
  return %mT, %nT : !d, !d
}

// -----

// A state with a decay of its own stays as it is.
// CHECK-LABEL: func.func @plain
// CHECK: rec.carries = ["S"]
// CHECK: rec.yield carry(%{{.*}} : !k)
!s = !rec.val
!k = !rec.val<K>
func.func @plain(%x: !rec.seq<K>, %g: !rec.seq, %S0: !rec.val<K>) -> !rec.val<K> {
  %ST = rec.scan forward over(%x_t = %x : !rec.val<K>, %g_t = %g : !rec.val)
      carry(%S = %S0 : !rec.val<K>) attributes {rec.carries = ["S"]} {
    %a = rec.exp %g_t : !rec.val
    %aS = rec.mul %a, %S : !rec.val, !rec.val<K>
    %S1 = rec.add %aS, %x_t : !rec.val<K>, !rec.val<K>
    rec.yield carry(%S1 : !rec.val<K>)
  }
  return %ST : !rec.val<K>
}
