// Every op and every way to write it prints as it was read.
// RUN: recurra-opt %s | FileCheck %s
// RUN: recurra-opt %s | recurra-opt | FileCheck %s

// CHECK-LABEL: func.func @loops(
func.func @loops(%x: !chunk.buf<T, H per 4, K, f16>, %y: !chunk.buf<T per 8, H, K per 2, f32>)
    attributes {chunk.extents = {K = 6}} {
  // CHECK: chunk.forall %[[n:.*]] in N by 1, %[[h:.*]] in H by 4, %[[ks:.*]] in K by 2 attributes {schedule = {cpu.lanes = "K"}} {
  chunk.forall %n in N by 1, %h in H by 4, %ks in K by 2 attributes {schedule = {cpu.lanes = "K"}} {
    // CHECK: chunk.forall %[[c:.*]] in T of %[[n]] by 8, %[[g:.*]] in %[[h]] : H:4 by 1 {
    chunk.forall %c in T of %n by 8, %g in %h : H:4 by 1 {
      // CHECK: chunk.load %{{.*}}[T:8 = %[[c]], H:4 = %[[h]], K:2 = %[[ks]]] : !t_h4_k_f16 -> !kt
      %a = chunk.load %x[T:8 = %c, H:4 = %h, K:2 = %ks] : !chunk.buf<T, H per 4, K, f16> -> !chunk.tile<K:2, T:8>
      // CHECK: chunk.for %{{.*}} in %[[c]] : T:8 by 2 reverse {
      chunk.for %t in %c : T:8 by 2 reverse {
      }
      %z = chunk.fill -1.5 : !chunk.tile<>
      chunk.store %z, %y[T:8 = %c, H = %g, K:2 = %ks] : !chunk.tile<>, !chunk.buf<T per 8, H, K per 2, f32>
    }
  }
  // CHECK: chunk.forall once {
  chunk.forall once {
    // CHECK: chunk.fill negative_infinity : !{{.*}}
    %m = chunk.fill negative_infinity : !chunk.tile<K:6, f64>
    // CHECK: chunk.for %{{.*}} in H by 1 carry(%{{.*}} = %{{.*}} : !{{.*}}) {
    %r = chunk.for %h in H by 1 carry(%c = %m : !chunk.tile<K:6, f64>) {
      chunk.yield %c : !chunk.tile<K:6, f64>
    }
  }
  return
}

// CHECK-LABEL: func.func @tiles(
func.func @tiles(%x: !chunk.buf<N, R, D, f64>, %o: !chunk.buf<N, D, f64>) attributes {chunk.extents = {D = 5, R = 2}} {
  chunk.forall %n in N by 1, %ds in D by 4 {
    %a = chunk.load %x[N = %n, D:4 = %ds] : !chunk.buf<N, R, D, f64> -> !chunk.tile<R:2, D:4, f64>
    // CHECK: chunk.index %{{.*}}[R = 1] : !{{.*}} -> !
    %b = chunk.index %a[R = 1] : !chunk.tile<D:4, R:2, f64> -> !chunk.tile<D:4, f64>
    // CHECK: chunk.place %{{.*}}[R = 0] : !{{.*}} -> !
    %c = chunk.place %b[R = 0] : !chunk.tile<D:4, f64> -> !chunk.tile<D:4, R:2, f64>
    // CHECK: chunk.mask %{{.*}}, %{{.*}} minusInfinity : !{{.*}}, D:4
    %d = chunk.mask %c, %ds minusInfinity : !chunk.tile<D:4, R:2, f64>, D:4
    // CHECK: chunk.reduce max %{{.*}} over [D] : !{{.*}} -> !
    %e = chunk.reduce max %d over [D] : !chunk.tile<D:4, R:2, f64> -> !chunk.tile<R:2, f64>
    // CHECK: chunk.rename %{{.*}}[R -> E] : !{{.*}} -> !
    %f = chunk.rename %e[R -> E] : !chunk.tile<R:2, f64> -> !chunk.tile<E:2, f64>
    // CHECK: chunk.first %{{.*}}, %{{.*}} : !{{.*}}, D:4
    %g = chunk.first %f, %ds : !chunk.tile<E:2, f64>, D:4
    // CHECK: chunk.scan max %{{.*}} along D : !
    %h = chunk.scan max %b along D : !chunk.tile<D:4, f64>
    // CHECK: chunk.dot %{{.*}}, %{{.*}} over [E] : !{{.*}}, !{{.*}} -> !
    %i = chunk.dot %g, %h over [E] : !chunk.tile<E:2, f64>, !chunk.tile<D:4, f64> -> !chunk.tile<D:4, f64>
    // CHECK: chunk.map (%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}} : !{{.*}}, !{{.*}}) -> !{{.*}} {
    %j = chunk.map (%p = %i, %q = %h : !chunk.tile<D:4, f64>, !chunk.tile<D:4, f64>) -> !chunk.tile<D:4, f64> {
      %less = arith.cmpf olt, %p, %q : f64
      %s = arith.select %less, %p, %q : f64
      chunk.yield %s : f64
    }
    chunk.store %j, %o[N = %n, D:4 = %ds] : !chunk.tile<D:4, f64>, !chunk.buf<N, D, f64>
  }
  return
}
