// Finds devices, moves batches, switches autocast.
// SPDX-License-Identifier: Apache-2.0
#include "models/Device.h"

#include "dsl/Error.h"

#include <ATen/autocast_mode.h>
#include <torch/torch.h>

#include <cstdlib>
#include <sstream>

namespace recurra {

at::Device findDevice(const std::string &name) {
  if (name == "cpu") {
    return at::kCPU;
  }
  if (!torch::cuda::is_available()) {
    throw UserError("'run.device' is '" + name +
                    "' and torch finds no CUDA device: it needs an NVIDIA GPU, "
                    "its driver, and a torch built for CUDA; or set it to "
                    "'cpu'");
  }
  return {at::kCUDA, 0};
}

std::vector<std::string> visibleGpus() {
  const char *allowed = std::getenv("CUDA_VISIBLE_DEVICES");
  std::istringstream parts(allowed ? allowed : "");
  std::vector<std::string> names;
  for (int i = 0; i < int(torch::cuda::device_count()); ++i) {
    std::string name = std::to_string(i);
    if (allowed) {
      std::getline(parts, name, ',');
    }
    names.push_back(name);
  }
  return names;
}

namespace {

/// `change` of every tensor that a batch has.
template <typename Change>
Batch changed(const Batch &batch, const Change &change) {
  const auto apply = [&](const at::Tensor &tensor) {
    return tensor.defined() ? change(tensor) : at::Tensor();
  };
  return {apply(batch.tokens), apply(batch.targets), apply(batch.positions)};
}

} // namespace

Batch moveBatch(const Batch &batch, at::Device device) {
  return changed(batch, [&](const at::Tensor &tensor) {
    return tensor.to(device, /*non_blocking=*/true);
  });
}

Batch pinBatch(const Batch &batch) {
  return changed(batch,
                 [](const at::Tensor &tensor) { return tensor.pin_memory(); });
}

Autocast::Autocast(at::Device device, const std::string &precision)
    : type(device.type()), before(at::autocast::is_autocast_enabled(type)) {
  const bool enable = precision == "bfloat16";
  at::autocast::increment_nesting();
  at::autocast::set_autocast_enabled(type, enable);
  if (enable) {
    at::autocast::set_autocast_dtype(type, at::kBFloat16);
  }
}

Autocast::~Autocast() {
  if (at::autocast::decrement_nesting() == 0) {
    at::autocast::clear_cache();
  }
  at::autocast::set_autocast_enabled(type, before);
}

} // namespace recurra
