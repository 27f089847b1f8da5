// Where the time of a training step goes: parts of the model mark their begin
// and end on the device's stream, in the forward pass and, as nodes of the
// autograd graph, in the backward pass. Without a Timeline marks cost nothing.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Moment.h"

#include <ATen/core/Tensor.h>

#include <array>
#include <vector>

namespace recurra {

enum class Part {
  Rest,
  Mixer, ///< the recurrence itself
  Matmul,
  Convolution,
  Norm,
  Gates, ///< elementwise work around the products and the recurrence
  Loss,
  Optimiser
};
inline constexpr std::array<const char *, 8> kPartNames = {
    "rest", "mixer", "matmul", "convolution",
    "norm", "gates", "loss",   "optimiser"};

class Timeline {
public:
  /// Becomes the one that marks go to, and starts. One at a time.
  explicit Timeline(at::Device device);
  ~Timeline();
  Timeline(const Timeline &) = delete;
  Timeline &operator=(const Timeline &) = delete;

  static Timeline *active();

  void enter(Part part);
  void leave();
  /// What follows belongs to the backward pass, or no longer.
  void setBackward(bool value);

  struct Times {
    std::array<double, kPartNames.size()> forward{}, backward{}; ///< in ms
  };
  /// Ends the step and waits for the device.
  Times finish();

private:
  struct Stamp {
    Part part; ///< from here on
    bool backward;
    Moment moment;
  };
  void stamp();

  at::Device device;
  std::vector<Part> open{Part::Rest};
  bool backward = false;
  std::vector<Stamp> stamps;
};

/// Counts what this thread does while it lives, and no backward pass, as
/// `part`.
class PartScope {
public:
  explicit PartScope(Part part);
  ~PartScope();
  PartScope(const PartScope &) = delete;
  PartScope &operator=(const PartScope &) = delete;
};

/// Marks the beginning of a part that computes with `inputs`; returns the same
/// tensors, whose gradients end it in the backward pass.
std::vector<at::Tensor> beginPart(Part part,
                                  const std::vector<at::Tensor> &inputs);

/// Marks its end, and its beginning in the backward pass.
at::Tensor endPart(Part part, const at::Tensor &output);

/// body(inputs), counted as `part`. Inputs that need no gradient, and
/// parameters, may be used by the body directly.
template <typename Body>
at::Tensor timed(Part part, const std::vector<at::Tensor> &inputs,
                 const Body &body) {
  if (!Timeline::active()) {
    return body(inputs);
  }
  return endPart(part, body(beginPart(part, inputs)));
}

} // namespace recurra
