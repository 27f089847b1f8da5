// A call of the running sum with its tensors, for the tests of the runtime.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "CompilerDouble.h"
#include "runtime/Kernel.h"

#include <numeric>

namespace recurra {

inline Spec runningSpec(bool packed = false) {
  Spec spec;
  spec.arch = "avx2";
  spec.extents = {{"K", 4}};
  spec.packed = packed;
  spec.initialStates = {"S"};
  spec.outputs = {"y"};
  spec.finalStates = {"S"};
  return spec;
}

/// x = 1, 2, 3, ..; initial state 100. A test may change any member.
struct RunningCall {
  std::int64_t batch, tokens, heads, sequences;
  std::vector<std::int64_t> offsets;
  std::vector<float> x, initial, y, final;
  std::vector<TensorView> tensors;

  RunningCall(std::int64_t batch, std::int64_t tokens, std::int64_t heads,
              std::vector<std::int64_t> cuSeqlens = {})
      : batch(batch), tokens(tokens), heads(heads),
        sequences(cuSeqlens.empty()
                      ? batch
                      : static_cast<std::int64_t>(cuSeqlens.size()) - 1),
        offsets(std::move(cuSeqlens)), x(batch * tokens * heads * 4),
        initial(sequences * heads * 4, 100), y(x.size(), -1),
        final(initial.size(), -1) {
    std::iota(x.begin(), x.end(), 1.0F);
    auto dense = [](std::vector<float> &values,
                    std::vector<std::int64_t> sizes) {
      return TensorView::dense(values.data(), DType::F32, std::move(sizes));
    };
    tensors = {dense(x, {batch, tokens, heads, 4}),
               dense(initial, {sequences, heads, 4}),
               dense(y, {batch, tokens, heads, 4}),
               dense(final, {sequences, heads, 4})};
  }

  recurra_sizes sizes() const {
    return {batch, tokens, heads, sequences,
            offsets.empty() ? nullptr : offsets.data()};
  }

  void launch(const recurra_host *host = nullptr) const {
    Kernel::compile(runningSum(), runningSpec(!offsets.empty()))
        .launch(tensors, sizes(), host);
  }

  /// What y and the final state must be, by the plainest loop.
  void expect(std::vector<float> &expectedY,
              std::vector<float> &expectedFinal) const {
    expectedY.assign(y.size(), -1);
    expectedFinal.assign(final.size(), -1);
    for (std::int64_t n = 0; n < sequences; ++n) {
      std::int64_t first = offsets.empty() ? n * tokens : offsets[n];
      std::int64_t last = offsets.empty() ? first + tokens : offsets[n + 1];
      for (std::int64_t i = 0; i < heads * 4; ++i) {
        float sum = initial[n * heads * 4 + i];
        for (std::int64_t t = first; t < last; ++t) {
          sum += x[t * heads * 4 + i];
          expectedY[t * heads * 4 + i] = sum;
        }
        expectedFinal[n * heads * 4 + i] = sum;
      }
    }
  }
};

} // namespace recurra
