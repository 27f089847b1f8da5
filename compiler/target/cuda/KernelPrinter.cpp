// Kernels: their arguments, the loop over a warp's tasks, private memory.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/KernelPrinter.h"

#include "compiler/passes/RecToChunk.h"
#include "compiler/target/cuda/BlockPrinter.h"
#include "compiler/target/cuda/Prelude.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace recurra::cuda {

namespace {

constexpr std::int64_t warpsPerBlock = 4;

/// Staging memory up to this is shared memory, else a part of scratch.
constexpr std::int64_t maxSharedBytes = 8192;

class KernelPrinter {
public:
  KernelPrinter(func::FuncOp function, chunk::ForallOp forall, Nest &nest,
                const cpu::AxisOrder &order)
      : function(function), forall(forall), nest(nest), f(forall, order) {}

  std::string print();

private:
  void printHead();
  void printBuffers();
  void printScratch();
  void printStaging();
  void printTask();
  Type element();

  func::FuncOp function;
  chunk::ForallOp forall;
  Nest &nest;
  KernelFrame f;
};

std::string KernelPrinter::print() {
  printHead();
  f.text.line("const int lane = threadIdx.x % 32;");
  f.text.line("const Index warp = (Index)blockIdx.x * " +
              std::to_string(warpsPerBlock) + " + threadIdx.x / 32;");
  printBuffers();
  printScratch();
  f.text.open(
      "for (Index task = warp; task < tasks; task += (Index)gridDim.x * " +
      std::to_string(warpsPerBlock) + ")");
  printTask();
  f.text.close();
  f.text.close();
  nest.warps = warpsPerBlock;
  return f.text.str();
}

void KernelPrinter::printHead() {
  std::string axes;
  for (unsigned i = 0; i < forall.getNumIterators(); ++i) {
    std::int64_t step = forall.getSteps()[i];
    axes += (i ? ", " : "") + forall.getAxis(i).str() +
            (step == 1 ? "" : " by " + std::to_string(step));
  }
  f.text.line("");
  f.text.comment("One warp for each of " + axes + "." +
                 (f.layout.lane ? " " + f.layout.lane.str() +
                                      " runs along the lanes: entry e in lane "
                                      "e % 32."
                                : ""));
  f.text.line("extern \"C\" __global__ void __launch_bounds__(" +
              std::to_string(32 * warpsPerBlock) + ")");
  f.text.open(nest.entry +
              "(const __grid_constant__ Buffers buffers,\n        const "
              "__grid_constant__ Shape shape, Index tasks, char *scratch)");
}

/// "input q" is q; other kinds are named by what they are.
static std::string nameOfArgument(StringAttr argument) {
  auto [kind, name] = argument.getValue().rsplit(' ');
  StringRef suffix = llvm::StringSwitch<StringRef>(kind)
                         .Case("initial-state", "_initial")
                         .Case("checkpoint", "_saved")
                         .Case("output-cotangent", "_cotangent")
                         .Case("final-state-cotangent", "_final_cotangent")
                         .Case("final-state", "_final")
                         .Case("input-gradient", "_gradient")
                         .Case("initial-state-gradient", "_initial_gradient")
                         .Default("");
  return (name + suffix).str();
}

/// The arguments that the nest uses, by name.
void KernelPrinter::printBuffers() {
  unsigned number = 0;
  auto add = [&](Value buffer, StringRef otherwise) {
    bool isUsed = llvm::any_of(buffer.getUsers(), [&](Operation *user) {
      return forall->isProperAncestor(user);
    });
    if (isUsed) {
      std::string name = f.text.name(otherwise);
      f.text.line("const Buffer &" + name + " = buffers.list[" +
                  std::to_string(number) + "];");
      f.buffers[buffer] = name;
    }
    ++number;
  };
  for (BlockArgument argument : function.getArguments()) {
    auto kind = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                      "chunk.arg");
    add(argument, kind ? nameOfArgument(kind) : "argument");
  }
  for (auto alloc : function.getOps<chunk::AllocOp>()) {
    add(alloc.getResult(), nameOf(alloc.getResult()) + "_parts");
  }
}

Type KernelPrinter::element() {
  Type element = Float32Type::get(forall.getContext());
  forall->walk([&](Operation *op) {
    for (Type type : op->getResultTypes()) {
      if (auto tile = dyn_cast<chunk::TileType>(type)) {
        element = tile.getElement();
      }
    }
  });
  return element;
}

/// The warp's part of scratch memory: its buffers, lanes side by side.
void KernelPrinter::printScratch() {
  std::int64_t bytes = 0;
  SmallVector<std::string> lines;
  forall->walk([&](chunk::AllocOp alloc) {
    auto type = alloc.getBuffer().getType();
    KernelFrame::Scratch scratch;
    std::string hint = nameOf(alloc.getBuffer());
    scratch.name = f.text.name(hint.empty() ? "held" : hint + "_held");
    scratch.strides.resize(type.getRank());
    std::int64_t size = 1;
    auto addAxis = [&](unsigned i) {
      std::int64_t entries = type.getWindows()[i]
                                 ? type.getWindows()[i]
                                 : chunk::getExtent(forall, type.getNames()[i]);
      entries = ceilDiv(entries, type.getPers()[i]);
      scratch.strides[i] = size;
      bool isLane = f.layout.isLane(type.getNames()[i]);
      size *= isLane ? ceilDiv(entries, warpSize) * warpSize : entries;
    };
    for (unsigned i = 0; i < type.getRank(); ++i) {
      if (f.layout.isLane(type.getNames()[i])) {
        addAxis(i);
      }
    }
    for (unsigned i = type.getRank(); i-- > 0;) {
      if (!f.layout.isLane(type.getNames()[i])) {
        addAxis(i);
      }
    }
    std::string element = f.typeName(type.getElement());
    lines.push_back(element + " *const " + scratch.name +
                    " = reinterpret_cast<" + element + " *>(scratch + " +
                    std::to_string(bytes) + ");");
    bytes += ceilDiv(size * (type.getElement().isF64() ? 8 : 4), 256) * 256;
    f.scratch[alloc.getBuffer()] = scratch;
  });
  nest.scratchBytes = bytes;
  printStaging();
  if (nest.scratchBytes > 0) {
    f.text.line("scratch += warp * " + std::to_string(nest.scratchBytes) + ";");
  }
  for (const std::string &line : lines) {
    f.text.line(line);
  }
  if (nest.scratchBytes > bytes) {
    std::string type = f.typeName(element());
    f.text.line(type + " *const staging = reinterpret_cast<" + type +
                " *>(scratch + " + std::to_string(bytes) + ");");
  }
}

/// For tiles that are renamed from or to the lane axis.
void KernelPrinter::printStaging() {
  std::int64_t size = 0;
  forall->walk([&](chunk::RenameOp op) {
    if (f.layout.isLane(op.getFromAttr()) || f.layout.isLane(op.getToAttr())) {
      size = std::max(size, op.getInput().getType().getNumElements());
    }
  });
  if (size == 0) {
    return;
  }
  std::int64_t bytes = ceilDiv(size * (element().isF64() ? 8 : 4), 256) * 256;
  if (bytes > maxSharedBytes) {
    nest.scratchBytes += bytes;
    return;
  }
  std::string type = f.typeName(element());
  f.text.line("__shared__ " + type + " stagingOfBlock[" +
              std::to_string(warpsPerBlock) + "][" + std::to_string(size) +
              "];");
  f.text.line(type + " *const staging = stagingOfBlock[threadIdx.x / 32];");
}

/// Which spans a task stands for; then the body.
void KernelPrinter::printTask() {
  unsigned count = forall.getNumIterators();
  SmallVector<std::string> origins(count);
  if (count > 0) {
    f.text.line("Index rest = task;");
  }
  for (unsigned i = count; i-- > 0;) {
    StringRef axis = forall.getAxis(i);
    std::int64_t step = forall.getSteps()[i];
    std::string name = axis == "N"   ? "sequence"
                       : axis == "H" ? "head"
                                     : "first" + axis.str();
    std::string number = f.countOf(forall.getSpan(i));
    origins[i] = f.text.name(name);
    f.text.line("const Index " + origins[i] + " = " +
                (i == 0 ? "rest" : "rest % (" + number + ")") +
                (step == 1 ? "" : " * " + std::to_string(step)) + ";");
    if (i > 0) {
      f.text.line("rest /= " + number + ";");
    }
  }
  for (unsigned i = 0; i < count; ++i) {
    f.enterSpan(forall.getSpan(i), origins[i]);
  }
  BlockPrinter(f, forall.getBlock()).print();
}

} // namespace

Program printProgram(func::FuncOp function) {
  Program program;
  program.nests = describeNests(function);
  std::size_t buffers = function.getNumArguments();
  for ([[maybe_unused]] auto alloc : function.getOps<chunk::AllocOp>()) {
    ++buffers;
  }
  program.text = "// " + function.getName().str();
  if (auto plan = function->getAttrOfType<StringAttr>("chunk.plan")) {
    program.text += ": " + plan.str();
  }
  program.text += prelude;
  program.text += "\nstruct Buffers { Buffer list[" +
                  std::to_string(std::max<std::size_t>(buffers, 1)) + "]; };\n";
  cpu::AxisOrder order(function, warpSize);
  for (auto [forall, nest] :
       llvm::zip(function.getOps<chunk::ForallOp>(), program.nests)) {
    program.text += KernelPrinter(function, forall, nest, order).print();
  }
  return program;
}

} // namespace recurra::cuda
