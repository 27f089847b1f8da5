// Stamps on the stream, and the autograd nodes that set them in backward.
// SPDX-License-Identifier: Apache-2.0
#include "models/Timeline.h"

#include <torch/torch.h>

namespace recurra {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

namespace {

Timeline *current = nullptr;

/// Hands tensors through. Nodes run in the reverse order of their making, so
/// what a part made runs between the nodes of its end and its beginning.
struct Mark : torch::autograd::Function<Mark> {
  static variable_list forward(AutogradContext *context, int64_t part,
                               bool begins, at::TensorList tensors) {
    context->set_materialize_grads(false);
    context->saved_data["part"] = part;
    context->saved_data["begins"] = begins;
    return tensors.vec();
  }

  static variable_list backward(AutogradContext *context,
                                const variable_list &gradients) {
    if (Timeline *timeline = Timeline::active()) {
      if (context->saved_data["begins"].toBool()) {
        timeline->leave();
      } else {
        timeline->enter(Part(context->saved_data["part"].toInt()));
      }
    }
    variable_list results(2); // of `part` and `begins`
    results.insert(results.end(), gradients.begin(), gradients.end());
    return results;
  }
};

} // namespace

Timeline::Timeline(at::Device device) : device(device) {
  TORCH_CHECK(!current, "there is a Timeline already; end it first");
  current = this;
  stamp();
}

Timeline::~Timeline() { current = nullptr; }

Timeline *Timeline::active() { return current; }

void Timeline::stamp() {
  stamps.push_back({open.back(), backward, Moment(device)});
}

void Timeline::enter(Part part) {
  open.push_back(part);
  stamp();
}

void Timeline::leave() {
  // A part whose input needs no gradient is not left in the backward pass.
  if (open.size() > 1) {
    open.pop_back();
  }
  stamp();
}

void Timeline::setBackward(bool value) {
  backward = value;
  open.resize(1);
  stamp();
}

Timeline::Times Timeline::finish() {
  stamp();
  stamps.back().moment.wait();
  Times times;
  for (size_t i = 0; i + 1 < stamps.size(); ++i) {
    const Stamp &from = stamps[i];
    (from.backward ? times.backward : times.forward)[size_t(from.part)] +=
        from.moment.until(stamps[i + 1].moment);
  }
  return times;
}

PartScope::PartScope(Part part) {
  if (Timeline *timeline = Timeline::active()) {
    timeline->enter(part);
  }
}

PartScope::~PartScope() {
  if (Timeline *timeline = Timeline::active()) {
    timeline->leave();
  }
}

std::vector<Tensor> beginPart(Part part, const std::vector<Tensor> &inputs) {
  std::vector<Tensor> marked =
      Mark::apply(int64_t(part), /*begins=*/true, at::TensorList(inputs));
  Timeline::active()->enter(part);
  return marked;
}

Tensor endPart(Part part, const Tensor &output) {
  Timeline::active()->leave();
  const std::vector<Tensor> one = {output};
  return Mark::apply(int64_t(part), /*begins=*/false, at::TensorList(one))[0];
}

} // namespace recurra
