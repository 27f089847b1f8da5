// Draws the training batches of the coming steps on threads of its own, so that
// a GPU does not wait for them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Data.h"

#include <c10/core/Device.h>

#include <deque>
#include <future>

namespace recurra {

class Prefetch {
public:
  /// The first batch to be handed out is that of `index`. `data` must outlive
  /// this.
  Prefetch(const DataSet &data, at::Device device, int64_t index);

  /// The next batch, on the device.
  Batch next();

private:
  void start();

  const DataSet &data;
  at::Device device;
  int64_t upcoming;
  std::deque<std::future<Batch>> drawn;
};

} // namespace recurra
