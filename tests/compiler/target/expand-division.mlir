// Only whole AVX-512 vectors of f32 are divided by way of an estimate.
// RUN: recurra-opt %s --expand-division | FileCheck %s

// CHECK-LABEL: func.func @quotient
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.rcp14.ps.512"
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.mask.range.ps.512"
// CHECK: %[[INVERSE:.*]] = math.fma
// CHECK: arith.mulf %arg0, %[[INVERSE]]
func.func @quotient(%x: vector<16xf32>, %y: vector<16xf32>) -> vector<16xf32> {
  %0 = arith.divf %x, %y : vector<16xf32>
  return %0 : vector<16xf32>
}

// CHECK-LABEL: func.func @others
// CHECK: arith.divf {{.*}} : vector<8xf32>
// CHECK: arith.divf {{.*}} : f32
// CHECK: arith.divf {{.*}} : vector<16xf64>
func.func @others(%a: vector<8xf32>, %b: f32, %c: vector<16xf64>) -> (vector<8xf32>, f32, vector<16xf64>) {
  %0 = arith.divf %a, %a : vector<8xf32>
  %1 = arith.divf %b, %b : f32
  %2 = arith.divf %c, %c : vector<16xf64>
  return %0, %1, %2 : vector<8xf32>, f32, vector<16xf64>
}
