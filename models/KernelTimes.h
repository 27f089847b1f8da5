// What a GPU ran during a call, kernel by kernel, from torch's profiler.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace recurra {

struct KernelTime {
  std::string name;
  int64_t calls = 0;
  double milliseconds = 0;
};

/// Of all that `body` queues on `device`, the longest first. On the CPU:
/// torch's ops, each with those that it calls.
std::vector<KernelTime> profileKernels(c10::Device device,
                                       const std::function<void()> &body);

} // namespace recurra
