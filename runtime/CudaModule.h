// Kernels of one op on the GPUs of this process.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/CallSizes.h"
#include "runtime/Host.h"

#include <map>
#include <mutex>

namespace recurra {

/// The cubins of an op, loaded into a device's primary context when first
/// launched there.
class CudaModule {
public:
  /// What one nest needs to be launched on one device.
  struct Function {
    void *handle = nullptr;
    std::int64_t residentBlocks = 0; ///< that the device holds at once
  };
  struct Device {
    void *context = nullptr;
    std::vector<Function> functions; ///< one per nest
  };

  /// The functions on a device; the same object at every call.
  Status on(int ordinal, const Artifact &artifact, const Device *&device);

private:
  std::mutex mutex;
  std::map<int, Device> devices;
};

/// Queues the nests on the host's stream. Waits for nothing.
Status runOnCuda(const recurra_kernel &kernel, const CallSizes &sizes,
                 const Host &host, const std::vector<KernelBuffer> &buffers);

} // namespace recurra
