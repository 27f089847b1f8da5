// The device and the precision that a run computes with.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Data.h"

#include <c10/core/Device.h>

#include <string>
#include <vector>

namespace recurra {

/// "cpu", or "cuda" for the current GPU. Throws UserError if there is none.
at::Device findDevice(const std::string &name);

/// The GPUs that torch sees, each as CUDA_VISIBLE_DEVICES names it.
std::vector<std::string> visibleGpus();

/// Copies a batch to a device. From memory that pinBatch made the copy waits
/// for nothing.
Batch moveBatch(const Batch &batch, at::Device device);

/// The batch in pinned memory.
Batch pinBatch(const Batch &batch);

/// While it lives, torch's autocast casts the operands of matrix products to
/// bfloat16 on `device`, if `precision` is "bfloat16".
class Autocast {
public:
  Autocast(at::Device device, const std::string &precision);
  ~Autocast();
  Autocast(const Autocast &) = delete;
  Autocast &operator=(const Autocast &) = delete;

private:
  at::DeviceType type;
  bool before;
};

} // namespace recurra
