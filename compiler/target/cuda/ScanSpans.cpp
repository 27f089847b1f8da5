// What the kernels of spans share, the walk's part of it, and the kernel that
// joins spans.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/ScanSpans.h"

#include "compiler/passes/RecToChunk.h"
#include "compiler/target/cuda/ScanWalkers.h"

using namespace mlir;

namespace recurra::cuda {

/// What the printed text calls its own things.
void reserveSpanNames(KernelText &text) {
  for (const char *name :
       {"span",      "slot",       "TokenSpan",    "spansOf",
        "findSpan",  "firstSlot",  "decayToEnd",   "numbers",
        "remaining", "carries",    "narrowOrWait", "firstReached",
        "firstUnit", "passed",     "isLast",       "units",
        "tile",      "word",       "pair",         "piece",
        "entered",   "factors",    "part",         "low",
        "high",      "perFour",    "spanTotals",   "changes",
        "whole",     "inner",      "change",       "result",
        "r",         "wide0",      "wide1",        "wide2",
        "wide3",     "waiting",    "step",         "SpanCut",
        "PartCut",   "rowOrigin",  "columnOrigin", "carriedAt",
        "partSlot",  "partStates", "spanAround",   "firstPart",
        "lastPart"}) {
    text.name(name);
  }
}

/// Long enough for the states between spans to cost little, short enough for
/// few heads to fill a GPU. A whole number of runs.
std::int64_t spanTokensOf(func::FuncOp function, const ScanForm &form) {
  constexpr std::int64_t usual = 4096;
  auto wanted = function->getAttrOfType<IntegerAttr>(spanAttr);
  return llvm::alignTo(wanted ? wanted.getInt() : usual, form.interval);
}

std::int64_t stateFloats(const ScanForm &form, const ScanTiles &tiles) {
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
  if (form.spanTokens == 0) {
    return wide;
  }
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
  auto add = [&](const char *whether, const char *slots, std::int64_t floats) {
    Workspace &workspace = workspaces.emplace_back();
    workspace.dtype = DType::F32;
    workspace.shape = {whether, slots};
    llvm::append_range(workspace.shape, ArrayRef(nest.tasks).drop_front());
    workspace.shape.push_back(std::to_string(floats));
  };
  if (form.spanTokens > 0) {
    add("J", "P", stateFloats(form, tiles));
    add("J", "P", decays);
    add("J", "P", totalFloats(form, tiles));
  }
  if (form.hasParts) {
    add("A", "Q", stateFloats(form, tiles));
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
  std::vector<std::string> names;
  if (form.spanTokens > 0) {
    names = {"carries", "remaining", "spanTotals"};
  }
  if (form.hasParts || form.isAhead) {
    names.push_back("partStates");
  }
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

/// What a slot has been given, at `own`: as the lanes that walk hold it.
void ScanWalkers::loadCarried(ArrayRef<std::string> matrices,
                              const std::string &own) {
  if (form.isAhead) {
    f.text.line("const float *const entered = " + own + ";");
    openElements();
    for (auto [i, matrix] : llvm::enumerate(matrices)) {
      f.text.line(matrix + "[a][n][e] = " +
                  guarded("entered[" + carriedAt(i) + "]") + ";");
    }
    closeElements();
    return;
  }
  f.text.line("const Four *const entered = reinterpret_cast<const Four *>(" +
              own + ") + threadIdx.x;");
  std::string place = form.isReverse ? placeOfElement : "e";
  unrolled("n", tiles.columnTiles);
  unrolled("a", tiles.rowTiles);
  for (auto [i, matrix] : llvm::enumerate(matrices)) {
    loadFour(matrix,
             "entered[(" + number(i * tiles.rowTiles * tiles.columnTiles) +
                 " + a * " + number(tiles.columnTiles) + " + n) * " +
                 number(32 * tiles.computeWarps()) + "]",
             guarded("four.x[" + place + "]"));
  }
  f.text.close();
  f.text.close();
}

/// All spans but the first begin with what was left for them, and so do all
/// parts of a span or of a sequence.
void ScanWalkers::printEntered() {
  bool hasSpans = form.spanTokens > 0;
  if (form.hasParts) {
    std::string size = number(form.spanTokens);
    std::string inside =
        form.isReverse
            ? "part.number + 1 < part.count" +
                  (hasSpans ? " && " + sequence().end + " % " + size + " != 0"
                            : std::string())
        : hasSpans ? sequence().begin + " % " + size + " != 0"
                   : "part.number > 0";
    f.text.open("if (" + inside + ")");
    loadCarried(form.isReverse ? adjointNames : stateNames,
                spanPlace(f, form, "partStates",
                          form.isReverse ? "partSlot" : "partSlot - 1"));
    f.text.close();
  }
  if (!hasSpans) {
    return;
  }
  if (form.hasParts) {
    f.text.open("else");
  }
  if (form.isReverse) {
    printNothingArrived();
  } else {
    f.text.open("if (span.number > 0)");
    loadCarried(stateNames, spanPlace(f, form, "carries", "slot - 1"));
    f.text.close();
  }
  if (form.hasParts) {
    f.text.close();
  }
}

/// Backward, what the spans behind hand on is added later.
void ScanWalkers::printNothingArrived() {
  f.text.open("if (span.number + 1 < span.count)");
  openElements();
  for (const std::string &adjoint : adjointNames) {
    f.text.line(adjoint + "[a][n][e] = 0;");
  }
  closeElements();
  f.text.close();
}

/// Backward, the adjoints at the start of a span that is not alone; what pads
/// them may be anything, and must not meet the others in sums. Stored in
/// another order than that of operands, they would be copied for every token.
void ScanWalkers::printHandedOn() {
  if (form.hasParts) {
    std::string inSpan =
        form.spanTokens > 0 ? " % " + number(form.spanTokens) : "";
    f.text.line("if (" + sequence().begin + inSpan + " != 0) continue;");
  }
  if (form.spanTokens == 0) {
    return;
  }
  f.text.open("if (span.count > 1)");
  f.text.line("Four *const own = reinterpret_cast<Four *>(" +
              spanPlace(f, form, "carries", "slot") + ") + threadIdx.x;");
  unrolled("n", tiles.columnTiles);
  unrolled("a", tiles.rowTiles);
  for (auto [i, adjoint] : llvm::enumerate(adjointNames)) {
    f.text.open("");
    f.text.line("Four four;");
    unrolled("e", 4);
    f.text.line(std::string("four.x[") + placeOfElement +
                "] = " + guarded(adjoint + "[a][n][e]") + ";");
    f.text.close();
    f.text.line("own[(" + number(i * tiles.rowTiles * tiles.columnTiles) +
                " + a * " + number(tiles.columnTiles) + " + n) * " +
                number(32 * tiles.computeWarps()) + "] = four;");
    f.text.close();
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

} // namespace recurra::cuda
