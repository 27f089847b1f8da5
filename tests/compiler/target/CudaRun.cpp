// Printing, compiling as C++ with the emulation in front, loading, running.
// SPDX-License-Identifier: Apache-2.0
#include "tests/compiler/target/CudaRun.h"

#include "compiler/Pipeline.h"
#include "compiler/passes/RecToChunk.h"
#include "compiler/target/cuda/KernelPrinter.h"
#include "compiler/target/cuda/ScanSpans.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/Parser/Parser.h"
#include "tests/compiler/ChunkRun.h"

#include <algorithm>
#include <atomic>
#include <dlfcn.h>
#include <gtest/gtest.h>

using namespace mlir;

namespace recurra {

static const char *const counter = "recurraCount";

/// The text with a count behind every `counted`.
static std::string counting(std::string text, const std::string &counted) {
  std::string more = std::string(" ++") + counter + ";";
  for (std::size_t at = text.find(counted); at != std::string::npos;
       at = text.find(counted, at + counted.size())) {
    text.insert(at + counted.size(), more);
  }
  return std::string("#include <atomic>\nextern \"C\" { std::atomic<long> ") +
         counter + "; }\n" + text;
}

CudaRun::CudaRun(const std::string &text, bool isScan, std::int64_t tokens,
                 const std::string &counted) {
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    error += diagnostic.str() + "\n";
    return success();
  });
  auto module = parseSourceString<ModuleOp>(text, &context);
  if (!module) {
    return;
  }
  auto function = *module->getOps<func::FuncOp>().begin();
  if (isScan) {
    function->setAttr(cuda::scanAttr, UnitAttr::get(&context));
    if (!cuda::hasScanForm(function, error)) {
      return;
    }
    error.clear();
  }
  if (tokens > 0) {
    function->setAttr(cuda::spanAttr,
                      Builder(&context).getI64IntegerAttr(tokens));
  }
  arguments = describeArguments(function);
  workspaces = describeWorkspaces(function);
  cuda::Program program = cuda::printProgram(function);
  nests = program.nests;
  workspaces.insert(workspaces.end(), program.workspaces.begin(),
                    program.workspaces.end());
  spanTokens = program.spanTokens;
  hasParts = program.fewHeads > 0;
  source =
      "#include \"tests/compiler/target/cuda_emulation.h\"\n" +
      (counted.empty() ? program.text() : counting(program.text(), counted));
  for (const Nest &nest : nests) {
    source += "extern \"C\" void run_" + nest.entry +
              "(const Buffers *buffers, const Shape *shape, Index tasks, char "
              "*scratch, unsigned blocks) {\n  auto kernel = [&] { " +
              nest.entry +
              "(*buffers, *shape, tasks, scratch); };\n"
              "  emulation::launch(blocks, " +
              std::to_string(nest.warps) + ", kernel);\n}\n";
  }
  build();
}

std::int64_t CudaRun::counts() const {
  return *static_cast<std::atomic<long> *>(dlsym(library, counter));
}

CudaRun::~CudaRun() {
  if (library) {
    dlclose(library);
  }
}

static bool execute(ArrayRef<StringRef> words) {
  return llvm::sys::ExecuteAndWait(words.front(), words) == 0;
}

/// Compiles through the compilers' cache, which knows a program by its text:
/// from run to run most stay the same.
static bool compile(StringRef folder) {
  std::string object = (folder + "/program.o").str();
  std::string library = (folder + "/program.so").str();
  return execute({"/usr/bin/env", "-C", folder, "ccache", RECURRA_CXX,
                  "-std=c++17", "-O1", "-w", "-fPIC", "-ffp-contract=fast",
                  "-fno-slp-vectorize", "-I", RECURRA_SOURCE_DIR, "-c",
                  "program.cpp"}) &&
         execute(
             {RECURRA_CXX, "-shared", "-fuse-ld=lld", "-o", library, object});
}

void CudaRun::build() {
  SmallString<128> folder;
  std::error_code failure;
  if (llvm::sys::fs::createUniqueDirectory("recurra", folder)) {
    error = "no temporary folder for the emulated program";
    return;
  }
  llvm::scope_exit remover(
      [&] { failure = llvm::sys::fs::remove_directories(folder); });
  llvm::raw_fd_ostream((folder + "/program.cpp").str(), failure) << source;
  if (!failure && compile(folder)) {
    library =
        dlopen((folder + "/program.so").str().c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  if (!library) {
    error = "the emulated program does not compile";
    return;
  }
  for (const Nest &nest : nests) {
    entries.push_back(
        reinterpret_cast<Entry>(dlsym(library, ("run_" + nest.entry).c_str())));
  }
}

/// Slots of spans, or parts, of so many tokens; 0: all of a sequence's.
static std::int64_t slotsOf(std::int64_t tokens, const KernelSizes &sizes) {
  if (tokens == 0 || sizes.tokens <= tokens) {
    return sizes.sequences();
  }
  return sizes.offsets.empty()
             ? sizes.rows * ((sizes.tokens + tokens - 1) / tokens)
             : sizes.tokens / tokens + sizes.sequences();
}

std::int64_t CudaRun::count(const std::string &size,
                            const KernelSizes &sizes) const {
  std::int64_t total = sizes.rows * sizes.tokens;
  const std::map<std::string, std::int64_t> symbols = {
      {"B", sizes.rows},
      {"T", sizes.tokens},
      {"H", sizes.heads},
      {"Hg", sizes.heads / sizes.group},
      {"N", sizes.sequences()},
      {"S", total / std::max<std::int64_t>(checkpointInterval, 1) +
                sizes.sequences()},
      {"P", slotsOf(spanTokens, sizes)},
      {"J", spanTokens > 0 && sizes.tokens > spanTokens},
      {"Q", slotsOf(partBits > 0 ? 1 << partBits : spanTokens, sizes)},
      {"A", partBits > 0}};
  auto found = symbols.find(size);
  return found == symbols.end() ? std::stoll(size) : found->second;
}

/// Those of the arguments, filled, then the workspaces.
std::vector<Tensor> CudaRun::tensorsOf(const KernelSizes &sizes,
                                       const Arrays &given, bool spread) const {
  std::vector<Tensor> tensors;
  auto allocate = [&](DType dtype, const std::vector<std::string> &shape,
                      bool isSpread, bool isDense) {
    std::vector<std::int64_t> extents;
    for (const std::string &size : shape) {
      extents.push_back(count(size, sizes));
    }
    bool isSecond = tensors.size() % 2 == 1 && !isDense;
    tensors.emplace_back(dtype, extents, isSpread && !isDense,
                         isSecond ? shift : 0, isSecond ? gap : 0);
  };
  for (const Argument &argument : arguments) {
    allocate(argument.dtype, argument.shape, spread,
             argument.kind == Argument::Checkpoint); // by the runtime's rule
    if (auto found = given.find(keyOf(argument)); found != given.end()) {
      tensors.back().write(found->second.values);
    }
  }
  for (const Workspace &workspace : workspaces) {
    allocate(workspace.dtype, workspace.shape, false, false);
  }
  return tensors;
}

Arrays CudaRun::run(const KernelSizes &sizes, const Arrays &given, bool spread,
                    unsigned blocks) {
  std::vector<Tensor> tensors = tensorsOf(sizes, given, spread);
  std::vector<KernelBuffer> buffers;
  for (const Tensor &tensor : tensors) {
    buffers.push_back(tensor.buffer());
  }
  KernelShape shape{sizes.rows,
                    sizes.tokens,
                    sizes.heads,
                    sizes.sequences(),
                    sizes.offsets.empty() ? nullptr : sizes.offsets.data(),
                    partBits > 0     ? partBits
                    : spanTokens > 0 ? llvm::Log2_64(spanTokens)
                                     : allTokensBits};
  for (auto [nest, entry] : llvm::zip(nests, entries)) {
    std::int64_t tasks = 1;
    for (const std::string &factor : nest.tasks) {
      tasks *= count(factor, sizes);
    }
    if (tasks == 0) {
      continue;
    }
    // Poisoned, so that what is read before it is written shows.
    std::size_t bytes = blocks * nest.workersPerBlock * nest.scratchBytes;
    std::vector<char> scratch(bytes + 256, '\xff');
    entry(buffers.data(), &shape, tasks, scratch.data(), blocks);
    if (std::count(scratch.begin() + bytes, scratch.end(), '\xff') != 256) {
      error = nest.entry + " wrote beyond its scratch memory";
    }
  }
  Arrays results;
  for (auto [argument, tensor] : llvm::zip(arguments, tensors)) {
    if (!tensor.isIntact()) {
      error = argument.name + ": wrote outside the tensor";
    }
    results[keyOf(argument)].values = tensor.read();
  }
  return results;
}

void compare(const Arrays &given, const Arrays &expected, Argument::Kind kind,
             double tolerance) {
  for (auto &[name, array] : expected) {
    Arrays found{{name, given.at(keyOf({kind, name, DType::F64, {}}))}};
    std::string where;
    EXPECT_LE(distance(found, {{name, array}}, where), tolerance) << where;
  }
}

} // namespace recurra
