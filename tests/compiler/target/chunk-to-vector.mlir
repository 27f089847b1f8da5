// A token's update and read of a state is one loop over rows: the state is
// loaded and stored once per vector, products stay in registers, the sum over
// the rows is carried by the loop. Nothing else is stored in it.
// RUN: recurra-opt %s --chunk-to-vector --cse | FileCheck %s

!s = !chunk.tile<>
!k = !chunk.tile<K:8>
!v = !chunk.tile<V:16>
!kv = !chunk.tile<K:8, V:16>
// CHECK-LABEL: func.func @walk_nest0
// CHECK-SAME: recurra.tasks = ["N", "H"]
// CHECK: %[[ROWS:.*]]:4 = scf.for {{.*}} step %c4_i64 iter_args
// CHECK-COUNT-4: llvm.store {{.*}} : vector<16xf32>
// CHECK-NOT: llvm.store
// CHECK: scf.yield
// CHECK: arith.addf %[[ROWS]]#0, %[[ROWS]]#1
// CHECK: llvm.call_intrinsic "llvm.x86.sse.ldmxcsr"
// CHECK-NEXT: return
func.func @walk(%q: !chunk.buf<T, H, K>, %v: !chunk.buf<T, H, V>, %S0: !chunk.buf<N, H, K, V>,
    %o: !chunk.buf<T, H, V>) attributes {chunk.extents = {K = 8 : i64, V = 16 : i64}} {
  chunk.forall %n in N by 1, %h in H by 1 {
    %Si = chunk.load %S0[N = %n, H = %h] : !chunk.buf<N, H, K, V> -> !kv
    %Sf = chunk.for %t in T of %n by 1 carry(%S = %Si : !kv) {
      %q_t = chunk.load %q[T = %t, H = %h] : !chunk.buf<T, H, K> -> !k
      %v_t = chunk.load %v[T = %t, H = %h] : !chunk.buf<T, H, V> -> !v
      %S1 = chunk.dot %q_t, %v_t over [] into %S : !k, !v, !kv
      %y = chunk.dot %S1, %q_t over [K] : !kv, !k -> !v
      chunk.store %y, %o[T = %t, H = %h] : !v, !chunk.buf<T, H, V>
      chunk.yield %S1 : !kv
    }
    chunk.yield
  }
  return
}

// A sum over the lanes leaves one vector per row; sixteen are summed at once by
// shuffles.
// CHECK-LABEL: func.func @lanes_nest0
// CHECK-COUNT-16: llvm.load {{.*}} : !llvm.ptr -> vector<16xf32>
// CHECK-COUNT-30: vector.shuffle
// CHECK-NOT: vector.shuffle
// CHECK: llvm.store {{.*}} : vector<16xf32>
func.func @lanes(%S0: !chunk.buf<N, H, K, V>, %o: !chunk.buf<N, H, K>)
    attributes {chunk.extents = {K = 8 : i64, V = 16 : i64}} {
  chunk.forall %n in N by 1, %h in H by 1 {
    %S = chunk.load %S0[N = %n, H = %h] : !chunk.buf<N, H, K, V> -> !kv
    %y = chunk.reduce add %S over [V] : !kv -> !k
    chunk.store %y, %o[N = %n, H = %h] : !k, !chunk.buf<N, H, K>
    chunk.yield
  }
  return
}
