// Kernels: their arguments, the loop over a warp's tasks, private memory.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/KernelPrinter.h"

#include "compiler/passes/RecToChunk.h"
#include "compiler/target/cuda/BlockPrinter.h"
#include "compiler/target/cuda/PointPrelude.h"
#include "compiler/target/cuda/PointPrinter.h"
#include "compiler/target/cuda/Prelude.h"
#include "compiler/target/cuda/ScanAhead.h"
#include "compiler/target/cuda/ScanCorrections.h"
#include "compiler/target/cuda/ScanPrelude.h"
#include "compiler/target/cuda/ScanSpanKernels.h"
#include "compiler/target/cuda/VectorMemory.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace recurra::cuda {

namespace {

constexpr std::int64_t warpsPerBlock = 4;

/// Staging memory up to this is shared memory, else a part of scratch.
constexpr std::int64_t maxSharedBytes = 8192;

class KernelPrinter {
public:
  /// `vectors`: threads have vectors, or null.
  KernelPrinter(func::FuncOp function, chunk::ForallOp forall, Nest &nest,
                const cpu::AxisOrder &order, const VectorForm *vectors)
      : function(function), forall(forall), nest(nest), vectors(vectors),
        f(forall, order) {}

  std::string print();

private:
  void printHead();
  void printScratch();
  void printStaging();
  void printTasks(StringRef worker, std::int64_t perBlock);
  void printThreads();
  void printTask();
  Type element();

  func::FuncOp function;
  chunk::ForallOp forall;
  Nest &nest;
  const VectorForm *vectors;
  KernelFrame f;
};

/// Tokens that a nest visits without carrying anything from one to the next.
static bool hasFreeTokens(chunk::ForallOp forall) {
  Operation &first = forall.getBlock().front();
  auto loop = dyn_cast<chunk::ForOp>(first);
  return loop && loop.getAxis() == "T" && loop.getStep() == 1 &&
         loop.getInits().empty() &&
         first.getNextNode() == forall.getBlock().getTerminator();
}

std::string KernelPrinter::print() {
  nest.warps = warpsPerBlock;
  if (vectors) {
    printThreads();
    return f.text.str();
  }
  constexpr std::int64_t tokenParts = 64;
  if (hasFreeTokens(forall)) {
    f.tokenParts = tokenParts;
    nest.tasks.push_back(std::to_string(tokenParts));
  }
  printHead();
  f.text.line("const int lane = threadIdx.x % 32;");
  f.text.line("const Index warp = (Index)blockIdx.x * " +
              std::to_string(warpsPerBlock) + " + threadIdx.x / 32;");
  printBuffers(function, f);
  printScratch();
  printTasks("warp", warpsPerBlock);
  return f.text.str();
}

void KernelPrinter::printTasks(StringRef worker, std::int64_t perBlock) {
  f.text.open("for (Index task = " + worker +
              "; task < tasks; task += (Index)gridDim.x * " +
              std::to_string(perBlock) + ")");
  printTask();
  f.text.close();
  f.text.close();
  nest.workersPerBlock = perBlock;
}

void KernelPrinter::printThreads() {
  constexpr std::int64_t threads = warpSize * warpsPerBlock;
  f.layout.lane = vectors->axis;
  f.layout.lanes = 1;
  f.layout.width = vectors->width;
  f.layout.cuts = vectors->perTile();
  f.layout.first = f.text.name("first");
  nest.tasks.push_back(std::to_string(vectors->perTile()));
  printHead();
  f.text.line("const Index thread = (Index)blockIdx.x * " +
              std::to_string(threads) + " + threadIdx.x;");
  printBuffers(function, f);
  VectorMemory memory(f, *vectors);
  f.memory = &memory;
  printTasks("thread", threads);
}

void KernelPrinter::printHead() {
  std::string axes;
  for (unsigned i = 0; i < forall.getNumIterators(); ++i) {
    std::int64_t step = forall.getSteps()[i];
    axes += (i ? ", " : "") + forall.getAxis(i).str() +
            (step == 1 ? "" : " by " + std::to_string(step));
  }
  f.text.line("");
  if (vectors) {
    f.text.comment("One thread for each of " + axes + " and " +
                   std::to_string(vectors->width) + " neighbours along " +
                   vectors->axis.str() + "; " + std::to_string(vectors->ahead) +
                   " tokens loaded ahead.");
  } else {
    f.text.comment("One warp for each of " + axes + "." +
                   (f.layout.lane ? " " + f.layout.lane.str() +
                                        " runs along the lanes: entry e in "
                                        "lane e % 32."
                                  : ""));
  }
  f.text.line("extern \"C\" __global__ void __launch_bounds__(" +
              std::to_string(32 * warpsPerBlock) + ")");
  f.text.open(nest.entry +
              "(const __grid_constant__ Buffers buffers,\n        const "
              "__grid_constant__ Shape shape, Index tasks, char *scratch)");
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

void KernelPrinter::printTask() {
  f.enterTask();
  if (vectors) {
    // A tile at the end of the axis may have fewer entries, in whole vectors.
    for (BlockArgument span : forall.getBlock().getArguments()) {
      const SpanText &info = f.spans[span];
      if (info.axis == vectors->axis && !info.valid.empty()) {
        f.text.line("if (" + f.layout.first + " >= " + info.valid +
                    ") continue;");
      }
    }
  }
  BlockPrinter(f, forall.getBlock()).print();
}

} // namespace

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

void printBuffers(func::FuncOp function, KernelFrame &f) {
  unsigned number = 0;
  auto add = [&](Value buffer, StringRef otherwise) {
    bool isUsed = llvm::any_of(buffer.getUsers(), [&](Operation *user) {
      return f.source->isProperAncestor(user);
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

/// The form of each nest; null: walk.
static std::vector<std::unique_ptr<ScanForm>>
findForms(func::FuncOp function, const cpu::AxisOrder &order,
          std::string &why) {
  std::vector<std::unique_ptr<ScanForm>> forms;
  bool isWanted = function->hasAttr(scanAttr);
  for (auto forall : function.getOps<chunk::ForallOp>()) {
    // The first nest is the recurrence; those behind it add up parts.
    forms.push_back(isWanted && forms.empty()
                        ? ScanForm::find(forall, order, why)
                        : nullptr);
  }
  return forms;
}

static ScanTiles tilesOf(const ScanForm &form) {
  std::int64_t rows = form.rowExtent, columns = form.columnExtent;
  if (form.slice) {
    auto type = cast<chunk::SpanType>(form.slice.getType());
    (type.getAxis() == form.rows ? rows : columns) = type.getCapacity();
  }
  return chooseScanTiles(rows, columns,
                         form.states.size() + form.parameters.size(),
                         form.isReverse, form.hasVectorDecay());
}

bool hasScanForm(func::FuncOp function, std::string &why) {
  cpu::AxisOrder order(function, warpSize);
  auto forms = findForms(function, order, why);
  if (forms.empty() || !forms.front()) {
    return false;
  }
  Nest nest;
  return ScanPrinter(*forms.front(), tilesOf(*forms.front()), nest, order)
      .isPrintable(why);
}

std::string Program::text() const {
  std::string all = head;
  for (const std::string &kernel : kernels) {
    all += kernel;
  }
  return all;
}

/// The walk ahead of parts, if there can be one.
static Program printAhead(func::FuncOp function, ScanForm &form,
                          const Nest &walk, const cpu::AxisOrder &order) {
  Program program;
  if (!canWalkAhead(form)) {
    return program;
  }
  Nest nest = walk, own = walk;
  std::string why;
  std::unique_ptr<ScanForm> aheadForm = form.withoutResults();
  ScanTiles tiles = tilesOf(form);
  ScanPrinter walkPrinter(form, tiles, nest, order);
  ScanPrinter ahead(*aheadForm, aheadTiles(form, tiles), own, order);
  form.hasParts =
      walkPrinter.isPrintable(why) && ahead.canGoAheadOf(walkPrinter, why);
  if (form.hasParts) {
    program.kernels.push_back(ahead.print(function));
    program.nests.push_back(own);
    program.fewHeads = fewHeads(form);
  }
  return program;
}

/// Cuts spans and parts, if the form can: prints the kernels around the walk.
static void printSpans(func::FuncOp function, ScanForm &form, const Nest &walk,
                       const cpu::AxisOrder &order, Program &program,
                       Program &behind) {
  ScanTiles tiles = tilesOf(form);
  Nest nest = walk;
  form.spanTokens = spanTokensOf(function, form);
  bool isPrintable = form.isReverse
                         ? SpanCorrector(form, tiles, nest, order).isPrintable()
                         : SpanLocals(form, tiles, nest, order).isPrintable();
  form.spanTokens = isPrintable ? form.spanTokens : 0;
  program.spanTokens = form.spanTokens;
  Program ahead = printAhead(function, form, walk, order);
  program.fewHeads = ahead.fewHeads;
  program.workspaces = spanWorkspaces(function, form, tiles, walk);
  auto add = [&]<typename Printer>(Program &to) {
    Nest own = walk;
    to.kernels.push_back(Printer(form, tiles, own, order).print(function));
    to.nests.push_back(own);
  };
  if (isPrintable && form.isReverse) {
    add.operator()<SpanDecays>(program);
    add.operator()<SpanJoiner>(behind);
    add.operator()<SpanCorrector>(behind);
  } else if (isPrintable) {
    add.operator()<SpanLocals>(program);
    add.operator()<SpanJoiner>(program);
  }
  llvm::append_range(program.kernels, ahead.kernels);
  llvm::append_range(program.nests, ahead.nests);
}

std::string spansInPlan(const Program &program) {
  bool hasSpans = program.spanTokens > 0;
  std::string plan = hasSpans
                         ? ", spans of " + std::to_string(program.spanTokens) +
                               " tokens side by side"
                         : "";
  if (program.fewHeads > 0) {
    plan += ", up to " + std::to_string(program.fewHeads) +
            (hasSpans ? " spans" : " sequences") + " x heads in parts";
  }
  return plan;
}

Program printProgram(func::FuncOp function) {
  Program program, behind;
  program.head = "// " + function.getName().str();
  if (auto plan = function->getAttrOfType<StringAttr>("chunk.plan")) {
    program.head += ": " + plan.str();
  }
  cpu::AxisOrder order(function, warpSize);
  std::string why;
  auto forms = findForms(function, order, why);
  std::vector<Nest> nests = describeNests(function);
  bool isScan = !forms.empty() && forms.front();
  if (isScan) {
    printSpans(function, *forms.front(), nests.front(), order, program, behind);
  }
  bool hasSlots = program.spanTokens > 0 || program.fewHeads > 0;
  program.head += spansInPlan(program);
  program.head += std::string(prelude) + (isScan ? scanPrelude : "") +
                  (hasSlots ? spanPrelude : "");
  std::size_t buffers = function.getNumArguments() + program.workspaces.size() +
                        llvm::range_size(function.getOps<chunk::AllocOp>());
  std::vector<std::optional<PointForm>> points;
  std::vector<std::optional<VectorForm>> vectors;
  bool hasVectors = false;
  for (auto forall : function.getOps<chunk::ForallOp>()) {
    points.push_back(PointForm::find(forall));
    vectors.push_back(VectorForm::find(forall));
    hasVectors |= points.back() || vectors.back();
  }
  program.head += hasVectors ? pointPrelude : "";
  program.head += "\nstruct Buffers { Buffer list[" +
                  std::to_string(std::max<std::size_t>(buffers, 1)) + "]; };\n";
  for (auto [forall, nest, form, points, vectors] : llvm::zip(
           function.getOps<chunk::ForallOp>(), nests, forms, points, vectors)) {
    program.kernels.push_back(
        form ? ScanPrinter(*form, tilesOf(*form), nest, order).print(function)
        : points ? PointPrinter(function, forall, *points, nest, order).print()
                 : KernelPrinter(function, forall, nest, order,
                                 vectors ? &*vectors : nullptr)
                       .print());
    program.nests.push_back(nest);
    llvm::append_range(program.kernels, std::exchange(behind.kernels, {}));
    llvm::append_range(program.nests, std::exchange(behind.nests, {}));
  }
  return program;
}

} // namespace recurra::cuda
