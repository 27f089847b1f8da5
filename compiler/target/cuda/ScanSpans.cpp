// What the kernels of spans share, the walk's part of it, and the kernel that
// joins spans.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/ScanSpans.h"

#include "compiler/target/cuda/KernelPrinter.h"
#include "compiler/target/cuda/ScanPrinter.h"

using namespace mlir;

namespace recurra::cuda {

/// Long enough for the states between spans to cost little, short enough for
/// few heads to fill a GPU. A whole number of runs.
std::int64_t spanTokensOf(func::FuncOp function, const ScanForm &form) {
  constexpr std::int64_t usual = 512;
  auto wanted = function->getAttrOfType<IntegerAttr>(spanAttr);
  return llvm::alignTo(wanted ? wanted.getInt() : usual, form.interval);
}

/// Floats of a task's states, as the lanes that walk hold them.
static std::int64_t stateFloats(const ScanForm &form, const ScanTiles &tiles) {
  return static_cast<std::int64_t>(form.states.size()) * tiles.elements() * 32 *
         tiles.computeWarps();
}

std::vector<Workspace>
spanWorkspaces(const ScanForm &form, const ScanTiles &tiles, const Nest &nest) {
  std::int64_t decays = !form.hasVectorDecay()   ? 1
                        : form.isRow(form.decay) ? tiles.rows()
                                                 : tiles.columns();
  std::vector<Workspace> workspaces;
  for (std::int64_t floats : {stateFloats(form, tiles), decays}) {
    Workspace &workspace = workspaces.emplace_back();
    workspace.dtype = DType::F32;
    workspace.shape = {"J", "P"};
    llvm::append_range(workspace.shape, ArrayRef(nest.tasks).drop_front());
    workspace.shape.push_back(std::to_string(floats));
  }
  return workspaces;
}

void printSpanBuffers(func::FuncOp function, KernelFrame &f) {
  std::int64_t first = function.getNumArguments() +
                       std::distance(function.getOps<chunk::AllocOp>().begin(),
                                     function.getOps<chunk::AllocOp>().end());
  for (const char *name : {"entering", "remaining"}) {
    f.text.line("const Buffer &" + Twine(name) + " = buffers.list[" +
                Twine(first++) + "];");
  }
}

std::string spanPlace(KernelFrame &f, const ScanForm &form, StringRef buffer,
                      StringRef slot) {
  std::string offset = ("(" + slot + ") * " + buffer + ".strides[1]").str();
  chunk::ForallOp forall = form.forall;
  for (unsigned i = 1; i < forall.getNumIterators(); ++i) {
    std::int64_t step = forall.getSteps()[i];
    offset += " + " + f.spans[forall.getSpan(i)].origin +
              (step == 1 ? "" : " / " + std::to_string(step)) + " * " +
              buffer.str() + ".strides[" + std::to_string(i + 1) + "]";
  }
  return ("reinterpret_cast<float *>(" + buffer + ".data) + " + offset).str();
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

/// All spans but the first begin with what was left for them.
void ScanPrinter::printEntered() {
  if (form.spanTokens == 0) {
    return;
  }
  f.text.open("if (span.number > 0)");
  f.text.line("const Four *const entered = reinterpret_cast<const Four *>(" +
              spanPlace(f, form, "entering", "slot - 1") + ") + threadIdx.x;");
  unrolled("n", tiles.columnTiles);
  unrolled("a", tiles.rowTiles);
  for (auto [i, state] : llvm::enumerate(stateNames)) {
    f.text.open("");
    f.text.line("const Four four = entered[(" +
                number(i * tiles.rowTiles * tiles.columnTiles) + " + a * " +
                number(tiles.columnTiles) + " + n) * " +
                number(32 * tiles.computeWarps()) + "];");
    unrolled("e", 4);
    f.text.line(state + "[a][n][e] = four.x[e];");
    f.text.close();
    f.text.close();
  }
  f.text.close();
  f.text.close();
  f.text.close();
}

//===----------------------------------------------------------------------===//
// Joining
//===----------------------------------------------------------------------===//

static constexpr std::int64_t joiners = 256; // threads of a block

std::string SpanJoiner::print(func::FuncOp function) {
  std::int64_t fours = stateFloats(form, tiles) / 4;
  f.tokenParts = ceilDiv(fours, joiners);
  printHead(function);
  openTasks();
  f.text.line("const Index count = spansOf<" + number(form.spanTokens) + ">(" +
              sequence().length + ");");
  f.text.line(
      "const int at = " +
      (f.tokenParts > 1 ? "(int)part * " + number(joiners) + " + " : "") +
      "threadIdx.x;");
  f.text.open("if (count > 1 && at < " + number(fours) + ")");
  printElement();
  printStart();
  printSteps();
  f.text.close();
  f.text.close();
  f.text.close();
  nest.entry += "_join";
  nest.tasks.insert(nest.tasks.begin(), "J");
  nest.tasks.push_back(std::to_string(f.tokenParts));
  nest.warps = joiners / 32;
  nest.workersPerBlock = 1;
  return f.text.str();
}

void SpanJoiner::printHead(func::FuncOp function) {
  f.text.line("");
  f.text.comment("Each thread has four elements of the states: what enters a "
                 "span decays by all of it, and what the span adds up to is "
                 "added. In place: then a slot has what enters the next span.");
  f.text.line("extern \"C\" __global__ void __launch_bounds__(" +
              number(joiners) + ")");
  f.text.open(nest.entry +
              "_join(const __grid_constant__ Buffers buffers,\n        const "
              "__grid_constant__ Shape shape, Index tasks, char *scratch)");
  printBuffers(function, f);
  printSpanBuffers(function, f);
}

/// Which elements a thread has, by where lanes that walk hold them.
void SpanJoiner::printElement() {
  std::int64_t lanes = 32 * tiles.computeWarps();
  std::int64_t perState = tiles.rowTiles * tiles.columnTiles;
  f.text.line("const int lane = at % 32, warp = at / 32 % " +
              number(tiles.computeWarps()) + ", tile = at / " + number(lanes) +
              " % " + number(perState) + ";");
  f.text.line("const int a = tile / " + number(tiles.columnTiles) +
              ", n = tile % " + number(tiles.columnTiles) + ";");
  f.text.line("const int firstRow = warp % " + number(tiles.warpRows) + " * " +
              number(16 * tiles.rowTiles) + " + lane / 4;");
  f.text.line("const int firstColumn = warp / " + number(tiles.warpRows) +
              " * " + number(8 * tiles.columnTiles) + " + lane % 4 * 2;");
}

void SpanJoiner::printStart() {
  std::int64_t perState =
      tiles.rowTiles * tiles.columnTiles * 32 * tiles.computeWarps();
  f.text.line("Four four;");
  auto inits = cast<chunk::ForOp>(*form.runs).getInits();
  for (std::size_t i = 0; i < form.states.size(); ++i) {
    bool isLast = i + 1 == form.states.size();
    f.text.open((i > 0 ? "else " : "") +
                (isLast && i > 0
                     ? std::string()
                     : "if (at < " + number(perState * (i + 1)) + ")"));
    unrolled("e", 4);
    f.text.line("four.x[e] = " +
                boundary(form.top->find(inits[i]),
                         "firstRow + 16 * a + e / 2 * 8",
                         "firstColumn + 8 * n + e % 2") +
                ";");
    f.text.close();
    f.text.close();
  }
}

std::string SpanJoiner::factorIndex() const {
  return !form.hasVectorDecay()   ? "0"
         : form.isRow(form.decay) ? "firstRow + 16 * a + e / 2 * 8"
                                  : "firstColumn + 8 * n + e % 2";
}

/// Some spans' values are under way at a time.
void SpanJoiner::printSteps() {
  std::int64_t batch = form.hasVectorDecay() ? 4 : 8;
  std::string slot = f.text.name("slot");
  f.text.line("const Index " + slot + " = firstSlot<" +
              number(form.spanTokens) + ">(shape, " +
              f.spans[cast<chunk::ForallOp>(*form.forall).getSpan(0)].origin +
              ");");
  f.text.line("Four *const entered = reinterpret_cast<Four *>(" +
              spanPlace(f, form, "entering", slot) + ") + at;");
  f.text.line("const float *const left = " +
              spanPlace(f, form, "remaining", slot) + ";");
  f.text.line("const Index perFour = entering.strides[1] / 4;");
  f.text.line("#pragma unroll 1");
  f.text.open(
      "for (Index done = 0; done + 1 < count; done += " + number(batch) + ")");
  f.text.line("Four own[" + number(batch) + "];");
  f.text.line("float factor[" + number(batch) + "][4];");
  unrolled("i", batch);
  f.text.open("if (done + i + 1 < count)");
  f.text.line("own[i] = entered[(done + i) * perFour];");
  unrolled("e", 4);
  f.text.line("factor[i][e] = left[(done + i) * remaining.strides[1] + " +
              factorIndex() + "];");
  f.text.close();
  f.text.close();
  f.text.close();
  unrolled("i", batch);
  f.text.open("if (done + i + 1 < count)");
  unrolled("e", 4);
  f.text.line("four.x[e] = factor[i][e] * four.x[e] + own[i].x[e];");
  f.text.close();
  f.text.line("entered[(done + i) * perFour] = four;");
  f.text.close();
  f.text.close();
  f.text.close();
}

} // namespace recurra::cuda
