// Loops over the tokens of a span, where entries of a state do not meet: blocks
// of the state stay in registers over the tokens.
// RUN: recurra-opt %s --chunk-to-vector --cse | FileCheck %s

!s = !chunk.tile<>
!k = !chunk.tile<K:136>
!v = !chunk.tile<V:16>
!kv = !chunk.tile<K:136, V:16>

// Eight rows are loaded once, carried over sixteen tokens and stored once. A
// token stores nothing but its sum over the rows.
// CHECK-LABEL: func.func @forward_nest0
// CHECK: "llvm.intr.prefetch"
// CHECK-COUNT-8: llvm.load {{.*}} : !llvm.ptr -> vector<16xf32>
// CHECK: %[[S:.*]]:8 = scf.for {{.*}} iter_args
// CHECK: llvm.store {{.*}} : vector<16xf32>
// CHECK-NOT: llvm.store
// CHECK: scf.yield
// CHECK: llvm.store %[[S]]#0
// CHECK: llvm.store %[[S]]#7
func.func @forward(%q: !chunk.buf<T, H, K>, %v: !chunk.buf<T, H, V>,
    %o: !chunk.buf<T, H, V>) attributes {chunk.extents = {K = 136 : i64, V = 16 : i64}} {
  chunk.forall %n in N by 1, %h in H by 1 {
    %zero = chunk.fill 0.0 : !kv
    %end = chunk.for %c in T of %n by 64 carry(%Sc = %zero : !kv) {
      %Sn = chunk.for %t in %c : T:64 by 1 carry(%S = %Sc : !kv) {
        %q_t = chunk.load %q[T = %t, H = %h] : !chunk.buf<T, H, K> -> !k
        %v_t = chunk.load %v[T = %t, H = %h] : !chunk.buf<T, H, V> -> !v
        %S1 = chunk.dot %q_t, %v_t over [] into %S : !k, !v, !kv
        %y = chunk.dot %S1, %q_t over [K] : !kv, !k -> !v
        chunk.store %y, %o[T = %t, H = %h] : !v, !chunk.buf<T, H, V>
        chunk.yield %S1 : !kv
      }
      chunk.yield %Sn : !kv
    }
    chunk.yield
  }
  return
}

// The state after a token needs a sum over all rows of the one before: every
// token goes through the whole state.
// CHECK-LABEL: func.func @meeting_nest0
// CHECK-NOT: llvm.intr.prefetch
// CHECK: return
func.func @meeting(%q: !chunk.buf<T, H, K>, %o: !chunk.buf<T, H, V>)
    attributes {chunk.extents = {K = 136 : i64, V = 16 : i64}} {
  chunk.forall %n in N by 1, %h in H by 1 {
    %zero = chunk.fill 0.0 : !kv
    %end = chunk.for %c in T of %n by 64 carry(%Sc = %zero : !kv) {
      %Sn = chunk.for %t in %c : T:64 by 1 carry(%S = %Sc : !kv) {
        %q_t = chunk.load %q[T = %t, H = %h] : !chunk.buf<T, H, K> -> !k
        %y = chunk.dot %S, %q_t over [K] : !kv, !k -> !v
        %S1 = chunk.dot %q_t, %y over [] into %S : !k, !v, !kv
        chunk.store %y, %o[T = %t, H = %h] : !v, !chunk.buf<T, H, V>
        chunk.yield %S1 : !kv
      }
      chunk.yield %Sn : !kv
    }
    chunk.yield
  }
  return
}

// Back over tokens whose states are recomputed. The state before each part of
// sixteen tokens is kept; what both loops load of a token is loaded once. The
// sums of all eight rows come from one tree.
// CHECK-LABEL: func.func @backward_nest0
// CHECK-COUNT-1: llvm.intr.masked.load
// CHECK-NOT: llvm.intr.masked.load
// CHECK-COUNT-30: vector.shuffle
// CHECK-NOT: vector.shuffle
// CHECK-NOT: llvm.intr.masked.load
// CHECK: return
func.func @backward(%k: !chunk.buf<T, H, K>, %v: !chunk.buf<T, H, V>,
    %S0: !chunk.buf<T per 64, H, K, V>, %dk: !chunk.buf<T, H, K>)
    attributes {chunk.extents = {K = 136 : i64, V = 16 : i64}} {
  chunk.forall %n in N by 1, %h in H by 1 {
    %zero = chunk.fill 0.0 : !kv
    %end = chunk.for %c in T of %n by 64 reverse carry(%dSc = %zero : !kv) {
      %Sc = chunk.load %S0[T:64 = %c, H = %h] : !chunk.buf<T per 64, H, K, V> -> !kv
      %trace = chunk.alloc scratch : !chunk.buf<T:64, K, V, f32>
      %Sn = chunk.for %t in %c : T:64 by 1 carry(%S = %Sc : !kv) {
        %k_t = chunk.load %k[T = %t, H = %h] : !chunk.buf<T, H, K> -> !k
        %v_t = chunk.load %v[T = %t, H = %h] : !chunk.buf<T, H, V> -> !v
        %S1 = chunk.dot %k_t, %v_t over [] into %S : !k, !v, !kv
        chunk.store %S, %trace[T = %t] : !kv, !chunk.buf<T:64, K, V, f32>
        chunk.yield %S1 : !kv
      }
      %dSn = chunk.for %t in %c : T:64 by 1 reverse carry(%dS = %dSc : !kv) {
        %k_t = chunk.load %k[T = %t, H = %h] : !chunk.buf<T, H, K> -> !k
        %S = chunk.load %trace[T = %t] : !chunk.buf<T:64, K, V, f32> -> !kv
        %dS1 = chunk.dot %k_t, %S over [] into %dS : !k, !kv, !kv
        %y = chunk.reduce add %dS1 over [V] : !kv -> !k
        chunk.store %y, %dk[T = %t, H = %h] : !k, !chunk.buf<T, H, K>
        chunk.yield %dS1 : !kv
      }
      chunk.yield %dSn : !kv
    }
    chunk.yield
  }
  return
}

// A row that asks for all lines of its tokens does so in a loop for each of q,
// v and o, not line by line.
// CHECK-LABEL: func.func @single_row_nest0
// CHECK-COUNT-3: "llvm.intr.prefetch"
// CHECK-NOT: "llvm.intr.prefetch"
// CHECK: return
func.func @single_row(%q: !chunk.buf<T, H, K>, %v: !chunk.buf<T, H, V>,
    %o: !chunk.buf<T, H, V>) attributes {chunk.extents = {K = 1 : i64, V = 2000 : i64}} {
  chunk.forall %n in N by 1, %h in H by 1 {
    %zero = chunk.fill 0.0 : !chunk.tile<K:1, V:2000>
    %end = chunk.for %c in T of %n by 64 carry(%Sc = %zero : !chunk.tile<K:1, V:2000>) {
      %Sn = chunk.for %t in %c : T:64 by 1 carry(%S = %Sc : !chunk.tile<K:1, V:2000>) {
        %q_t = chunk.load %q[T = %t, H = %h] : !chunk.buf<T, H, K> -> !chunk.tile<K:1>
        %v_t = chunk.load %v[T = %t, H = %h] : !chunk.buf<T, H, V> -> !chunk.tile<V:2000>
        %S1 = chunk.dot %q_t, %v_t over [] into %S : !chunk.tile<K:1>, !chunk.tile<V:2000>, !chunk.tile<K:1, V:2000>
        %y = chunk.dot %S1, %q_t over [K] : !chunk.tile<K:1, V:2000>, !chunk.tile<K:1> -> !chunk.tile<V:2000>
        chunk.store %y, %o[T = %t, H = %h] : !chunk.tile<V:2000>, !chunk.buf<T, H, V>
        chunk.yield %S1 : !chunk.tile<K:1, V:2000>
      }
      chunk.yield %Sn : !chunk.tile<K:1, V:2000>
    }
    chunk.yield
  }
  return
}
