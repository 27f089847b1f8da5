// What the kernels of spans share, the walk's part of it, and the kernel that
// joins spans.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/ScanSpans.h"

#include "compiler/passes/RecToChunk.h"
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

/// Floats of a task's states, or adjoints, as the lanes that walk hold them.
static std::int64_t stateFloats(const ScanForm &form, const ScanTiles &tiles) {
  std::size_t count =
      form.isReverse ? form.adjoints.size() : form.states.size();
  return static_cast<std::int64_t>(count) * tiles.elements() * 32 *
         tiles.computeWarps();
}

bool dependsOnAdjoint(const ScanForm &form, const Node *node) {
  return dependsOn(node, [&](const Node *x) { return form.adjointOf(x) >= 0; });
}

std::optional<unsigned> adjointBehind(const ScanForm &form, const Node *node) {
  std::optional<unsigned> found;
  bool isOne = true;
  dependsOn(node, [&](const Node *x) {
    if (x->kind == Node::Kind::LoopResult) {
      unsigned number = cast<OpResult>(x->value).getResultNumber();
      auto adjoint = llvm::find_if(form.adjoints, [&](const ScanCarry &carry) {
        return carry.index == number;
      });
      unsigned place = adjoint - form.adjoints.begin();
      isOne &= adjoint != form.adjoints.end() && (!found || *found == place);
      found = place;
    }
    return false;
  });
  return isOne ? found : std::nullopt;
}

SmallVector<const Node *> wideStores(const ScanForm &form) {
  SmallVector<const Node *> wide;
  for (const Node *node : form.stores) {
    auto store = cast<chunk::StoreOp>(node->op);
    if (!store.getBuffer().getType().getElement().isF32() &&
        dependsOnAdjoint(form, node->operands[0])) {
      wide.push_back(node);
    }
  }
  return wide;
}

int widePlace(const ScanForm &form, const Node *store) {
  SmallVector<const Node *> wide = wideStores(form);
  auto found = llvm::find(wide, store);
  return found == wide.end() ? -1 : found - wide.begin();
}

static void replaceAll(std::string &text, const std::string &from,
                       const std::string &to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

std::string onWide(std::string address, const std::string &buffer, int place) {
  std::string wide = "wide" + std::to_string(place);
  std::size_t begin = address.find('<') + 1;
  address.replace(begin, address.find(' ', begin) - begin, "float");
  replaceAll(address, "(" + buffer + ".data)", "(" + wide + ".data)");
  replaceAll(address, "* " + buffer + ".strides[", "* " + wide + ".strides[");
  return address;
}

std::int64_t totalFloats(const ScanForm &form, const ScanTiles &tiles) {
  std::int64_t floats = 0;
  for (const ScanCarry &total : form.totals) {
    floats += total.value->axes.empty() ? 1
              : form.isRow(total.value) ? tiles.rows()
                                        : tiles.columns();
  }
  return floats;
}

/// The usual shape of an argument.
static std::vector<std::string> shapeOf(func::FuncOp function, Value buffer) {
  unsigned number = cast<BlockArgument>(buffer).getArgNumber();
  return describeArguments(function)[number].shape;
}

std::vector<Workspace> spanWorkspaces(func::FuncOp function,
                                      const ScanForm &form,
                                      const ScanTiles &tiles,
                                      const Nest &nest) {
  std::int64_t decays = !form.hasVectorDecay()   ? 1
                        : form.isRow(form.decay) ? tiles.rows()
                                                 : tiles.columns();
  std::vector<Workspace> workspaces;
  for (std::int64_t floats :
       {stateFloats(form, tiles), decays, totalFloats(form, tiles)}) {
    Workspace &workspace = workspaces.emplace_back();
    workspace.dtype = DType::F32;
    workspace.shape = {"J", "P"};
    llvm::append_range(workspace.shape, ArrayRef(nest.tasks).drop_front());
    workspace.shape.push_back(std::to_string(floats));
  }
  for (const Node *node : wideStores(form)) {
    auto store = cast<chunk::StoreOp>(node->op);
    // Dimensions have the numbers of the result's.
    Workspace &workspace = workspaces.emplace_back();
    workspace.dtype = DType::F32;
    workspace.shape = shapeOf(function, store.getBuffer());
    workspace.shape.push_back("J");
  }
  return workspaces;
}

void printSpanBuffers(func::FuncOp function, KernelFrame &f,
                      const ScanForm &form) {
  std::int64_t first = function.getNumArguments() +
                       std::distance(function.getOps<chunk::AllocOp>().begin(),
                                     function.getOps<chunk::AllocOp>().end());
  std::vector<std::string> names = {"carries", "remaining", "spanTotals"};
  for (std::size_t i = 0; i < wideStores(form).size(); ++i) {
    names.push_back("wide" + std::to_string(i));
  }
  for (const std::string &name : names) {
    f.text.line("const Buffer &" + name + " = buffers.list[" + Twine(first++) +
                "];");
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
  if (form.isReverse) {
    printNothingArrived();
    return;
  }
  f.text.open("if (span.number > 0)");
  f.text.line("const Four *const entered = reinterpret_cast<const Four *>(" +
              spanPlace(f, form, "carries", "slot - 1") + ") + threadIdx.x;");
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

/// Backward, what the spans behind hand on is added later.
void ScanPrinter::printNothingArrived() {
  f.text.open("if (span.number + 1 < span.count)");
  openElements();
  for (const std::string &adjoint : adjointNames) {
    f.text.line(adjoint + "[a][n][e] = 0;");
  }
  closeElements();
  f.text.close();
}

/// Backward, the adjoints at the start of a span that is not alone.
void ScanPrinter::printHandedOn() {
  f.text.open("if (span.count > 1)");
  f.text.line("Four *const own = reinterpret_cast<Four *>(" +
              spanPlace(f, form, "carries", "slot") + ") + threadIdx.x;");
  unrolled("n", tiles.columnTiles);
  unrolled("a", tiles.rowTiles);
  for (auto [i, adjoint] : llvm::enumerate(adjointNames)) {
    std::string four = adjoint + "[a][n]";
    f.text.line("own[(" + number(i * tiles.rowTiles * tiles.columnTiles) +
                " + a * " + number(tiles.columnTiles) + " + n) * " +
                number(32 * tiles.computeWarps()) + "] = Four{{" + four +
                "[0], " + four + "[1], " + four + "[2], " + four + "[3]}};");
  }
  f.text.close();
  f.text.close();
  f.text.line("continue;");
  f.text.close();
}

/// The totals of a span that is not alone.
void ScanAdders::printSpanTotals() {
  if (form.spanTokens == 0 || form.totals.empty()) {
    return;
  }
  f.text.open("if (span.count > 1)");
  f.text.line("float *const own = " + spanPlace(f, form, "spanTotals", "slot") +
              ";");
  std::int64_t place = 0;
  for (auto [total, name] : llvm::zip(form.totals, totalNames)) {
    if (total.value->axes.empty()) {
      f.text.line("if (thread == " + number(32 * scalarAdder()) + ") own[" +
                  number(place++) + "] = " + name + ";");
      continue;
    }
    bool isRow = form.isRow(total.value);
    for (std::int64_t x = 0; x < entriesOf(isRow); ++x) {
      f.text.line("if (" + totalEntryOf(x) + " < " +
                  (isRow ? rowsHere() : columnsHere()) + ") own[" +
                  number(place) + " + " + totalEntryOf(x) + "] = " + name +
                  "[" + number(x) + "];");
    }
    place += isRow ? tiles.rows() : tiles.columns();
  }
  f.text.line("continue;");
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
  if (form.isReverse) {
    printReverseSteps();
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
              spanPlace(f, form, "carries", slot) + ") + at;");
  f.text.line("const float *const left = " +
              spanPlace(f, form, "remaining", slot) + ";");
  f.text.line("const Index perFour = carries.strides[1] / 4;");
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

/// From the last span's adjoints to the first's.
void SpanJoiner::printReverseSteps() {
  std::string slot = f.text.name("slot");
  f.text.line("const Index " + slot + " = firstSlot<" +
              number(form.spanTokens) + ">(shape, " +
              f.spans[cast<chunk::ForallOp>(*form.forall).getSpan(0)].origin +
              ") + count - 1;");
  f.text.line("Four *const entered = reinterpret_cast<Four *>(" +
              spanPlace(f, form, "carries", slot) + ") + at;");
  f.text.line("const float *const left = " +
              spanPlace(f, form, "remaining", slot) + ";");
  f.text.line("const Index perFour = carries.strides[1] / 4;");
  f.text.line("Four four = entered[0];");
  f.text.line("#pragma unroll 1");
  f.text.open("for (Index done = 1; done < count; done += 8)");
  f.text.line("Four own[8];");
  f.text.line("float factor[8];");
  unrolled("i", 8);
  f.text.open("if (done + i < count)");
  f.text.line("own[i] = entered[-(done + i) * perFour];");
  f.text.line("factor[i] = left[-(done + i) * remaining.strides[1]];");
  f.text.close();
  f.text.close();
  unrolled("i", 8);
  f.text.open("if (done + i < count)");
  unrolled("e", 4);
  f.text.line("four.x[e] = factor[i] * four.x[e] + own[i].x[e];");
  f.text.close();
  f.text.line("entered[-(done + i) * perFour] = four;");
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
      std::string row = "firstRow + 16 * a + e / 2 * 8";
      std::string column = "firstColumn + 8 * n + e % 2";
      std::string condition = inside();
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
          "firstSlot<" + number(form.spanTokens) + ">(shape, " +
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
  f.text.line("const float left = decayToEnd<" + number(form.spanTokens) +
              ", 1>(numbers, lane);");
  f.text.line("if (lane == 0) *(" + spanPlace(f, form, "remaining", "slot") +
              ") = left;");
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
