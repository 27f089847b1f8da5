// Verifiers of the ops of the chunk dialect.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/chunk/Chunk.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace recurra::chunk;

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

static LogicalResult verifyIterator(Operation *op, Value span, Value parent,
                                    StringRef axis, int64_t step) {
  auto type = dyn_cast<SpanType>(span.getType());
  if (!type || type.getAxis().getValue() != axis ||
      type.getCapacity() != step) {
    return op->emitOpError() << "iterates over " << axis << " by " << step
                             << " but its span has type " << span.getType();
  }
  if (!parent) {
    return axis == "T" ? op->emitOpError()
                             << "tokens belong to a sequence; write T of a "
                                "point of N"
                       : success();
  }
  auto parentType = cast<SpanType>(parent.getType());
  if (parentType.getAxis().getValue() == axis) {
    return success();
  }
  if (axis == "T" && parentType.getAxis().getValue() == "N" &&
      parentType.getCapacity() == 1) {
    return success();
  }
  return op->emitOpError() << "cannot iterate over " << axis << " within "
                           << parentType;
}

LogicalResult ForallOp::verify() {
  unsigned count = getNumIterators();
  if (getAxes().size() != count || getNested().size() != count ||
      getBlock().getNumArguments() != count ||
      llvm::count(getNested(), true) != (int64_t)getParents().size()) {
    return emitOpError("has inconsistent iterators");
  }
  bool topLevel = isa<func::FuncOp>((*this)->getParentOp());
  for (unsigned i = 0; i < count; ++i) {
    if (failed(verifyIterator(*this, getSpan(i), getParent(i), getAxis(i),
                              getSteps()[i]))) {
      return failure();
    }
    if (topLevel && getParent(i)) {
      return emitOpError("at the top level iterates over root axes only");
    }
  }
  return success();
}

LogicalResult ForOp::verify() {
  if (failed(verifyIterator(*this, getSpan(), getParent(), getAxis(),
                            getStep()))) {
    return failure();
  }
  Operation *yield = getBlock().getTerminator();
  if (!isa<YieldOp>(yield) ||
      yield->getOperandTypes() != getInits().getTypes() ||
      getResultTypes() != getInits().getTypes() ||
      TypeRange(getCarries()) != TypeRange(getInits())) {
    return emitOpError("must yield its carries with their types");
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Adds what an access keeps of one buffer axis to `axes`.
static LogicalResult
addAccessedAxis(Operation *op, BufferType buffer, unsigned position,
                Value index,
                SmallVectorImpl<std::pair<StringRef, int64_t>> &axes) {
  StringRef axis = buffer.getNames()[position].getValue();
  int64_t per = buffer.getPers()[position];
  int64_t window = buffer.getWindows()[position];
  if (!index) {
    int64_t entries = window ? window : getExtent(op, axis);
    if (entries == 0) {
      return op->emitOpError()
             << "takes axis " << axis
             << " whole, whose size is not known here; name it as an index";
    }
    axes.emplace_back(axis, (entries + per - 1) / per);
    return success();
  }
  if (window && !getWindowSpan(index, window)) {
    return op->emitOpError()
           << "index " << axis << " lies in no span of capacity " << window;
  }
  int64_t capacity = cast<SpanType>(index.getType()).getCapacity();
  if (capacity > per) {
    if (capacity % per != 0) {
      return op->emitOpError() << "index " << axis << " of capacity "
                               << capacity << " is no multiple of " << per;
    }
    axes.emplace_back(axis, capacity / per);
  }
  return success();
}

static LogicalResult verifyAccess(Operation *op, BufferType buffer,
                                  OperandRange indices, TileType tile) {
  for (auto [position, index] : llvm::enumerate(indices)) {
    StringRef axis = cast<SpanType>(index.getType()).getAxis();
    if (buffer.findAxis(axis) < 0) {
      return op->emitOpError()
             << "names axis " << axis << ", which " << buffer << " lacks";
    }
    if (findIndex(indices, axis) != index) {
      return op->emitOpError() << "names axis " << axis << " twice";
    }
  }
  SmallVector<std::pair<StringRef, int64_t>> axes;
  for (unsigned i = 0; i < buffer.getRank(); ++i) {
    Value index = findIndex(indices, buffer.getNames()[i]);
    if (failed(addAccessedAxis(op, buffer, i, index, axes))) {
      return failure();
    }
  }
  auto expected =
      TileType::getSorted(op->getContext(), axes, tile.getElement());
  if (expected != tile) {
    return op->emitOpError() << "accesses " << expected << ", not " << tile;
  }
  return success();
}

LogicalResult LoadOp::verify() {
  return verifyAccess(*this, getBuffer().getType(), getIndices(),
                      getResult().getType());
}

/// The store must tell the iterations of `span` apart.
static LogicalResult verifyDistinct(StoreOp store, Value span) {
  auto covers = [&](Value index) {
    return index && isDerivedFrom(index, span);
  };
  if (llvm::any_of(store.getIndices(), covers) || covers(store.getFirst())) {
    return success();
  }
  return store.emitOpError()
         << "does not name the parallel span of "
         << cast<SpanType>(span.getType()).getAxis()
         << " around it; iterations would store to the same place";
}

LogicalResult StoreOp::verify() {
  BufferType buffer = getBuffer().getType();
  if (failed(verifyAccess(*this, buffer, getIndices(), getValue().getType()))) {
    return failure();
  }
  for (Value index : getIndices()) {
    auto span = cast<SpanType>(index.getType());
    int64_t per = buffer.getPers()[buffer.findAxis(span.getAxis())];
    if (span.getCapacity() % per != 0) {
      return emitOpError() << "index " << span.getAxis()
                           << " covers only a part of a slot per " << per;
    }
  }
  auto alloc = getBuffer().getDefiningOp<AllocOp>();
  if (alloc && alloc.getScratch()) {
    return success();
  }
  for (Operation *op = (*this)->getParentOp(); op; op = op->getParentOp()) {
    auto forall = dyn_cast<ForallOp>(op);
    for (unsigned i = 0; forall && i < forall.getNumIterators(); ++i) {
      if (failed(verifyDistinct(*this, forall.getSpan(i)))) {
        return failure();
      }
    }
  }
  return success();
}

LogicalResult AllocOp::verify() {
  bool topLevel = isa<func::FuncOp>((*this)->getParentOp());
  if (!getScratch()) {
    return topLevel ? success()
                    : emitOpError("workspace stands at the top level");
  }
  BufferType type = getBuffer().getType();
  for (auto [name, window] : llvm::zip(type.getNames(), type.getWindows())) {
    StringRef axis = name.getValue();
    if (!window && (axis == "N" || axis == "H" || axis == "T")) {
      return emitOpError() << "scratch needs a window of " << axis;
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// The axes of `part` are axes of `whole`, with the same sizes.
static LogicalResult verifyAxes(Operation *op, TileType part, TileType whole) {
  if (part.getElement() != whole.getElement()) {
    return op->emitOpError() << "mixes " << part << " and " << whole;
  }
  for (auto [name, size] : llvm::zip(part.getNames(), part.getSizes())) {
    if (whole.getSize(name) != size) {
      return op->emitOpError() << "has axis " << name << " of size " << size
                               << " in " << part << " but not in " << whole;
    }
  }
  return success();
}

LogicalResult MapOp::verify() {
  TileType result = getResult().getType();
  for (Value input : getInputs()) {
    if (failed(verifyAxes(*this, cast<TileType>(input.getType()), result))) {
      return failure();
    }
  }
  if (getBlock().getNumArguments() != getInputs().size()) {
    return emitOpError("needs one region argument per operand");
  }
  auto yield = dyn_cast<YieldOp>(getBlock().getTerminator());
  if (!yield || yield.getNumOperands() != 1 ||
      yield.getOperand(0).getType() != result.getElement()) {
    return emitOpError() << "must yield one " << result.getElement();
  }
  for (Operation &op : getBlock().without_terminator()) {
    StringRef dialect = op.getName().getDialectNamespace();
    if (dialect != "arith" && dialect != "math") {
      return emitOpError() << "holds " << op.getName()
                           << "; only arith and math ops may stand in a map";
    }
  }
  return success();
}

static LogicalResult verifyKind(Operation *op, StringRef kind) {
  if (kind == "add" || kind == "max") {
    return success();
  }
  return op->emitOpError() << "has kind " << kind << "; it is add or max";
}

LogicalResult ReduceOp::verify() {
  SmallVector<StringRef> over;
  for (StringAttr axis : getOver().getAsRange<StringAttr>()) {
    if (!getInput().getType().hasAxis(axis)) {
      return emitOpError() << "reduces over axis " << axis
                           << ", which its operand lacks";
    }
    over.push_back(axis);
  }
  TileType expected = getInput().getType().dropAxes(over);
  if (expected != getResult().getType()) {
    return emitOpError() << "gives " << expected << ", not "
                         << getResult().getType();
  }
  return verifyKind(*this, getKind());
}

LogicalResult ScanOp::verify() {
  if (!getInput().getType().hasAxis(getAlong())) {
    return emitOpError() << "runs along axis " << getAlong()
                         << ", which its operand lacks";
  }
  return verifyKind(*this, getKind());
}

LogicalResult DotOp::verify() {
  TileType lhs = getLhs().getType(), rhs = getRhs().getType();
  TileType product = lhs;
  for (auto [name, size] : llvm::zip(rhs.getNames(), rhs.getSizes())) {
    if (!product.hasAxis(name)) {
      product = product.addAxis(name, size);
    }
  }
  if (failed(verifyAxes(*this, rhs, product))) {
    return failure();
  }
  SmallVector<StringRef> over;
  for (StringAttr axis : getOver().getAsRange<StringAttr>()) {
    if (!product.hasAxis(axis)) {
      return emitOpError() << "sums over axis " << axis
                           << ", which both operands lack";
    }
    over.push_back(axis);
  }
  TileType expected = product.dropAxes(over);
  if (expected != getResult().getType()) {
    return emitOpError() << "gives " << expected << ", not "
                         << getResult().getType();
  }
  if (getAcc() && getAcc().getType() != getResult().getType()) {
    return emitOpError("adds to a tile of another type");
  }
  return success();
}

LogicalResult RenameOp::verify() {
  TileType input = getInput().getType();
  int64_t size = input.getSize(getFrom());
  if (size == 0 || input.hasAxis(getTo())) {
    return emitOpError() << "cannot rename " << getFrom() << " to " << getTo()
                         << " in " << input;
  }
  TileType expected = input.dropAxes({getFrom()}).addAxis(getTo(), size);
  return expected == getResult().getType()
             ? success()
             : emitOpError() << "gives " << expected;
}

/// `small` is `big` without `axis`, which holds `position`.
static LogicalResult verifyEntry(Operation *op, TileType small, TileType big,
                                 StringRef axis, int64_t position) {
  if (position < 0 || position >= big.getSize(axis)) {
    return op->emitOpError() << "names entry " << position << " of axis "
                             << axis << " in " << big;
  }
  return big.dropAxes({axis}) == small
             ? success()
             : op->emitOpError() << "does not fit " << small << " and " << big;
}

LogicalResult IndexOp::verify() {
  return verifyEntry(*this, getResult().getType(), getInput().getType(),
                     getAxis(), getPosition());
}

LogicalResult PlaceOp::verify() {
  return verifyEntry(*this, getInput().getType(), getResult().getType(),
                     getAxis(), getPosition());
}

LogicalResult MaskOp::verify() {
  auto span = getSpan().getType();
  if (getInput().getType().getSize(span.getAxis()) != span.getCapacity()) {
    return emitOpError() << "masks along " << span << ", which "
                         << getInput().getType() << " lacks";
  }
  return success();
}

LogicalResult FirstOp::verify() {
  return getInput().getType().hasAxis(getSpan().getType().getAxis())
             ? emitOpError("has the span's axis")
             : success();
}
