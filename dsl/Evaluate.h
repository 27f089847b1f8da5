// The oracle: one token at a time, in double, with gradients by reverse mode on
// the tape of the run. Slow on purpose; everything else is compared with it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dsl/Recurrence.h"

#include <cstdint>
#include <map>

namespace recurra {

/// A dense row-major array of doubles.
struct Array {
  std::vector<std::int64_t> sizes;
  std::vector<double> values;
};
using Arrays = std::map<std::string, Array>;

/// One call. Shapes, in declared axis order: token inputs [B, T, H, axes..]
/// (H / group heads if per group, no head axis if shared by all), head inputs
/// [H, axes..] likewise, scalars []; initial states [N, H, axes..]. Without
/// offsets N = B; with offsets (cu_seqlens, N + 1 of them) B is 1.
struct Call {
  std::int64_t batch = 1, tokens = 0, heads = 1, group = 1;
  std::map<std::string, std::int64_t> extents; ///< axis name -> size
  std::vector<std::int64_t> offsets;
  Arrays inputs;        ///< an absent input takes its declared default
  Arrays initialStates; ///< an absent state starts from its declared initial
};

struct Values {
  Arrays outputs;     ///< [B, T, H, axes..]
  Arrays finalStates; ///< [N, H, axes..]
};

/// Gradients have the shapes of what they are gradients of.
struct Gradients {
  Arrays inputs;
  Arrays initialStates; ///< of those that the call gave
};

Values evaluate(const Recurrence &recurrence, const Call &call);

/// Vector-Jacobian product; a cotangent that is absent counts as zero.
Gradients differentiate(const Recurrence &recurrence, const Call &call,
                        const Values &cotangents);

/// The derivative of every value along a direction (what is absent stands
/// still), by the complex step: it uses no derivative rule of `differentiate`
/// and is exact to rounding. Values are differentiable where no kink is met.
Values tangent(const Recurrence &recurrence, const Call &call,
               const Gradients &direction);

/// The number that stands for an input with a default, at these sizes.
double evaluateDefault(const Input &input,
                       const std::map<std::string, std::int64_t> &extents);

} // namespace recurra
