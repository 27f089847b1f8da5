// Finding libcuda and its symbols.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/CudaDriver.h"

#include <dlfcn.h>

namespace recurra {
namespace {

struct Loaded {
  CudaDriver driver = {};
  Status status;
};

template <typename Function>
bool find(void *library, const char *name, Function &function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

bool findAll(void *library, CudaDriver &driver) {
  return find(library, "cuDeviceGet", driver.deviceGet) &&
         find(library, "cuDeviceGetAttribute", driver.deviceGetAttribute) &&
         find(library, "cuDevicePrimaryCtxRetain",
              driver.primaryContextRetain) &&
         find(library, "cuCtxPushCurrent_v2", driver.contextPush) &&
         find(library, "cuCtxPopCurrent_v2", driver.contextPop) &&
         find(library, "cuModuleLoadData", driver.moduleLoadData) &&
         find(library, "cuModuleGetFunction", driver.moduleGetFunction) &&
         find(library, "cuOccupancyMaxActiveBlocksPerMultiprocessor",
              driver.maxActiveBlocks) &&
         find(library, "cuFuncSetAttribute", driver.functionSetAttribute) &&
         find(library, "cuLaunchKernel", driver.launchKernel) &&
         find(library, "cuGetErrorString", driver.getErrorString);
}

Loaded loadDriver() {
  Loaded loaded;
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    loaded.status = {RECURRA_UNSUPPORTED,
                     "no NVIDIA driver on this machine (libcuda.so.1 is "
                     "missing); install one, or use the target cpu"};
    return loaded;
  }
  int (*initialise)(unsigned) = nullptr;
  if (!find(library, "cuInit", initialise) ||
      !findAll(library, loaded.driver)) {
    loaded.status = {RECURRA_UNSUPPORTED,
                     "the NVIDIA driver is too old; install one for CUDA 12 or "
                     "later"};
    return loaded;
  }
  loaded.status = cudaStatus(loaded.driver, initialise(0), "cuInit");
  return loaded;
}

} // namespace

Status cudaStatus(const CudaDriver &driver, int error, const char *what) {
  if (error == 0) {
    return {};
  }
  const char *text = nullptr;
  driver.getErrorString(error, &text);
  return {RECURRA_INTERNAL, std::string("the NVIDIA driver failed in ") + what +
                                ": " +
                                (text ? text : std::to_string(error).c_str())};
}

Status findCudaDriver(const CudaDriver *&driver) {
  static const Loaded loaded = loadDriver();
  driver = &loaded.driver;
  return loaded.status;
}

Status archOfDevice(int ordinal, std::string &arch) {
  const CudaDriver *driver = nullptr;
  if (Status status = findCudaDriver(driver); !status.ok()) {
    return status;
  }
  constexpr int majorNumber = 75, minorNumber = 76; // of CUdevice_attribute
  int device = 0, major = 0, minor = 0;
  int error = driver->deviceGet(&device, ordinal);
  error =
      error ? error : driver->deviceGetAttribute(&major, majorNumber, device);
  error =
      error ? error : driver->deviceGetAttribute(&minor, minorNumber, device);
  arch = "sm_" + std::to_string(10 * major + minor) +
         (major == 9 && minor == 0 ? "a" : "");
  return cudaStatus(*driver, error, "cuDeviceGetAttribute");
}

} // namespace recurra
