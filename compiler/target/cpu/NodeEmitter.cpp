// Values are cached at the loop level at which they are constant: operands
// without axes outside all loops, lane vectors outside the rows, row scalars
// once per row.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cpu/NodeEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace recurra::cpu {

using Kind = Node::Kind;

NodeEmitter::NodeEmitter(Frame &frame, const Nest &nest, Homes &homes)
    : f(frame), nest(nest), homes(homes) {
  if (!isScalarNest()) {
    lane = nest.domain.back();
  }
}

//===----------------------------------------------------------------------===//
// Loop levels
//===----------------------------------------------------------------------===//

static void visit(const Node *node,
                  llvm::function_ref<void(const Node *)> body) {
  if (node->floats()) {
    for (const Node *inner : node->operands) {
      visit(inner, body);
    }
  } else {
    body(node);
  }
}

void NodeEmitter::forEachOperand(llvm::function_ref<void(const Node *)> body) {
  for (const Node *node : nest.nodes) {
    for (const Node *operand : node->operands) {
      visit(operand, body);
    }
  }
}

void NodeEmitter::hoistScalars() {
  forEachOperand([&](const Node *node) {
    if (node->axes.empty() && !splats.contains(node)) {
      splats[node] = f.broadcast(storageOf(f, homes, node).scalar);
    }
  });
}

void NodeEmitter::startBlock(Value first, int64_t vectors) {
  laneFirst = first;
  atLanes.clear();
  if (nest.domain.size() == 1) {
    return;
  }
  forEachOperand([&](const Node *node) {
    if (node->axes.size() != 1 || node->axes[0] != lane) {
      return;
    }
    for (int64_t j = 0; j < vectors; ++j) {
      Value &value = atLanes[{node, j}];
      if (!value) {
        vectorNumber = j;
        row.clear();
        value = load(node, storageOf(f, homes, node).view);
      }
    }
  });
}

void NodeEmitter::startBody() {
  atRow.clear();
  atPoint.clear();
}

void NodeEmitter::startPoint(ArrayRef<Value> rowIndex, int64_t number,
                             int64_t vector) {
  row.assign(rowIndex.begin(), rowIndex.end());
  rowNumber = number;
  vectorNumber = vector;
}

void NodeEmitter::evaluate() {
  SmallVector<const Node *> stores;
  for (const Node *node : nest.nodes) {
    if (f.idleStores.contains(node->op)) {
      continue;
    }
    if (node->kind == Kind::Reduce || node->kind == Kind::ScratchStore) {
      operand(node->operands[0]); // read, and kept, before anything is stored
      if (node->kind == Kind::ScratchStore) {
        stores.push_back(node);
      }
      continue;
    }
    evaluate(node);
    if (node->stored && isScalarNest()) {
      homes[node].scalar = here(node);
    } else if (node->stored) {
      stores.push_back(node);
    }
  }
  // After all reads of this point, since a carry is updated in place.
  llvm::for_each(stores, [&](const Node *node) { store(node); });
}

void NodeEmitter::evaluate(const Node *node) {
  if (!here(node)) {
    Value value = compute(node);
    here(node) = value;
  }
}

void NodeEmitter::store(const Node *node) {
  bool isScratch = node->kind == Kind::ScratchStore;
  Value value = operand(isScratch ? node->operands[0] : node);
  View view;
  if (isScratch) {
    auto store = cast<chunk::StoreOp>(node->op);
    view = f.scratchViewOf(store.getBuffer(), store.getIndices());
  } else {
    view = homes[node].view;
  }
  Value pointer = address(view, /*withLane=*/true);
  isScalarNest() ? f.storeScalar(value, pointer)
                 : f.storeVector(value, pointer);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value NodeEmitter::operand(const Node *node) {
  if (Value value = here(node)) {
    return value;
  }
  if (node->kind == Kind::Constant) {
    return constant(node);
  }
  if (node->floats()) {
    Value value = computeElementwise(node);
    return here(node) = value;
  }
  if (node->kind == Kind::ScratchLoad && node->nest == nest.nodes[0]->nest) {
    evaluate(node);
    return here(node);
  }
  if (isScalarNest()) {
    return storageOf(f, homes, node).scalar;
  }
  if (node->axes.empty()) {
    return splats.lookup(node);
  }
  const View &view = storageOf(f, homes, node).view;
  if (!hasAxis(node->axes, lane.name)) {
    Value &value = atRow[{node, rowNumber}];
    if (!value) {
      value = f.broadcast(f.loadScalar(address(view, /*withLane=*/false)));
    }
    return value;
  }
  auto found = atLanes.find({node, vectorNumber});
  if (found != atLanes.end()) {
    return found->second;
  }
  Value value = load(node, view);
  return here(node) = value;
}

Value NodeEmitter::compute(const Node *node) {
  switch (node->kind) {
  case Kind::Elementwise:
    return computeElementwise(node);
  case Kind::Broadcast:
    return operand(node->operands[0]);
  case Kind::Place:
    return place(node);
  case Kind::Mask:
    return mask(node);
  case Kind::First:
    return first(node);
  default: {
    auto load = cast<chunk::LoadOp>(node->op);
    View view = f.scratchViewOf(load.getBuffer(), load.getIndices());
    return isScalarNest() ? f.loadScalar(f.basePointer(view))
                          : this->load(node, view);
  }
  }
}

Value NodeEmitter::computeElementwise(const Node *node) {
  OperationState state(f.loc, *node->name);
  for (const Node *input : node->operands) {
    state.addOperands(operand(input));
  }
  state.addAttributes(node->attributes.getValue());
  state.addTypes(isScalarNest() ? node->element
                                : Type(f.vectorType(node->element)));
  return f.b.create(state)->getResult(0);
}

Value NodeEmitter::constant(const Node *node) {
  Attribute value = node->attributes.get("value");
  Type type = node->element;
  if (!isScalarNest()) {
    auto vector = f.vectorType(type);
    type = vector;
    value = DenseElementsAttr::get(vector, value);
  }
  return arith::ConstantOp::create(f.b, f.loc, type, cast<TypedAttr>(value));
}

Value NodeEmitter::place(const Node *node) {
  auto op = cast<chunk::PlaceOp>(node->op);
  Value position = f.integer(op.getPosition());
  Value value = operand(node->operands[0]);
  if (lane.name == op.getAxis()) {
    Value start = laneStart(vectorNumber);
    Value before = f.lanesBelow(start, position);
    Value upTo = f.lanesBelow(start, f.add(position, f.integer(1)));
    value = f.select(upTo, value, f.splat(0));
    return f.select(before, f.splat(0), value);
  }
  for (auto [index, axis] : llvm::zip(row, nest.domain)) {
    if (axis.name == op.getAxis()) {
      return f.select(f.isEqual(index, position), value, f.splat(0));
    }
  }
  llvm_unreachable("the axis of a place is in its result");
}

Value NodeEmitter::mask(const Node *node) {
  const SpanInfo &span = f.spans[node->span];
  Value value = operand(node->operands[0]);
  if (!span.valid) {
    return value;
  }
  Value outside = f.splat(f.neutral(node->isMax));
  if (lane.name == span.axis) {
    return f.select(f.lanesBelow(laneStart(vectorNumber), span.valid), value,
                    outside);
  }
  for (auto [index, axis] : llvm::zip(row, nest.domain)) {
    if (axis.name == span.axis) {
      return f.select(f.isLess(index, span.valid), value, outside);
    }
  }
  return value;
}

Value NodeEmitter::first(const Node *node) {
  auto op = cast<chunk::FirstOp>(node->op);
  Value isFirst = f.isEqual(f.spans[op.getSpan()].origin, f.integer(0));
  Value zero = isScalarNest() ? f.real(0) : f.splat(0);
  return f.select(isFirst, operand(node->operands[0]), zero);
}

Value NodeEmitter::withoutPadding(Value value, double by) {
  APInt start;
  if (!matchPattern(laneStart(vectorNumber), m_ConstantInt(&start)) ||
      start.getSExtValue() + f.lanes <= lane.size) {
    return value;
  }
  SmallVector<bool> valid(f.lanes);
  for (int64_t i = 0; i < f.lanes; ++i) {
    valid[i] = start.getSExtValue() + i < lane.size;
  }
  VectorType type = f.vectorType(f.b.getI1Type());
  Value keep = arith::ConstantOp::create(
      f.b, f.loc, type, DenseElementsAttr::get(type, ArrayRef<bool>(valid)));
  return f.select(keep, value, f.splat(by));
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

Value NodeEmitter::laneStart(int64_t j) {
  return f.add(laneFirst, f.integer(j * f.lanes));
}

Value NodeEmitter::rowOffset(const View &view) {
  Value offset = f.integer(0);
  for (auto [index, axis] : llvm::zip(row, nest.domain)) {
    if (int64_t stride = view.stride(axis.name)) {
      offset = f.add(offset, f.mul(index, f.integer(stride)));
    }
  }
  return offset;
}

Value NodeEmitter::address(const View &view, bool withLane) {
  Value pointer = f.pointer(f.basePointer(view), f.element, rowOffset(view));
  if (!withLane || isScalarNest()) {
    return pointer;
  }
  pointer = f.pointer(pointer, f.element, laneFirst);
  return f.pointer(pointer, f.element, vectorNumber * f.lanes);
}

Value NodeEmitter::lanePointer(const View &view, int64_t j) {
  Value pointer = f.pointer(f.basePointer(view), f.element, laneFirst);
  return f.pointer(pointer, f.element, j * f.lanes);
}

Value NodeEmitter::load(const Node *node, const View &view) {
  if (view.stride(lane.name) != 1) {
    return gather(view);
  }
  return f.loadVector(address(view, /*withLane=*/true));
}

/// One element per lane, for a view whose lane axis does not run along memory.
/// Lanes beyond the axis read its last entry.
Value NodeEmitter::gather(const View &view) {
  Value base = address(view, /*withLane=*/false);
  Value start = laneStart(vectorNumber);
  Value last = f.integer(lane.size - 1);
  Value stride = f.integer(view.stride(lane.name));
  SmallVector<Value> elements;
  for (int64_t i = 0; i < f.lanes; ++i) {
    Value index = f.smaller(f.add(start, f.integer(i)), last);
    elements.push_back(
        f.loadScalar(f.pointer(base, f.element, f.mul(index, stride))));
  }
  return vector::FromElementsOp::create(f.b, f.loc, f.vectorType(), elements);
}

} // namespace recurra::cpu
