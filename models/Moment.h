// A point in the time of a device: an event on its current stream, or on the
// CPU the clock.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/Device.h>
#include <c10/core/Event.h>

#include <chrono>
#include <optional>

namespace recurra {

class Moment {
public:
  /// Now, as seen from the work given to the device so far.
  explicit Moment(c10::Device device);

  /// Returns when it has come.
  void wait() const;

  /// Milliseconds to `later`, a moment of the same device. Both must have come.
  double until(const Moment &later) const;

private:
  std::chrono::steady_clock::time_point host;
  std::optional<c10::Event> event; ///< on a GPU
};

} // namespace recurra
