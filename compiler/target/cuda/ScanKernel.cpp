// Memory, tasks and loops of a scan-form kernel, as all roles print them.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/ScanKernel.h"

#include "compiler/target/cuda/ScalarPrinter.h"
#include "compiler/target/cuda/ScanSpans.h"

#include <limits>

using namespace mlir;

namespace recurra::cuda {

using Kind = Node::Kind;

/// What the printed text calls its own things.
static constexpr StringLiteral names =
    "thread stages sums zeros ones logDecay logScale logs segments unit "
    "group stage header count flags now t p n a e i w c g done walk place "
    "token at run pass to from firstRow firstColumn rowPlace parts warpRow "
    "chunk warpColumn first last isCutHere isFull held columnSums addUp "
    "adder producer isHeld before found own four Four Two Choice Segments "
    "Barrier multiply multiplyExactly fetch partAt putParts copyTokens wait "
    "arrive waitFor isOver isFree isWaiting initialise staged added arriveAt "
    "blockAt fours sum other addFour addShares shareOf ofFour "
    "syncBlock uniform isFirstUnit isLastUnit isTrace isStop isCut shared "
    "one here after enter next copy Place left right entering leaving begin "
    "rowWords words columnWords takePart pairOf rest multiplyParts cuts "
    "columnAdder turn prefetch line logSum logNow pieces starts cut votes "
    "logSums vote earlier half later ends tokens keep fetchPair "
    "running spent sumBefore block start factor segmentEnd multiplyDeep "
    "items isOrdered order taskAt costOf rank partOfFour rowSums logDecays "
    "logTotal logLeast logMost isWhole item verdict isEntry logBefore "
    "slotsTo laneAnew laneKept x";

ScanKernel::ScanKernel(const ScanForm &form, const ScanTiles &tiles, Nest &nest,
                       const cpu::AxisOrder &order)
    : form(form), tiles(tiles), nest(nest), f(form.forall, order),
      values(form, this->tiles) {
  f.spanTokens = form.spanTokens;
  if (form.isAhead) {
    f.pieces = ceilDiv(extentOf(form.rows), tiles.rows()) *
               ceilDiv(extentOf(form.columns), tiles.columns());
  }
  f.taskType = "unsigned"; // a division of 64 bits is a hundred instructions
  nest.mostTasks = std::numeric_limits<int>::max();
  for (StringRef name : llvm::split(names, ' ')) {
    f.text.name(name);
  }
  reserveSpanNames(f.text);
  for (Operation &op : form.tokens->getRegion(0).front()) {
    for (Value result : op.getResults()) {
      std::string name = nameOf(result);
      if (!name.empty() && isa<chunk::TileType>(result.getType())) {
        hints.try_emplace(peel(form.body->find(result)), name);
      }
    }
  }
}

Value ScanKernel::sequenceSpan() const {
  return form.forall->getRegion(0).front().getArgument(0);
}

/// As `partAt` and `putParts` of the prelude have it.
std::int64_t ScanKernel::partFloats() const {
  constexpr std::int64_t whole = 4, spread = 144;
  return parts / whole * spread + parts % whole * 32;
}

std::int64_t ScanKernel::productFloats() const {
  if (values.products.list.empty()) {
    return 0;
  }
  return ScanProducts::rowWords * tiles.rows() +
         values.products.columnWords * tiles.columns();
}

std::pair<std::int64_t, std::int64_t> ScanKernel::weightSpan() const {
  std::int64_t first = stageFloats, last = 0;
  for (const ScanSum &sum : values.sums) {
    for (const std::unique_ptr<ScanOperand> &operand : values.operands) {
      if (sum.kind == ScanSum::OverColumns && sum.weight && operand->node &&
          operand->degree == sum.weightDegree &&
          isSame(operand->node, sum.weight)) {
        first = std::min(first, operand->offset);
        last = std::max(last, operand->offset);
      }
    }
  }
  return {std::min(first, last), last};
}

std::int64_t ScanKernel::zeroFloats() const {
  auto [first, last] = weightSpan();
  return last - first + 2 * tiles.columnTiles;
}

std::int64_t ScanKernel::specialOffset() const {
  std::int64_t at = productFloats();
  for (const std::unique_ptr<ScanOperand> &operand : values.operands) {
    at += operand->kind == ScanOperand::Row      ? tiles.rows()
          : operand->kind == ScanOperand::Column ? tiles.columns()
                                                 : 0;
  }
  return at;
}

/// Of numbers, each token's and their sums; of a vector, its sum before each
/// unit, and the votes of the warps that prepare.
std::int64_t ScanKernel::logFloats() const {
  return form.hasVectorDecay() ? 2 * form.interval / scanUnit * decayWidth() +
                                     ceilDiv(2 * tiles.producerWarps, 4) * 4
                               : 4 * form.interval;
}

/// Where entry i of a vector lies.
std::string ScanKernel::placeOf(bool isRow) const {
  std::string size =
      std::to_string(isRow ? 16 * tiles.rowTiles : 8 * tiles.columnTiles);
  std::string own =
      std::to_string(2 * (isRow ? tiles.rowTiles : tiles.columnTiles));
  return isRow ? "i / " + size + " * " + size + " + i % 8 * " + own +
                     " + i / 16 % " + std::to_string(tiles.rowTiles) +
                     " * 2 + i / 8 % 2"
               : "i / " + size + " * " + size + " + i % 8 / 2 * " + own +
                     " + i / 8 % " + std::to_string(tiles.columnTiles) +
                     " * 2 + i % 2";
}

/// A numbered barrier: those of the block and of the producers come first.
std::string ScanKernel::numbered(StringRef action, StringRef event,
                                 StringRef unit) const {
  std::int64_t walkers = tiles.computeWarps(), adders = tiles.adderWarps;
  std::int64_t producers = tiles.producerWarps;
  std::int64_t first = event == "staged" ? 2 : event == "released" ? 4 : 6;
  std::int64_t warps = event == "staged"     ? producers + adders
                       : event == "released" ? producers + walkers + adders
                                             : walkers + adders;
  return (action + "At<" + Twine(32 * warps) + ">(" + Twine(first) + " + " +
          (event == "summed" ? "group" : unit) + " % 2); // " + event)
      .str();
}

/// Where the tokens of the unit at hand are staged.
std::string ScanKernel::stageOfUnit() const {
  return stageCount == 1 ? "stages"
                         : "stages + unit % 2 * " + number(stageFloats);
}

/// Among the producers.
std::string ScanKernel::syncProducers() const {
  return "blockAt<" + std::to_string(32 * tiles.producerWarps) + ">(1);";
}

void ScanKernel::openTasks() {
  f.text.open(
      "for (unsigned task = blockIdx.x; task < (unsigned)tasks; task += "
      "gridDim.x)");
  f.enterTask();
  if (form.isAhead) {
    printPiece();
  }
  scalars.clear();
  for (cpu::Nest &part : form.top->getNests()) {
    for (Node *node : part.nodes) {
      if (node->kind != Kind::CopyIn || !node->axes.empty()) {
        continue;
      }
      auto load = cast<chunk::LoadOp>(node->op);
      std::string name = f.text.name(f.buffers.lookup(load.getBuffer()) + "_s");
      f.text.line("const float " + name + " = widen(" +
                  addressOf(load.getBuffer(), load.getIndices(), "", "", "") +
                  ");");
      scalars[node] = name;
    }
  }
}

/// The units of one task, as the producers staged them.
void ScanKernel::openUnits(const std::string &wait) {
  f.text.line("bool run = true;");
  f.text.open("while (run)");
  f.text.line(wait);
  f.text.line("const float *const stage = " + stageOfUnit() + ";");
  f.text.line(
      "const int *const header = reinterpret_cast<const int *>(stage);");
  f.text.line("const int count = header[0], flags = header[3];");
  f.text.line("run = !(flags & isStop);");
}

void ScanKernel::closeUnits() {
  f.text.line(numbered("arrive", "released"));
  f.text.line("++unit;");
  f.text.close();
}

/// Entries that a task has of an axis, of which its blocks have pieces.
std::int64_t ScanKernel::extentOf(StringAttr axis) const {
  if (form.slice) {
    auto type = cast<chunk::SpanType>(form.slice.getType());
    if (type.getAxis() == axis) {
      return type.getCapacity();
    }
  }
  return axis == form.rows ? form.rowExtent : form.columnExtent;
}

std::int64_t ScanKernel::widthOf(StringAttr axis) const {
  return axis == form.rows ? tiles.rows() : tiles.columns();
}

/// Where a block's piece of a matrix begins; empty: it has all of it.
std::string ScanKernel::originOf(StringAttr axis) const {
  return !form.isAhead ? "" : axis == form.rows ? "rowOrigin" : "columnOrigin";
}

std::string ScanKernel::countOf(StringAttr axis) {
  std::string count = number(extentOf(axis));
  if (form.slice &&
      cast<chunk::SpanType>(form.slice.getType()).getAxis() == axis) {
    const SpanText &span = f.spans[form.slice];
    count = span.valid.empty() ? count : span.valid;
  }
  if (!form.isAhead) {
    return count;
  }
  std::string width = number(widthOf(axis));
  std::string left = count + " - " + originOf(axis);
  return isPadded(axis)
             ? "(" + left + " < " + width + " ? " + left + " : " + width + ")"
             : width;
}

bool ScanKernel::isPadded(StringAttr axis) const {
  std::int64_t all = axis == form.rows ? form.rowExtent : form.columnExtent;
  std::int64_t extent = extentOf(axis), width = widthOf(axis);
  return form.isAhead ? extent % width != 0 || all % width != 0
                      : extent != width || all % extent != 0;
}

bool ScanKernel::holdsMatrix() const {
  return form.isAhead || (extentOf(form.rows) <= tiles.rows() &&
                          extentOf(form.columns) <= tiles.columns());
}

/// Of a task's matrices, and of its tokens: all but the last part's, on the way
/// back all but the first's.
void ScanKernel::printPiece() {
  std::string rowPieces = number(ceilDiv(extentOf(form.rows), tiles.rows()));
  f.text.line("const int rowOrigin = " +
              (f.pieces > 1 ? "piece % " + rowPieces + " * " : "0 * ") +
              number(tiles.rows()) + ", columnOrigin = " +
              (f.pieces > 1 ? "piece / " + rowPieces + " * " : "0 * ") +
              number(tiles.columns()) + ";");
  SequenceText &tokens = f.sequences[sequenceSpan()];
  std::string whole = form.isReverse ? tokens.begin : tokens.end;
  std::string limit = f.text.name(form.isReverse ? "firstPart" : "lastPart");
  f.text.line("const Index " + limit + " = " +
              (form.isReverse ? whole + " + ((Index)1 << shape.partBits);"
                              : "(" + whole +
                                    " - 1) >> shape.partBits << "
                                    "shape.partBits;"));
  (form.isReverse ? tokens.begin : tokens.end) = limit;
}

std::string ScanKernel::guarded(const std::string &value) {
  std::string condition = inside();
  return condition.empty() ? value : "(" + condition + " ? " + value + " : 0)";
}

std::string ScanKernel::inside(StringRef row, StringRef column) {
  std::string condition;
  if (isPadded(form.rows)) {
    condition = row.str() + " < " + rowsHere();
  }
  if (isPadded(form.columns)) {
    condition += (condition.empty() ? "" : " && ") + column.str() + " < " +
                 columnsHere();
  }
  return condition;
}

/// One element of memory as a lvalue. Axes that the access keeps are indexed
/// by `row` and `column`.
std::string ScanKernel::addressOf(Value buffer, OperandRange indices,
                                  StringRef token, StringRef row,
                                  StringRef column) {
  auto type = cast<chunk::BufferType>(buffer.getType());
  std::string name = f.buffers.lookup(buffer), offset;
  unsigned dimension = 0;
  std::string sequenceNumber = f.spans[sequenceSpan()].origin;
  auto add = [&](const Twine &index) {
    offset += (offset.empty() ? "(" : " + (") + index.str() + ") * " + name +
              ".strides[" + std::to_string(dimension++) + "]";
  };
  for (auto [axis, per] : llvm::zip(type.getNames(), type.getPers())) {
    Value span = chunk::findIndex(indices, axis);
    std::string by = per == 1 ? "" : " / " + std::to_string(per);
    bool isSlice = span && span == form.slice;
    if (axis == "T" && per > 1) {
      add(sequence().first + by + " + " + sequenceNumber + " + (" + token +
          ")" + by);
    } else if (axis == "T") {
      add(sequence().row);
      add(sequence().start + " + " + token);
    } else if (span && (!isSlice || per > 1)) {
      add("(" + f.spans[span].origin + ")" + by);
    } else {
      std::string index = (axis == form.rows ? row : column).str();
      std::string from = originOf(axis);
      index = from.empty() ? index : from + " + " + index;
      add(isSlice ? f.spans[span].origin + " + " + index : index);
    }
  }
  return "reinterpret_cast<" + storedName(type.getElement()) + " *>(" + name +
         ".data)[" + (offset.empty() ? "0" : offset) + "]";
}

std::string ScanKernel::strideOf(Value buffer, StringRef wanted) {
  auto type = cast<chunk::BufferType>(buffer.getType());
  unsigned dimension = 0;
  for (auto [axis, per] : llvm::zip(type.getNames(), type.getPers())) {
    // A batch row, then a token; or a slot for so many tokens.
    dimension += axis == "T" && per == 1 ? 2 : 1;
    if (axis == wanted) {
      break;
    }
  }
  return f.buffers.lookup(buffer) + ".strides[" + number(dimension - 1) + "]";
}

/// What the loops leave: a total, an adjoint or a state.
std::string ScanKernel::loopResult(const Node *node) const {
  unsigned number = cast<OpResult>(node->value).getResultNumber();
  for (auto [i, total] : llvm::enumerate(form.totals)) {
    if (total.index == number) {
      return totalNames[i] + (total.value->axes.empty() ? "" : totalEntry);
    }
  }
  for (auto [i, adjoint] : llvm::enumerate(form.adjoints)) {
    if (adjoint.index == number) {
      return adjointNames[i] + elementText;
    }
  }
  return stateNames[number] + "[a][n][e]";
}

/// A value before or after the loops, at one row and column.
std::string ScanKernel::boundary(const Node *node, StringRef row,
                                 StringRef column) {
  node = peel(node);
  if (auto known = scalars.find(node); known != scalars.end()) {
    return known->second;
  }
  if (node->kind == Kind::CopyIn) {
    auto load = cast<chunk::LoadOp>(node->op);
    std::string value =
        "widen(" +
        addressOf(load.getBuffer(), load.getIndices(), "", row, column) + ")";
    std::string condition;
    auto guard = [&](StringAttr axis, StringRef index, const std::string &end) {
      if (cpu::hasAxis(node->axes, axis) && isPadded(axis)) {
        condition += (condition.empty() ? "" : " && ") +
                     ("(" + index.str() + ") < " + end);
      }
    };
    guard(form.rows, row, rowsHere());
    guard(form.columns, column, columnsHere());
    return condition.empty() ? value
                             : "(" + condition + " ? " + value + " : 0)";
  }
  if (node->kind == Kind::Constant) {
    return printNumber(node->attributes.get("value"));
  }
  if (node->kind == Kind::LoopResult) {
    return loopResult(node);
  }
  SmallVector<std::string> operands;
  for (const Node *operand : node->operands) {
    operands.push_back(boundary(operand, row, column));
  }
  return printScalar(*node, operands);
}

void ScanKernel::unrolled(StringRef index, std::int64_t count) {
  f.text.line("#pragma unroll");
  f.text.open("for (int " + index + " = 0; " + index + " < " +
              std::to_string(count) + "; ++" + index + ")");
}

void ScanKernel::openGroup(bool mayBeFull) {
  unrolled("p", tiles.group);
  openToken(mayBeFull);
}

void ScanKernel::openToken(bool mayBeFull) {
  f.text.open(std::string("if (") + (mayBeFull ? "isFull.value || " : "") +
              "done + p < count)");
  f.text.line(std::string("const int t = ") +
              (form.isReverse ? "count - 1 - done - p" : "done + p") + ";");
  printNow();
}

void ScanKernel::printNow() {
  f.text.line("const float *const now = stage + 16 + t * " +
              number(tokenFloats) + ";");
}

void ScanKernel::closeGroup() {
  f.text.close();
  f.text.close();
}

void ScanKernel::openElements() {
  unrolled("n", tiles.columnTiles);
  unrolled("a", tiles.rowTiles);
  unrolled("e", 4);
}

void ScanKernel::closeElements() {
  f.text.close();
  f.text.close();
  f.text.close();
}

} // namespace recurra::cuda
