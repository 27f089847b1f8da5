// The kernels between locals and walk, or walk and corrections: they join
// spans, and find what is left of a state at a span's end.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/KernelPrinter.h"
#include "compiler/target/cuda/ScanSpanKernels.h"

using namespace mlir;

namespace recurra::cuda {

static constexpr std::int64_t joiners = 256; // threads of a block

std::string SpanJoiner::print(func::FuncOp function) {
  std::int64_t fours = stateFloats(form, tiles) / 4;
  f.tokenParts = ceilDiv(fours, joiners);
  printHead(function);
  openTasks();
  f.text.line("const Index count = spansOf(" + spanCut(form.spanTokens, false) +
              ", " + sequence().length + ");");
  f.text.line(
      "const int at = " +
      (f.tokenParts > 1 ? "(int)part * " + number(joiners) + " + " : "") +
      "threadIdx.x;");
  f.text.open("if (count > 1 && at < " + number(fours) + ")");
  printElement();
  if (form.isReverse) {
    printSteps();
    printResults();
  } else {
    printStart();
    printSteps();
  }
  f.text.close();
  printTotals();
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
  printSpanBuffers(function, f, form);
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
                boundary(form.top->find(inits[i]), rowText(), columnText()) +
                ";");
    f.text.close();
    f.text.close();
  }
}

/// Row and column of the element at place e of a thread's four.
std::string SpanJoiner::rowText() const {
  return "firstRow + 16 * a + " + rowOfPlace(form.isReverse);
}

std::string SpanJoiner::columnText() const {
  return "firstColumn + 8 * n + " + columnOfPlace(form.isReverse);
}

std::string SpanJoiner::factorIndex() const {
  return !form.hasVectorDecay()   ? "0"
         : form.isRow(form.decay) ? rowText()
                                  : columnText();
}

/// From the first span's states to the last's, or from the last span's adjoints
/// to the first's; some spans' values are under way at a time.
void SpanJoiner::printSteps() {
  std::int64_t batch = form.hasVectorDecay() ? 4 : 8;
  std::string slot = f.text.name("slot");
  f.text.line("const Index " + slot + " = firstSlot(" +
              spanCut(form.spanTokens, false) + ", shape, " +
              f.spans[cast<chunk::ForallOp>(*form.forall).getSpan(0)].origin +
              ")" + (form.isReverse ? " + count - 1;" : ";"));
  f.text.line("Four *const entered = reinterpret_cast<Four *>(" +
              spanPlace(f, form, "carries", slot) + ") + at;");
  f.text.line("const float *const left = " +
              spanPlace(f, form, "remaining", slot) + ";");
  f.text.line("const Index perFour = carries.strides[1] / 4;");
  if (form.isReverse) {
    f.text.line("Four four = entered[0];");
  }
  std::string place = form.isReverse ? "-(done + i + 1)" : "(done + i)";
  f.text.line("#pragma unroll 1");
  f.text.open(
      "for (Index done = 0; done + 1 < count; done += " + number(batch) + ")");
  f.text.line("Four own[" + number(batch) + "];");
  f.text.line("float factor[" + number(batch) + "][4];");
  unrolled("i", batch);
  f.text.open("if (done + i + 1 < count)");
  f.text.line("own[i] = entered[" + place + " * perFour];");
  unrolled("e", 4);
  f.text.line("factor[i][e] = left[" + place + " * remaining.strides[1] + " +
              factorIndex() + "];");
  f.text.close();
  f.text.close();
  f.text.close();
  unrolled("i", batch);
  f.text.open("if (done + i + 1 < count)");
  unrolled("e", 4);
  f.text.line("four.x[e] = factor[i][e] * four.x[e] + own[i].x[e];");
  f.text.close();
  f.text.line("entered[" + place + " * perFour] = four;");
  f.text.close();
  f.text.close();
  f.text.close();
}

/// What arrives at the sequence's start.
void SpanJoiner::printResults() {
  std::int64_t perAdjoint =
      tiles.rowTiles * tiles.columnTiles * 32 * tiles.computeWarps();
  adjointNames.assign(form.adjoints.size(), "four");
  elementText = ".x[e]";
  for (cpu::Nest &part : form.top->getNests()) {
    for (const Node *node : part.nodes) {
      if (node->kind != Node::Kind::CopyOut || !form.isMatrix(node)) {
        continue;
      }
      auto store = cast<chunk::StoreOp>(node->op);
      f.text.open("if (at / " + number(perAdjoint) +
                  " == " + number(*adjointBehind(form, node)) + ")");
      unrolled("e", 4);
      std::string row = rowText(), column = columnText();
      std::string condition = inside(row, column);
      f.text.line(
          (condition.empty() ? "" : "if (" + condition + ") ") + "narrow(" +
          addressOf(store.getBuffer(), store.getIndices(), "", row, column) +
          ", " + boundary(node->operands[0], row, column) + ");");
      f.text.close();
      f.text.close();
    }
  }
}

/// Totals of all spans, by one block.
void SpanJoiner::printTotals() {
  if (form.totals.empty()) {
    return;
  }
  f.text.open(std::string("if (count > 1") +
              (f.tokenParts > 1 ? " && part == 0)" : ")"));
  f.text.line(
      "const float *const own = " +
      spanPlace(
          f, form, "spanTotals",
          "firstSlot(" + spanCut(form.spanTokens, false) + ", shape, " +
              f.spans[cast<chunk::ForallOp>(*form.forall).getSpan(0)].origin +
              ")") +
      ";");
  totalNames.clear();
  SmallVector<std::int64_t> places;
  std::int64_t place = 0;
  for (const ScanCarry &total : form.totals) {
    totalNames.push_back(f.text.name("total"));
    places.push_back(place);
    place += total.value->axes.empty() ? 1
             : form.isRow(total.value) ? tiles.rows()
                                       : tiles.columns();
  }
  printTotalsOf(ScanOperand::Scalar, places);
  printTotalsOf(ScanOperand::Row, places);
  printTotalsOf(ScanOperand::Column, places);
  f.text.close();
}

/// Numbers, or entries of vectors along one axis.
void SpanJoiner::printTotalsOf(ScanOperand::Kind kind,
                               ArrayRef<std::int64_t> places) {
  std::string end = kind == ScanOperand::Scalar ? "1"
                    : kind == ScanOperand::Row  ? rowsHere()
                                                : columnsHere();
  f.text.open("for (int i = threadIdx.x; i < " + end +
              "; i += " + number(joiners) + ")");
  for (auto [total, name, place] : llvm::zip(form.totals, totalNames, places)) {
    if (values.kindOf(total.value) == kind) {
      f.text.line("float " + name + " = 0;");
      f.text.line("for (Index c = 0; c < count; ++c) " + name +
                  " += own[c * spanTotals.strides[1] + " + number(place) +
                  " + i];");
    }
  }
  for (cpu::Nest &part : form.top->getNests()) {
    for (const Node *node : part.nodes) {
      if (node->kind == Node::Kind::CopyOut && !form.isMatrix(node) &&
          values.kindOf(node) == kind) {
        printTotal(node);
      }
    }
  }
  f.text.close();
}

void SpanJoiner::printTotal(const Node *node) {
  auto store = cast<chunk::StoreOp>(node->op);
  std::string condition =
      store.getFirst() ? "if (" + f.spans[store.getFirst()].origin + " == 0) "
                       : "";
  f.text.line(condition + "narrow(" +
              addressOf(store.getBuffer(), store.getIndices(), "", "i", "i") +
              ", " + boundary(node->operands[0], "i", "i") + ");");
}

//===----------------------------------------------------------------------===//
// Decays
//===----------------------------------------------------------------------===//

std::string SpanDecays::print(func::FuncOp function) {
  f.text.line("");
  f.text.comment(
      "One block for each span: what is left of a state at its end.");
  f.text.line("extern \"C\" __global__ void __launch_bounds__(" + threads() +
              ", 1)");
  f.text.open(nest.entry +
              "_decays(const __grid_constant__ Buffers buffers,\n        const "
              "__grid_constant__ Shape shape, Index tasks, char *scratch)");
  printBuffers(function, f);
  printSpanBuffers(function, f, form);
  printRole();
  f.text.line("float *const numbers = reinterpret_cast<float "
              "*>(sharedMemory());");
  openTasks();
  f.text.line("if (span.number + 1 == span.count) continue;");
  printNumbers();
  f.text.open("if (warp == 0)");
  printDecayToEnd("*(" + spanPlace(f, form, "remaining", "slot") + ")");
  f.text.close();
  f.text.line("syncBlock();");
  f.text.close();
  f.text.close();
  nest.entry += "_decays";
  nest.tasks.front() = "P";
  nest.tasks.insert(nest.tasks.begin(), "J");
  nest.warps = tiles.computeWarps();
  nest.workersPerBlock = 1;
  nest.sharedBytes = 4 * form.spanTokens;
  return f.text.str();
}

} // namespace recurra::cuda
