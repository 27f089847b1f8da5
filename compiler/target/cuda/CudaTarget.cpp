// No passes: the printer reads `chunk` itself. Resources of the kernels come
// from the assembler's report.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/CudaTarget.h"

#include "compiler/Artifact.h"
#include "compiler/SideBySide.h"
#include "compiler/target/cuda/CudaArch.h"
#include "compiler/target/cuda/Disassemble.h"
#include "compiler/target/cuda/KernelPrinter.h"
#include "compiler/target/cuda/Nvrtc.h"
#include "compiler/target/cuda/ScanTiles.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace recurra {

namespace {

/// The number before `unit` in the report on one kernel; 0 if it is not there.
std::int64_t numberBefore(StringRef report, StringRef unit) {
  std::size_t at = report.find(unit);
  if (at == StringRef::npos) {
    return 0;
  }
  StringRef before = report.take_front(at).rtrim();
  std::int64_t number = 0;
  before.substr(before.find_last_not_of("0123456789") + 1)
      .getAsInteger(10, number);
  return number;
}

/// ptxas reports "Compiling entry function 'NAME' .. bytes spill stores ..
/// Used N registers".
void readResources(StringRef log, Nest &nest) {
  std::size_t at = log.find("function '" + nest.entry + "'");
  if (at == StringRef::npos) {
    return;
  }
  StringRef report = log.substr(at);
  report = report.take_front(report.find("Compiling entry function", 1));
  nest.registers = numberBefore(report, " registers");
  nest.spillBytes = numberBefore(report, " bytes spill stores");
}

/// The kernels side by side. False with the first message if one does not
/// compile.
bool compileAll(const cuda::Program &program, const std::string &arch,
                std::vector<cuda::Compiled> &compiled, std::string &message) {
  std::size_t count = program.kernels.size();
  compiled.resize(count);
  std::vector<std::string> messages(count);
  std::vector<char> areDone(count);
  sideBySide(count, [&](std::size_t i) {
    areDone[i] = cuda::compileCuda(program.head + program.kernels[i], arch,
                                   false, compiled[i], messages[i]);
  });
  for (std::size_t i = 0; i < count; ++i) {
    if (!areDone[i]) {
      message = messages[i];
      return false;
    }
  }
  return true;
}

constexpr std::size_t codeAlignment = 64; // of cubins one behind the other

class CudaTarget : public Target {
public:
  bool describe(StringRef name, TargetDescription &description,
                std::string &message) const override {
    std::string arch;
    description.lanes = 32;
    description.l2Bytes = 4 << 20;
    description.registersForward = 128;
    description.registersBackward = 128;
    if (!cuda::resolveCudaArch(name, arch, message)) {
      return false;
    }
    // Roles of warps share registers by an instruction of this architecture.
    description.scanTile = arch == "sm_90a" ? scanTile : nullptr;
    return true;
  }

  bool hasScanForm(ModuleOp module, std::string &why) const override {
    func::FuncOp function = functionOf(module);
    function->setAttr(cuda::scanAttr, UnitAttr::get(module.getContext()));
    return cuda::hasScanForm(function, why);
  }

  void lower(OpPassManager &, StringRef) const override {}

  bool emit(ModuleOp module, StringRef name, Artifact &artifact,
            std::string &message) const override {
    std::string arch;
    cuda::Program program = cuda::printProgram(functionOf(module));
    std::vector<cuda::Compiled> compiled;
    if (!cuda::resolveCudaArch(name, arch, message) ||
        !compileAll(program, arch, compiled, message)) {
      return false;
    }
    artifact.target = "cuda";
    artifact.arch = arch;
    artifact.code.clear();
    for (auto [nest, kernel] : llvm::zip(program.nests, compiled)) {
      readResources(kernel.log, nest);
      nest.codeOffset = static_cast<std::int64_t>(artifact.code.size());
      artifact.code += kernel.code;
      artifact.code.resize(llvm::alignTo(artifact.code.size(), codeAlignment));
    }
    artifact.nests = std::move(program.nests);
    llvm::append_range(artifact.workspaces, program.workspaces);
    artifact.spanTokens = program.spanTokens;
    artifact.fewHeads = program.fewHeads;
    artifact.plan += cuda::spansInPlan(program);
    return true;
  }

  bool print(ModuleOp module, StringRef name, StringRef stage,
             std::string &text, std::string &message) const override {
    std::string source = cuda::printProgram(functionOf(module)).text();
    if (stage == "cuda") {
      text = source;
      return true;
    }
    std::string arch;
    cuda::Compiled compiled;
    bool isPtx = stage == "ptx";
    if ((!isPtx && stage != "sass")) {
      message = "the CUDA target has the stages cuda, ptx and sass, not '" +
                stage.str() + "'";
      return false;
    }
    if (!cuda::resolveCudaArch(name, arch, message) ||
        !cuda::compileCuda(source, arch, isPtx, compiled, message)) {
      return false;
    }
    text = compiled.code;
    return isPtx || cuda::disassemble(compiled.code, text, message);
  }

private:
  static std::int64_t scanTile(std::int64_t rows, std::int64_t columns,
                               std::int64_t states, bool isReverse) {
    cuda::ScanTiles tiles =
        cuda::chooseScanTiles(rows, columns, states, isReverse,
                              /*hasVectorDecay=*/false);
    return isReverse ? tiles.columns() : tiles.rows();
  }

  static func::FuncOp functionOf(ModuleOp module) {
    return *module.getOps<func::FuncOp>().begin();
  }
};

} // namespace

const Target &cudaTarget() {
  static const CudaTarget target;
  return target;
}

} // namespace recurra
