// Translates to LLVM IR, runs a short pipeline (MLIR has shaped the code
// already: loops, vectors and unrolling are final) and emits code.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cpu/EmitObject.h"

#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"

namespace recurra {

static const char *const shortPipeline =
    "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,"
    "loop-mssa(licm),simplifycfg)";

static std::unique_ptr<llvm::Module> translate(mlir::ModuleOp module,
                                               llvm::LLVMContext &context) {
  mlir::DialectRegistry registry;
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  module.getContext()->appendDialectRegistry(registry);
  return mlir::translateModuleToLLVMIR(module, context, "recurra");
}

static void setAttributes(llvm::Module &module, const CpuArch &arch) {
  std::string bits = std::to_string(arch.vectorBytes * 8);
  for (llvm::Function &function : module) {
    if (function.isDeclaration()) {
      continue;
    }
    function.addFnAttr("target-cpu", arch.cpu);
    if (!arch.features.empty()) {
      function.addFnAttr("target-features", arch.features);
    }
    function.addFnAttr("prefer-vector-width", bits);
    function.addFnAttr("min-legal-vector-width", bits);
    function.addFnAttr("frame-pointer", "none");
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }
}

static bool optimise(llvm::Module &module, llvm::TargetMachine &machine,
                     std::string &message) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager passes;
  if (llvm::Error error = builder.parsePassPipeline(passes, shortPipeline)) {
    message = llvm::toString(std::move(error));
    return false;
  }
  passes.run(module, modules);
  return true;
}

static bool generate(llvm::Module &module, llvm::TargetMachine &machine,
                     CodeForm form, std::string &text, std::string &message) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  auto type = form == CodeForm::Object ? llvm::CodeGenFileType::ObjectFile
                                       : llvm::CodeGenFileType::AssemblyFile;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, type)) {
    message = "LLVM cannot emit code for this target";
    return false;
  }
  passes.run(module);
  text.assign(bytes.begin(), bytes.end());
  return true;
}

bool emitCode(mlir::ModuleOp module, const CpuArch &arch, CodeForm form,
              std::string &text, std::string &message) {
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(arch, message);
  if (!machine) {
    return false;
  }
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code = translate(module, context);
  if (!code) {
    message = "cannot translate the module to LLVM IR";
    return false;
  }
  code->setTargetTriple(machine->getTargetTriple());
  code->setDataLayout(machine->createDataLayout());
  setAttributes(*code, arch);
  if (!optimise(*code, *machine, message)) {
    return false;
  }
  if (form == CodeForm::Ir) {
    text.clear();
    llvm::raw_string_ostream stream(text);
    code->print(stream, nullptr);
    return true;
  }
  return generate(*code, *machine, form, text, message);
}

} // namespace recurra
