// Events of torch's device interface: no CUDA header is needed.
// SPDX-License-Identifier: Apache-2.0
#include "models/Moment.h"

#include <c10/core/impl/VirtualGuardImpl.h>

namespace recurra {

Moment::Moment(c10::Device device) : host(std::chrono::steady_clock::now()) {
  if (!device.is_cpu()) {
    event.emplace(device.type(), c10::EventFlag::BACKEND_DEFAULT);
    const c10::impl::VirtualGuardImpl guard(device.type());
    event->record(guard.getStream(device));
  }
}

void Moment::wait() const {
  if (event) {
    event->synchronize();
  }
}

double Moment::until(const Moment &later) const {
  if (event) {
    return event->elapsedTime(*later.event);
  }
  return std::chrono::duration<double, std::milli>(later.host - host).count();
}

} // namespace recurra
