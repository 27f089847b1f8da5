// GPU architectures by name, and the one of the GPU at hand.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>

namespace recurra::cuda {

/// "sm_90a" and the like as they are; "native" becomes that of the thread's
/// current CUDA device, else of the first. False, with a message, for a name
/// that is none, or if there is no GPU.
bool resolveCudaArch(llvm::StringRef name, std::string &arch,
                     std::string &message);

} // namespace recurra::cuda
