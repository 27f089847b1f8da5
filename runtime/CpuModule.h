// Object code in this process's memory, and the facts about this processor.
// The only room of the runtime that uses LLVM.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Status.h"

#include <vector>

namespace recurra {

/// Links a relocatable object into memory for ever. Fills the address of each
/// symbol. The object may use mem* functions of libc and nothing else.
Status loadObject(const std::string &object,
                  const std::vector<std::string> &symbols,
                  std::vector<void *> &addresses);

/// Name and features: what "native" stands for. Equal strings run equal code.
const std::string &hostProcessor();

/// The widest of the instruction sets "avx512", "avx2" that this processor
/// has; "none" otherwise.
const std::string &hostIsa();

std::string llvmVersion();

} // namespace recurra
