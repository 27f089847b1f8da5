// Palimpsa's forward in the scan form: three nests, chunks in parallel.
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
!ends = !chunk.buf<T per 64, H, f32>

// CHECK-LABEL: func.func @palimpsa_scan(
func.func @palimpsa_scan(%q: !tok_k {chunk.arg = "input q"}, %k: !tok_k {chunk.arg = "input k"}, %v: !tok_v {chunk.arg = "input v"},
    %beta: !tok_v {chunk.arg = "input beta"}, %g: !gate {chunk.arg = "input g"}, %prior: !head {chunk.arg = "input prior"},
    %scale: !one {chunk.arg = "input scale"}, %M0: !state {chunk.arg = "initial-state M"}, %J0: !state {chunk.arg = "initial-state J"},
    %o: !tok_v {chunk.arg = "output o"}, %MT: !state {chunk.arg = "final-state M"}, %JT: !state {chunk.arg = "final-state J"},
    %Msave: !save {chunk.arg = "checkpoint M"}, %Jsave: !save {chunk.arg = "checkpoint J"})
    attributes {chunk.extents = {K = 96, V = 32}} {
  // CHECK: chunk.alloc workspace : !t64_h_k_v_f32
  %MU = chunk.alloc workspace : !save
  %JU = chunk.alloc workspace : !save
  %end_s = chunk.alloc workspace : !ends
  // What each chunk adds to the states, by products over its tokens.
  // CHECK: chunk.forall %{{.*}} in T of %{{.*}} by 64 {
  chunk.forall %n in N by 1, %h in H by 1, %vs in V by 16 {
    chunk.forall %c in T of %n by 64 {
      %k_c = chunk.load %k[T:64 = %c, H = %h] : !tok_k -> !tk
      %v_c = chunk.load %v[T:64 = %c, H = %h, V:16 = %vs] : !tok_v -> !tv
      %b_c = chunk.load %beta[T:64 = %c, H = %h, V:16 = %vs] : !tok_v -> !tv
      %g_c = chunk.load %g[T:64 = %c, H = %h] : !gate -> !t
      // CHECK: chunk.scan add %{{.*}} along T : !t
      %G = chunk.scan add %g_c along T : !t
      %end = chunk.reduce add %g_c over [T] : !t -> !s
      %kw_r = chunk.map (%a_ = %k_c, %b_ = %end, %c_ = %G : !tk, !s, !t) -> !tk {
        %z1 = arith.subf %b_, %c_ : f32
        %z2 = math.exp %z1 : f32
        %z3 = arith.mulf %a_, %z2 : f32
        chunk.yield %z3 : f32
      }
      // CHECK: chunk.mask %{{.*}}, %{{.*}} : !kt, T:64
      %kw = chunk.mask %kw_r, %c : !tk, T:64
      %m = chunk.dot %kw, %v_c over [T] : !tk, !tv -> !kv
      %k2w_r = chunk.map (%a_ = %k_c, %b_ = %kw : !tk, !tk) -> !tk {
        %z1 = arith.mulf %a_, %b_ : f32
        chunk.yield %z1 : f32
      }
      %k2w = chunk.mask %k2w_r, %c : !tk, T:64
      %j = chunk.dot %k2w, %b_c over [T] : !tk, !tv -> !kv
      chunk.store %m, %MU[T:64 = %c, H = %h, V:16 = %vs] : !kv, !save
      chunk.store %j, %JU[T:64 = %c, H = %h, V:16 = %vs] : !kv, !save
      // CHECK: chunk.store {{.*}} first(%{{.*}} : V:16) : !s, !t64_h_f32
      chunk.store %end, %end_s[T:64 = %c, H = %h] first(%vs : V:16) : !s, !ends
    }
  }
  // The states at the chunks' starts, which are the checkpoints.
  chunk.forall %n in N by 1, %h in H by 1, %vs in V by 16 {
    %Mi = chunk.load %M0[N = %n, H = %h, V:16 = %vs] : !state -> !kv
    %Ji = chunk.load %J0[N = %n, H = %h, V:16 = %vs] : !state -> !kv
    // CHECK: attributes {assoc = "affine"}
    %Mf, %Jf = chunk.for %c in T of %n by 64 carry(%M = %Mi, %J = %Ji : !kv, !kv) attributes {assoc = "affine"} {
      chunk.store %M, %Msave[T:64 = %c, H = %h, V:16 = %vs] : !kv, !save
      chunk.store %J, %Jsave[T:64 = %c, H = %h, V:16 = %vs] : !kv, !save
      %end = chunk.load %end_s[T:64 = %c, H = %h] : !ends -> !s
      %m = chunk.load %MU[T:64 = %c, H = %h, V:16 = %vs] : !save -> !kv
      %j = chunk.load %JU[T:64 = %c, H = %h, V:16 = %vs] : !save -> !kv
      %M1 = chunk.map (%a_ = %end, %b_ = %M, %c_ = %m : !s, !kv, !kv) -> !kv {
        %z1 = math.exp %a_ : f32
        %z2 = arith.mulf %z1, %b_ : f32
        %z3 = arith.addf %z2, %c_ : f32
        chunk.yield %z3 : f32
      }
      %J1 = chunk.map (%a_ = %end, %b_ = %J, %c_ = %j : !s, !kv, !kv) -> !kv {
        %z1 = math.exp %a_ : f32
        %z2 = arith.mulf %z1, %b_ : f32
        %z3 = arith.addf %z2, %c_ : f32
        chunk.yield %z3 : f32
      }
      chunk.yield %M1, %J1 : !kv, !kv
    }
    chunk.store %Mf, %MT[N = %n, H = %h, V:16 = %vs] : !kv, !state
    chunk.store %Jf, %JT[N = %n, H = %h, V:16 = %vs] : !kv, !state
  }
  // The walk's token loop, all chunks at once.
  chunk.forall %n in N by 1, %h in H by 1, %vs in V by 16 {
    %p = chunk.load %prior[H = %h] : !head -> !s
    %sc = chunk.load %scale[] : !one -> !s
    chunk.forall %c in T of %n by 64 {
      %Mc = chunk.load %Msave[T:64 = %c, H = %h, V:16 = %vs] : !save -> !kv
      %Jc = chunk.load %Jsave[T:64 = %c, H = %h, V:16 = %vs] : !save -> !kv
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
        %M1 = chunk.dot %k_t, %v_t over [] into %aM : !k, !v, !kv
        %J1 = chunk.dot %k2, %b_t over [] into %aJ : !k, !v, !kv
        %x = chunk.map (%a_ = %M1, %b_ = %J1, %c_ = %p, %d_ = %q_t : !kv, !kv, !s, !k) -> !kv {
          %z1 = arith.addf %b_, %c_ : f32
          %z2 = arith.divf %a_, %z1 : f32
          %z3 = arith.mulf %z2, %d_ : f32
          chunk.yield %z3 : f32
        }
        %y = chunk.reduce add %x over [K] : !kv -> !v
        %o_t = chunk.map (%a_ = %sc, %b_ = %y : !s, !v) -> !v {
          %z1 = arith.mulf %a_, %b_ : f32
          chunk.yield %z1 : f32
        }
        chunk.store %o_t, %o[T = %t, H = %h, V:16 = %vs] : !v, !tok_v
        chunk.yield %M1, %J1 : !kv, !kv
      }
    }
  }
  return
}
