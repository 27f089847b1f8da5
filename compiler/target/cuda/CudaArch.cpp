// The driver, loaded with dlopen, is only asked for the compute capability.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/CudaArch.h"

#include "llvm/ADT/StringExtras.h"

#include <dlfcn.h>

using namespace llvm;

namespace recurra::cuda {

/// Major and minor number as one, or 0.
static int capabilityOfDevice() {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!driver) {
    return 0;
  }
  auto init = reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"));
  auto current =
      reinterpret_cast<int (*)(int *)>(dlsym(driver, "cuCtxGetDevice"));
  auto get =
      reinterpret_cast<int (*)(int *, int)>(dlsym(driver, "cuDeviceGet"));
  auto attribute = reinterpret_cast<int (*)(int *, int, int)>(
      dlsym(driver, "cuDeviceGetAttribute"));
  constexpr int majorNumber = 75, minorNumber = 76; // of CUdevice_attribute
  int device = 0, major = 0, minor = 0;
  if (!init || !current || !get || !attribute || init(0) != 0 ||
      (current(&device) != 0 && get(&device, 0) != 0) ||
      attribute(&major, majorNumber, device) != 0 ||
      attribute(&minor, minorNumber, device) != 0) {
    return 0;
  }
  return 10 * major + minor;
}

/// sm_ and two or three digits, then perhaps a or f.
static bool isArch(StringRef name) {
  if (!name.consume_front("sm_")) {
    return false;
  }
  if (!name.empty() && (name.back() == 'a' || name.back() == 'f')) {
    name = name.drop_back();
  }
  return (name.size() == 2 || name.size() == 3) && all_of(name, isDigit);
}

bool resolveCudaArch(StringRef name, std::string &arch, std::string &message) {
  if (name == "native") {
    int capability = capabilityOfDevice();
    if (capability == 0) {
      message = "arch \"native\" needs an NVIDIA GPU and its driver, and found "
                "none; name an architecture, as in \"sm_90a\"";
      return false;
    }
    arch = "sm_" + std::to_string(capability) + (capability == 90 ? "a" : "");
    return true;
  }
  if (!isArch(name)) {
    message = "'" + name.str() +
              "' is no CUDA architecture; use \"native\" or a "
              "name such as \"sm_90a\"";
    return false;
  }
  arch = name.str();
  return true;
}

} // namespace recurra::cuda
