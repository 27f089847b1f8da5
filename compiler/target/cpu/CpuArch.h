// The CPUs that code is generated for: "native" (this host), "avx512"
// (x86-64-v4) and "avx2" (x86-64-v3).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <memory>
#include <string>

namespace llvm {
class TargetMachine;
} // namespace llvm

namespace recurra {

struct CpuArch {
  std::string isa;      ///< "avx512" or "avx2"
  std::string cpu;      ///< LLVM's name
  std::string features; ///< LLVM's feature string
  std::int64_t vectorBytes = 0;
};

/// False, with a message, if the name is unknown or the host has no AVX2.
bool resolveCpuArch(llvm::StringRef name, CpuArch &arch, std::string &message);

/// A machine for position-independent x86-64 ELF; null with a message if LLVM
/// has none.
std::unique_ptr<llvm::TargetMachine> createMachine(const CpuArch &arch,
                                                   std::string &message);

} // namespace recurra
