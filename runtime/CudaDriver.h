// The CUDA driver's functions that the runtime calls, loaded when first needed:
// the library itself needs neither a driver nor a GPU.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Status.h"

#include <cstddef>

namespace recurra {

/// Handles are pointers of the driver; a result of 0 is success.
struct CudaDriver {
  int (*deviceGet)(int *device, int ordinal);
  int (*deviceGetAttribute)(int *value, int attribute, int device);
  int (*primaryContextRetain)(void **context, int device);
  int (*contextPush)(void *context);
  int (*contextPop)(void **context);
  int (*moduleLoadData)(void **module, const void *image);
  int (*moduleGetFunction)(void **function, void *module, const char *name);
  int (*maxActiveBlocks)(int *blocks, void *function, int threads,
                         std::size_t sharedBytes);
  int (*functionSetAttribute)(void *function, int attribute, int value);
  int (*launchKernel)(void *function, unsigned gridX, unsigned gridY,
                      unsigned gridZ, unsigned blockX, unsigned blockY,
                      unsigned blockZ, unsigned sharedBytes, void *stream,
                      void **parameters, void **extra);
  int (*getErrorString)(int error, const char **text);
};

/// The driver, initialised; fails with a message that says what is missing.
Status findCudaDriver(const CudaDriver *&driver);

/// "sm_90a" and the like: the architecture of a GPU.
Status archOfDevice(int ordinal, std::string &arch);

/// A failed call of the driver in words; success if `error` is 0.
Status cudaStatus(const CudaDriver &driver, int error, const char *what);

} // namespace recurra
