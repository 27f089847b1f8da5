// The CPU target: its passes in order, and what the Artifact takes from them.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Artifact.h"
#include "compiler/target/Target.h"
#include "compiler/target/cpu/CpuArch.h"
#include "compiler/target/cpu/CpuPasses.h"
#include "compiler/target/cpu/EmitObject.h"
#include "compiler/target/cpu/RowSweep.h"
#include "compiler/target/cuda/CudaTarget.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace recurra {

namespace {

class CpuTarget : public Target {
public:
  bool describe(StringRef name, TargetDescription &description,
                std::string &message) const override {
    CpuArch arch;
    if (!resolveCpuArch(name, arch, message)) {
      return false;
    }
    description.lanes = arch.vectorBytes / 4;
    description.l1Bytes = 32 << 10;
    description.l2Bytes = 1 << 20;
    description.tokensOfPart = cpu::tokensOfPart;
    return true;
  }

  void lower(OpPassManager &passes, StringRef name) const override {
    CpuArch arch;
    std::string message;
    // An unknown name has been reported by `describe`.
    if (!resolveCpuArch(name, arch, message)) {
      return;
    }
    passes.addPass(createChunkToVectorPass(arch.vectorBytes));
    passes.addPass(createCSEPass());
    passes.addPass(createExpandMathPass());
    if (arch.isa == "avx512") {
      passes.addPass(createExpandDivisionPass());
    }
    passes.addPass(createSCFToControlFlowPass());
    passes.addPass(createConvertVectorToLLVMPass());
    passes.addPass(createConvertMathToLLVMPass());
    passes.addPass(createArithToLLVMConversionPass());
    passes.addPass(createConvertControlFlowToLLVMPass());
    passes.addPass(createConvertFuncToLLVMPass());
    passes.addPass(createReconcileUnrealizedCastsPass());
  }

  bool emit(ModuleOp module, StringRef name, Artifact &artifact,
            std::string &message) const override {
    CpuArch arch;
    if (!resolveCpuArch(name, arch, message) ||
        !emitCode(module, arch, CodeForm::Object, artifact.code, message)) {
      return false;
    }
    artifact.target = "cpu";
    artifact.arch = arch.isa + " " + arch.cpu;
    artifact.nests.clear();
    for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
      if (function->hasAttr("recurra.tasks")) {
        artifact.nests.push_back(nestOf(function));
      }
    }
    return true;
  }

  bool print(ModuleOp module, StringRef name, StringRef stage,
             std::string &text, std::string &message) const override {
    CpuArch arch;
    CodeForm form = stage == "asm" ? CodeForm::Assembly : CodeForm::Ir;
    return resolveCpuArch(name, arch, message) &&
           emitCode(module, arch, form, text, message);
  }

private:
  static Nest nestOf(LLVM::LLVMFuncOp function) {
    Nest nest;
    nest.entry = function.getName().str();
    for (auto factor : function->getAttrOfType<ArrayAttr>("recurra.tasks")
                           .getAsRange<StringAttr>()) {
      nest.tasks.push_back(factor.str());
    }
    nest.scratchBytes =
        function->getAttrOfType<IntegerAttr>("recurra.scratch").getInt();
    return nest;
  }
};

} // namespace

const Target *findTarget(StringRef name) {
  static const CpuTarget cpu;
  return name == "cpu" ? &cpu : name == "cuda" ? &cudaTarget() : nullptr;
}

void registerTargetPasses() {
  registerPass([] { return createChunkToVectorPass(64); });
  registerPass([] { return createExpandMathPass(); });
  registerPass([] { return createExpandDivisionPass(); });
  PassPipelineRegistration<>("lower-to-cpu",
                             "From chunk to the llvm dialect, for AVX-512",
                             [](OpPassManager &passes) {
                               findTarget("cpu")->lower(passes, "avx512");
                             });
}

} // namespace recurra
