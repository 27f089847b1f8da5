// Transcendental functions of f32 and f64 vectors and scalars become
// polynomials; what is no float of these types stays.
// RUN: recurra-opt %s --expand-math | FileCheck %s

// CHECK-LABEL: func.func @all
// CHECK-NOT: math.{{exp|expm1|log|log1p|tanh|rsqrt}}
// CHECK: return
func.func @all(%x: vector<16xf32>, %y: f64) -> (vector<16xf32>, f64) {
  %0 = math.exp %x : vector<16xf32>
  %1 = math.expm1 %0 : vector<16xf32>
  %2 = math.log %1 : vector<16xf32>
  %3 = math.log1p %2 : vector<16xf32>
  %4 = math.tanh %3 : vector<16xf32>
  %5 = math.rsqrt %4 : vector<16xf32>
  %6 = math.exp %y : f64
  return %5, %6 : vector<16xf32>, f64
}

// CHECK-LABEL: func.func @half
// CHECK: math.exp
func.func @half(%x: vector<16xf16>) -> vector<16xf16> {
  %0 = math.exp %x : vector<16xf16>
  return %0 : vector<16xf16>
}
