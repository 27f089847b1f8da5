// Palimpsa's backward in the walk form: checkpoint, recompute, walk back; partial sums over V tiles.
// RUN: recurra-opt %s | FileCheck %s
// RUN: recurra-opt %s | recurra-opt | FileCheck %s
!s = !chunk.tile<>
!k = !chunk.tile<K:96>
!v = !chunk.tile<V:16>
!kv = !chunk.tile<K:96, V:16>
!t = !chunk.tile<T:64>
!tk = !chunk.tile<K:96, T:64>
!tv = !chunk.tile<T:64, V:16>
!tok_k = !chunk.buf<T, H, K, bf16>
!tok_v = !chunk.buf<T, H, V, bf16>
!gate = !chunk.buf<T, H, f32>
!head = !chunk.buf<H, f32>
!one = !chunk.buf<f32>
!state = !chunk.buf<N, H, K, V, f32>
!save = !chunk.buf<T per 64, H, K, V, f32>
!tp = !chunk.tile<T:64, V:2>
!tkp = !chunk.tile<K:96, T:64, V:2>
!parts = !chunk.tile<V:2>
!hold = !chunk.buf<T:64, K, V:16, f32>
!part_k = !chunk.buf<T, H, K, V per 16, f32>
!part_s = !chunk.buf<T, H, V per 16, f32>
!part_p = !chunk.buf<N, H, V per 16, f32>

// CHECK-LABEL: func.func @palimpsa_backward(
func.func @palimpsa_backward(%q: !tok_k {chunk.arg = "input q"}, %k: !tok_k {chunk.arg = "input k"}, %v: !tok_v {chunk.arg = "input v"},
    %beta: !tok_v {chunk.arg = "input beta"}, %g: !gate {chunk.arg = "input g"}, %prior: !head {chunk.arg = "input prior"},
    %scale: !one {chunk.arg = "input scale"}, %M0: !state {chunk.arg = "initial-state M"}, %J0: !state {chunk.arg = "initial-state J"},
    %Msave: !save {chunk.arg = "checkpoint M"}, %Jsave: !save {chunk.arg = "checkpoint J"}, %do: !tok_v {chunk.arg = "output-cotangent o"},
    %dMT: !state {chunk.arg = "final-state-cotangent M"}, %dJT: !state {chunk.arg = "final-state-cotangent J"},
    %dq: !tok_k {chunk.arg = "input-gradient q"}, %dk: !tok_k {chunk.arg = "input-gradient k"}, %dv: !tok_v {chunk.arg = "input-gradient v"},
    %dbeta: !tok_v {chunk.arg = "input-gradient beta"}, %dg: !gate {chunk.arg = "input-gradient g"}, %dprior: !head {chunk.arg = "input-gradient prior"},
    %dM0: !state {chunk.arg = "initial-state-gradient M"}, %dJ0: !state {chunk.arg = "initial-state-gradient J"})
    attributes {chunk.extents = {K = 96, V = 32}} {
  // CHECK: chunk.alloc workspace : !t_h_k_v16_f32
  %dqp = chunk.alloc workspace : !part_k
  %dkp = chunk.alloc workspace : !part_k
  %dgp = chunk.alloc workspace : !part_s
  %dpp = chunk.alloc workspace : !part_p
  chunk.forall %n in N by 1, %h in H by 1, %vs in V by 16 {
    %p = chunk.load %prior[H = %h] : !head -> !s
    %sc = chunk.load %scale[] : !one -> !s
    %dMi = chunk.load %dMT[N = %n, H = %h, V:16 = %vs] : !state -> !kv
    %dJi = chunk.load %dJT[N = %n, H = %h, V:16 = %vs] : !state -> !kv
    // CHECK: chunk.fill 0.000000e+00 : !s
    %z = chunk.fill 0.0 : !s
    // CHECK: chunk.for %{{.*}} in T of %{{.*}} by 64 reverse carry(
    %dMf, %dJf, %dpf = chunk.for %c in T of %n by 64 reverse carry(%dMc = %dMi, %dJc = %dJi, %dpc = %z : !kv, !kv, !s) {
      %Mc = chunk.load %Msave[T:64 = %c, H = %h, V:16 = %vs] : !save -> !kv
      %Jc = chunk.load %Jsave[T:64 = %c, H = %h, V:16 = %vs] : !save -> !kv
      // CHECK: chunk.alloc scratch : !tw_k_vw_f32
      %Ms = chunk.alloc scratch : !hold
      %Js = chunk.alloc scratch : !hold
      %Me, %Je = chunk.for %t in %c : T:64 by 1 carry(%M = %Mc, %J = %Jc : !kv, !kv) {
        %k_t = chunk.load %k[T = %t, H = %h] : !tok_k -> !k
        %v_t = chunk.load %v[T = %t, H = %h, V:16 = %vs] : !tok_v -> !v
        %b_t = chunk.load %beta[T = %t, H = %h, V:16 = %vs] : !tok_v -> !v
        %g_t = chunk.load %g[T = %t, H = %h] : !gate -> !s
        %k2 = chunk.map (%a_ = %k_t : !k) -> !k {
          %z1 = arith.mulf %a_, %a_ : f32
          chunk.yield %z1 : f32
        }
        %aM = chunk.map (%a_ = %g_t, %b_ = %M : !s, !kv) -> !kv {
          %z1 = math.exp %a_ : f32
          %z2 = arith.mulf %z1, %b_ : f32
          chunk.yield %z2 : f32
        }
        %aJ = chunk.map (%a_ = %g_t, %b_ = %J : !s, !kv) -> !kv {
          %z1 = math.exp %a_ : f32
          %z2 = arith.mulf %z1, %b_ : f32
          chunk.yield %z2 : f32
        }
        %M1 = chunk.dot %k_t, %v_t over [] into %aM : !k, !v, !kv
        %J1 = chunk.dot %k2, %b_t over [] into %aJ : !k, !v, !kv
        // CHECK: chunk.store %{{.*}}, %{{.*}}[T = %{{.*}}] : !kv, !tw_k_vw_f32
        chunk.store %M1, %Ms[T = %t] : !kv, !hold
        chunk.store %J1, %Js[T = %t] : !kv, !hold
        chunk.yield %M1, %J1 : !kv, !kv
      }
      %lp_r = chunk.map (%a_ = %dMc, %b_ = %Me, %c_ = %dJc, %d_ = %Je : !kv, !kv, !kv, !kv) -> !kv {
        %z1 = arith.mulf %a_, %b_ : f32
        %z2 = arith.mulf %c_, %d_ : f32
        %z3 = arith.addf %z1, %z2 : f32
        chunk.yield %z3 : f32
      }
      %Lc = chunk.reduce add %lp_r over [K, V] : !kv -> !s
      %dMe, %dJe, %Le, %dpe = chunk.for %t in %c : T:64 by 1 reverse carry(%dM = %dMc, %dJ = %dJc, %L = %Lc, %dp = %dpc : !kv, !kv, !s, !s) {
        %q_t = chunk.load %q[T = %t, H = %h] : !tok_k -> !k
        %k_t = chunk.load %k[T = %t, H = %h] : !tok_k -> !k
        %v_t = chunk.load %v[T = %t, H = %h, V:16 = %vs] : !tok_v -> !v
        %b_t = chunk.load %beta[T = %t, H = %h, V:16 = %vs] : !tok_v -> !v
        %g_t = chunk.load %g[T = %t, H = %h] : !gate -> !s
        %d_t = chunk.load %do[T = %t, H = %h, V:16 = %vs] : !tok_v -> !v
        %M1 = chunk.load %Ms[T = %t] : !hold -> !kv
        %J1 = chunk.load %Js[T = %t] : !hold -> !kv
        %r = chunk.map (%a_ = %J1, %b_ = %p : !kv, !s) -> !kv {
          %c1 = arith.constant 1.0 : f32
          %z2 = arith.addf %a_, %b_ : f32
          %z3 = arith.divf %c1, %z2 : f32
          chunk.yield %z3 : f32
        }
        %mu = chunk.map (%a_ = %M1, %b_ = %r : !kv, !kv) -> !kv {
          %z1 = arith.mulf %a_, %b_ : f32
          chunk.yield %z1 : f32
        }
        %cd = chunk.map (%a_ = %sc, %b_ = %d_t : !s, !v) -> !v {
          %z1 = arith.mulf %a_, %b_ : f32
          chunk.yield %z1 : f32
        }
        %GM = chunk.map (%a_ = %cd, %b_ = %q_t, %c_ = %r : !v, !k, !kv) -> !kv {
          %z1 = arith.mulf %a_, %b_ : f32
          %z2 = arith.mulf %z1, %c_ : f32
          chunk.yield %z2 : f32
        }
        %GJ = chunk.map (%a_ = %GM, %b_ = %mu : !kv, !kv) -> !kv {
          %z1 = arith.mulf %a_, %b_ : f32
          %z2 = arith.negf %z1 : f32
          chunk.yield %z2 : f32
        }
        %k2 = chunk.map (%a_ = %k_t : !k) -> !k {
          %z1 = arith.mulf %a_, %a_ : f32
          chunk.yield %z1 : f32
        }
        %U = chunk.map (%a_ = %dM, %b_ = %GM : !kv, !kv) -> !kv {
          %z1 = arith.addf %a_, %b_ : f32
          chunk.yield %z1 : f32
        }
        %W = chunk.map (%a_ = %dJ, %b_ = %GJ : !kv, !kv) -> !kv {
          %z1 = arith.addf %a_, %b_ : f32
          chunk.yield %z1 : f32
        }
        // CHECK: chunk.dot %{{.*}}, %{{.*}} over [V] : !kv, !v -> !k
        %dq_t = chunk.dot %mu, %cd over [V] : !kv, !v -> !k
        %dv_t = chunk.dot %U, %k_t over [K] : !kv, !k -> !v
        %dk1 = chunk.dot %U, %v_t over [V] : !kv, !v -> !k
        %db_t = chunk.dot %W, %k2 over [K] : !kv, !k -> !v
        %dk2 = chunk.dot %W, %b_t over [V] : !kv, !v -> !k
        %dk_t = chunk.map (%a_ = %dk1, %b_ = %k_t, %c_ = %dk2 : !k, !k, !k) -> !k {
          %z1 = arith.addf %b_, %b_ : f32
          %z2 = arith.mulf %z1, %c_ : f32
          %z3 = arith.addf %a_, %z2 : f32
          chunk.yield %z3 : f32
        }
        // CHECK: chunk.reduce add %{{.*}} over [K, V] : !kv -> !s
        %dp_t = chunk.reduce add %GJ over [K, V] : !kv -> !s
        %w = chunk.map (%a_ = %v_t, %b_ = %dv_t, %c_ = %b_t, %d_ = %db_t : !v, !v, !v, !v) -> !v {
          %z1 = arith.mulf %a_, %b_ : f32
          %z2 = arith.mulf %c_, %d_ : f32
          %z3 = arith.addf %z1, %z2 : f32
          chunk.yield %z3 : f32
        }
        %ws = chunk.reduce add %w over [V] : !v -> !s
        %dg_t = chunk.map (%a_ = %L, %b_ = %ws, %c_ = %p, %d_ = %dp_t : !s, !s, !s, !s) -> !s {
          %z1 = arith.subf %a_, %b_ : f32
          %z2 = arith.mulf %c_, %d_ : f32
          %z3 = arith.subf %z1, %z2 : f32
          chunk.yield %z3 : f32
        }
        chunk.store %dq_t, %dqp[T = %t, H = %h, V:16 = %vs] : !k, !part_k
        chunk.store %dk_t, %dkp[T = %t, H = %h, V:16 = %vs] : !k, !part_k
        chunk.store %dg_t, %dgp[T = %t, H = %h, V:16 = %vs] : !s, !part_s
        chunk.store %dv_t, %dv[T = %t, H = %h, V:16 = %vs] : !v, !tok_v
        chunk.store %db_t, %dbeta[T = %t, H = %h, V:16 = %vs] : !v, !tok_v
        %dM1 = chunk.map (%a_ = %g_t, %b_ = %U : !s, !kv) -> !kv {
          %z1 = math.exp %a_ : f32
          %z2 = arith.mulf %z1, %b_ : f32
          chunk.yield %z2 : f32
        }
        %dJ1 = chunk.map (%a_ = %g_t, %b_ = %W : !s, !kv) -> !kv {
          %z1 = math.exp %a_ : f32
          %z2 = arith.mulf %z1, %b_ : f32
          chunk.yield %z2 : f32
        }
        %dp1 = chunk.map (%a_ = %dp, %b_ = %dp_t : !s, !s) -> !s {
          %z1 = arith.addf %a_, %b_ : f32
          chunk.yield %z1 : f32
        }
        chunk.yield %dM1, %dJ1, %dg_t, %dp1 : !kv, !kv, !s, !s
      }
      chunk.yield %dMe, %dJe, %dpe : !kv, !kv, !s
    }
    chunk.store %dMf, %dM0[N = %n, H = %h, V:16 = %vs] : !kv, !state
    chunk.store %dJf, %dJ0[N = %n, H = %h, V:16 = %vs] : !kv, !state
    chunk.store %dpf, %dpp[N = %n, H = %h, V:16 = %vs] : !s, !part_p
  }
  // Partial sums of the V tiles, in a fixed order.
  chunk.forall %n in N by 1, %h in H by 1 {
    chunk.for %c in T of %n by 64 {
      // CHECK: chunk.load %{{.*}}[T:64 = %{{.*}}, H = %{{.*}}] : !t_h_k_v16_f32 -> !ktv
      %dqs = chunk.load %dqp[T:64 = %c, H = %h] : !part_k -> !tkp
      %dks = chunk.load %dkp[T:64 = %c, H = %h] : !part_k -> !tkp
      %dgs = chunk.load %dgp[T:64 = %c, H = %h] : !part_s -> !tp
      %dq_c = chunk.reduce add %dqs over [V] : !tkp -> !tk
      %dk_c = chunk.reduce add %dks over [V] : !tkp -> !tk
      %dg_c = chunk.reduce add %dgs over [V] : !tp -> !t
      chunk.store %dq_c, %dq[T:64 = %c, H = %h] : !tk, !tok_k
      chunk.store %dk_c, %dk[T:64 = %c, H = %h] : !tk, !tok_k
      chunk.store %dg_c, %dg[T:64 = %c, H = %h] : !t, !gate
    }
  }
  chunk.forall %h in H by 1 {
    %z = chunk.fill 0.0 : !s
    %sum = chunk.for %n in N by 1 carry(%acc = %z : !s) {
      %parts = chunk.load %dpp[N = %n, H = %h] : !part_p -> !parts
      %one_n = chunk.reduce add %parts over [V] : !parts -> !s
      %next = chunk.map (%a_ = %acc, %b_ = %one_n : !s, !s) -> !s {
        %z1 = arith.addf %a_, %b_ : f32
        chunk.yield %z1 : f32
      }
      chunk.yield %next : !s
    }
    chunk.store %sum, %dprior[H = %h] : !s, !head
  }
  return
}
