// A recurrence as a differentiable function on tensors, by a user of the
// package and of LibTorch.
// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include <cstdio>
#include <dsl/dsl.h>
#include <ops/Ops.h>

int main() {
  using namespace recurra::dsl;
  Recurrence decay = define("decay", [](Builder &r) {
    Axis D = r.axis("D");
    Expr x = r.token("x", {D}), g = r.token("g", {}, nonPositive);
    State S = r.state("S", {D});
    S = exp(g) * S + x;
    r.output("y", S);
  });
  at::Tensor x = at::ones({1, 3, 1, 2}).set_requires_grad(true);
  at::Tensor g = at::zeros({1, 3, 1});
  at::Tensor y = recurra::call(decay, {x, g}).outputs[0];
  y.sum().backward();
  for (const at::Tensor &value : {y, x.grad()}) {
    auto data = static_cast<const float *>(value.const_data_ptr());
    std::printf("%g %g %g %g %g %g\n", data[0], data[1], data[2], data[3],
                data[4], data[5]);
  }
}
