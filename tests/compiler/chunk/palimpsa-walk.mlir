// Palimpsa's forward in the walk form: states saved every 64 tokens.
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

// CHECK-LABEL: func.func @palimpsa_forward(
func.func @palimpsa_forward(%q: !tok_k {chunk.arg = "input q"}, %k: !tok_k {chunk.arg = "input k"}, %v: !tok_v {chunk.arg = "input v"},
    %beta: !tok_v {chunk.arg = "input beta"}, %g: !gate {chunk.arg = "input g"}, %prior: !head {chunk.arg = "input prior"},
    %scale: !one {chunk.arg = "input scale"}, %M0: !state {chunk.arg = "initial-state M"}, %J0: !state {chunk.arg = "initial-state J"},
    %o: !tok_v {chunk.arg = "output o"}, %MT: !state {chunk.arg = "final-state M"}, %JT: !state {chunk.arg = "final-state J"},
    %Msave: !save {chunk.arg = "checkpoint M"}, %Jsave: !save {chunk.arg = "checkpoint J"})
    attributes {chunk.extents = {K = 96, V = 32}} {
  // CHECK: chunk.forall %[[n:.*]] in N by 1, %[[h:.*]] in H by 1, %[[vs:.*]] in V by 16 {
  chunk.forall %n in N by 1, %h in H by 1, %vs in V by 16 {
    %p = chunk.load %prior[H = %h] : !head -> !s
    %sc = chunk.load %scale[] : !one -> !s
    // CHECK: chunk.load %{{.*}}[N = %[[n]], H = %[[h]], V:16 = %[[vs]]] : !n_h_k_v_f32 -> !kv
    %Mi = chunk.load %M0[N = %n, H = %h, V:16 = %vs] : !state -> !kv
    %Ji = chunk.load %J0[N = %n, H = %h, V:16 = %vs] : !state -> !kv
    // CHECK: %[[Mf:.*]]:2 = chunk.for %[[c:.*]] in T of %[[n]] by 64 carry(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}} : !kv, !kv) {
    %Mf, %Jf = chunk.for %c in T of %n by 64 carry(%Mc = %Mi, %Jc = %Ji : !kv, !kv) {
      chunk.store %Mc, %Msave[T:64 = %c, H = %h, V:16 = %vs] : !kv, !save
      chunk.store %Jc, %Jsave[T:64 = %c, H = %h, V:16 = %vs] : !kv, !save
      // CHECK: chunk.for %[[t:.*]] in %[[c]] : T:64 by 1 carry(
      %Me, %Je = chunk.for %t in %c : T:64 by 1 carry(%M = %Mc, %J = %Jc : !kv, !kv) {
        %q_t = chunk.load %q[T = %t, H = %h] : !tok_k -> !k
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
        // CHECK: chunk.dot %{{.*}}, %{{.*}} over [] into %{{.*}} : !k, !v, !kv
        %M1 = chunk.dot %k_t, %v_t over [] into %aM : !k, !v, !kv
        %J1 = chunk.dot %k2, %b_t over [] into %aJ : !k, !v, !kv
        %x = chunk.map (%a_ = %M1, %b_ = %J1, %c_ = %p, %d_ = %q_t : !kv, !kv, !s, !k) -> !kv {
          %z1 = arith.addf %b_, %c_ : f32
          %z2 = arith.divf %a_, %z1 : f32
          %z3 = arith.mulf %z2, %d_ : f32
          chunk.yield %z3 : f32
        }
        // CHECK: chunk.reduce add %{{.*}} over [K] : !kv -> !v
        %y = chunk.reduce add %x over [K] : !kv -> !v
        %o_t = chunk.map (%a_ = %sc, %b_ = %y : !s, !v) -> !v {
          %z1 = arith.mulf %a_, %b_ : f32
          chunk.yield %z1 : f32
        }
        chunk.store %o_t, %o[T = %t, H = %h, V:16 = %vs] : !v, !tok_v
        // CHECK: chunk.yield
        chunk.yield %M1, %J1 : !kv, !kv
      }
      chunk.yield %Me, %Je : !kv, !kv
    }
    chunk.store %Mf, %MT[N = %n, H = %h, V:16 = %vs] : !kv, !state
    chunk.store %Jf, %JT[N = %n, H = %h, V:16 = %vs] : !kv, !state
  }
  return
}
