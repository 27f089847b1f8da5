// Detects the host and makes LLVM target machines.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cpu/CpuArch.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

#include <mutex>

namespace recurra {

static bool hasAll(const llvm::StringMap<bool> &features,
                   std::initializer_list<llvm::StringRef> wanted) {
  return llvm::all_of(
      wanted, [&](llvm::StringRef name) { return features.lookup(name); });
}

static bool resolveHost(CpuArch &arch, std::string &message) {
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  if (!hasAll(features, {"avx2", "fma", "f16c", "bmi2"})) {
    message = "this host lacks AVX2, FMA, F16C or BMI2, which generated CPU "
              "code needs";
    return false;
  }
  bool wide = hasAll(
      features, {"avx512f", "avx512dq", "avx512bw", "avx512vl", "avx512cd"});
  arch.isa = wide ? "avx512" : "avx2";
  arch.cpu = llvm::sys::getHostCPUName().str();
  // Sorted, so that equal hosts give equal text.
  std::vector<std::string> names;
  for (const auto &feature : features) {
    names.push_back((feature.second ? "+" : "-") + feature.first().str());
  }
  llvm::sort(names);
  arch.features = llvm::join(names, ",");
  return true;
}

bool resolveCpuArch(llvm::StringRef name, CpuArch &arch, std::string &message) {
  if (name == "avx512" || name == "avx2") {
    arch.isa = name.str();
    arch.cpu = name == "avx512" ? "x86-64-v4" : "x86-64-v3";
    arch.features.clear();
  } else if (name == "native") {
    if (!resolveHost(arch, message)) {
      return false;
    }
  } else {
    message = "unknown CPU architecture '" + name.str() +
              "'; use native, avx512 or avx2";
    return false;
  }
  arch.vectorBytes = arch.isa == "avx512" ? 64 : 32;
  return true;
}

std::unique_ptr<llvm::TargetMachine> createMachine(const CpuArch &arch,
                                                   std::string &message) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
  llvm::Triple triple("x86_64-unknown-linux-gnu");
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, message);
  if (!target) {
    return nullptr;
  }
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Fast;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, arch.cpu, arch.features, options, llvm::Reloc::PIC_,
      llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
}

} // namespace recurra
