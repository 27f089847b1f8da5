// Batches ahead of time: they are functions of their number, so each may be
// drawn by itself.
// SPDX-License-Identifier: Apache-2.0
#include "models/Prefetch.h"

#include "models/Device.h"

#include <ATen/ATen.h>

namespace recurra {

Prefetch::Prefetch(const DataSet &data, at::Device device, int64_t index)
    : data(data), device(device), upcoming(index) {
  constexpr int kAhead = 4;
  for (int i = 0; i < kAhead; ++i) {
    start();
  }
}

void Prefetch::start() {
  const auto draw = [&data = data, device = device, index = upcoming] {
    const Batch batch = data.trainBatch(index);
    return device.is_cpu() ? batch : pinBatch(batch);
  };
  drawn.push_back(std::async(std::launch::async, draw));
  ++upcoming;
}

Batch Prefetch::next() {
  const Batch batch = drawn.front().get();
  drawn.pop_front();
  start();
  return moveBatch(batch, device);
}

} // namespace recurra
