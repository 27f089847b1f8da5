// A recurrence, compiled and run on plain memory, by a user of the package.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <dsl/dsl.h>
#include <runtime/Kernel.h>

int main() {
  using namespace recurra::dsl;
  Recurrence decay = define("decay", [](Builder &r) {
    Axis D = r.axis("D");
    Expr x = r.token("x", {D}), g = r.token("g", {}, nonPositive);
    State S = r.state("S", {D});
    S = exp(g) * S + x;
    r.output("y", S);
  });
  recurra::Spec spec{.extents = {{"D", 2}}, .outputs = {"y"}};
  float x[] = {1, 2, 1, 2, 1, 2}, g[] = {0, 0, -1e9F}, y[6];
  auto view = [](float *data, std::vector<std::int64_t> sizes) {
    return recurra::TensorView::dense(data, recurra::DType::F32, sizes);
  };
  recurra::Kernel::compile(decay, spec)
      .launch(
          {view(x, {1, 3, 1, 2}), view(g, {1, 3, 1}), view(y, {1, 3, 1, 2})},
          {.batch = 1, .tokens = 3, .heads = 1, .sequences = 1});
  std::printf("%g %g %g %g %g %g\n", y[0], y[1], y[2], y[3], y[4], y[5]);
}
