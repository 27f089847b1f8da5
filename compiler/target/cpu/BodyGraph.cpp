// Takes a block apart into nodes (1), assigns each to the first nest that walks
// the same axes and comes after what it needs (2), and marks what must be
// stored because another nest reads it (3).
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cpu/BodyGraph.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace recurra::cpu {

using Kind = Node::Kind;

BodyGraph::BodyGraph(Block &block, const AxisOrder &order)
    : block(block), order(order), context(block.getParentOp()->getContext()) {
  for (Operation &op : block) {
    add(op);
  }
  markStored();
}

//===----------------------------------------------------------------------===//
// 1. Nodes
//===----------------------------------------------------------------------===//

Node *BodyGraph::make(Kind kind, Axes axes, ArrayRef<Node *> operands,
                      Type element, Operation *op) {
  nodes.push_back(std::make_unique<Node>());
  Node *node = nodes.back().get();
  node->kind = kind;
  node->axes = std::move(axes);
  node->operands.assign(operands.begin(), operands.end());
  node->element = element;
  node->op = op;
  return node;
}

Node *BodyGraph::find(Value value) {
  Node *&node = byValue[value];
  if (!node) {
    auto type = cast<chunk::TileType>(value.getType());
    Node *known = make(Kind::Known, order.sorted(type), {}, type.getElement());
    known->value = value;
    byValue[value] = known;
    return known;
  }
  return node;
}

void BodyGraph::define(Value value, Node *node) { byValue[value] = node; }

Axes BodyGraph::uniteAxes(ArrayRef<Node *> parts) const {
  Axes axes;
  for (const Node *part : parts) {
    for (const Axis &axis : part->axes) {
      if (!hasAxis(axes, axis.name)) {
        axes.push_back(axis);
      }
    }
  }
  order.sort(axes);
  return axes;
}

Node *BodyGraph::makeElementwise(OperationName name, DictionaryAttr attrs,
                                 ArrayRef<Node *> operands, Type element) {
  // Equal ops on equal operands are one node.
  Node *&node =
      elementwise[{{name.getAsOpaquePointer(), attrs.getAsOpaquePointer()},
                   std::vector<Node *>(operands.begin(), operands.end())}];
  if (node) {
    return node;
  }
  Node *made = make(Kind::Elementwise, uniteAxes(operands), operands, element);
  made->name = name;
  made->attributes = attrs;
  if (!made->floats()) {
    place(made, made->axes, fence);
  }
  return node = made;
}

Node *BodyGraph::makeElementwise(StringRef name, ArrayRef<Node *> operands,
                                 Type element) {
  return makeElementwise(OperationName(name, context),
                         DictionaryAttr::get(context), operands, element);
}

Node *BodyGraph::makeConstant(double value, Type element) {
  Node *node = make(Kind::Constant, {}, {}, element);
  Builder builder(context);
  node->name = OperationName("arith.constant", context);
  node->attributes = builder.getDictionaryAttr(
      builder.getNamedAttr("value", builder.getFloatAttr(element, value)));
  return node;
}

/// a / b = a (1 / b) on f32 tiles: one reciprocal serves every division by b.
Node *BodyGraph::makeQuotient(Node *dividend, Node *divisor, Operation &op) {
  Type element = op.getResult(0).getType();
  if (!element.isF32() || uniteAxes({dividend, divisor}).empty()) {
    return makeElementwise(op.getName(), op.getAttrDictionary(),
                           {dividend, divisor}, element);
  }
  Node *&one = elementwise[{{nullptr, element.getAsOpaquePointer()}, {}}];
  if (!one) {
    one = makeConstant(1, element);
  }
  bool isOne = dividend->kind == Kind::Constant &&
               matchPattern(dividend->attributes.get("value"), m_OneFloat());
  Node *inverse = makeElementwise("arith.divf", {one, divisor}, element);
  return isOne ? inverse
               : makeElementwise("arith.mulf", {dividend, inverse}, element);
}

Node *BodyGraph::addRegionOp(Operation &op, DenseMap<Value, Node *> &values) {
  SmallVector<Node *> operands;
  for (Value operand : op.getOperands()) {
    operands.push_back(values.lookup(operand));
  }
  Type element = op.getResult(0).getType();
  if (isa<arith::ConstantOp>(op)) {
    Node *node = make(Kind::Constant, {}, {}, element);
    node->name = op.getName();
    node->attributes = op.getAttrDictionary();
    return node;
  }
  if (isa<arith::DivFOp>(op)) {
    return makeQuotient(operands[0], operands[1], op);
  }
  return makeElementwise(op.getName(), op.getAttrDictionary(), operands,
                         element);
}

void BodyGraph::addMap(chunk::MapOp op) {
  DenseMap<Value, Node *> values;
  for (auto [argument, input] :
       llvm::zip(op.getBlock().getArguments(), op.getInputs())) {
    values[argument] = find(input);
  }
  for (Operation &inner : op.getBlock().without_terminator()) {
    values[inner.getResult(0)] = addRegionOp(inner, values);
  }
  Node *result = values.lookup(op.getBlock().getTerminator()->getOperand(0));
  define(op.getResult(), broadcastTo(result, op.getResult().getType()));
}

Node *BodyGraph::broadcastTo(Node *node, chunk::TileType type) {
  if (node->axes.size() == type.getRank() && !node->floats()) {
    return node;
  }
  Node *wide =
      make(Kind::Broadcast, order.sorted(type), {node}, type.getElement());
  place(wide, wide->axes, fence);
  return wide;
}

/// What a yield hands on lies densely in a home of its own, so another view and
/// another carry are copied.
Node *BodyGraph::yieldNode(Node *node, unsigned index) {
  auto carry = dyn_cast_if_present<BlockArgument>(node->value);
  bool isOther =
      node->kind == Kind::Known && !(carry && carry.getOwner() == &block &&
                                     carry.getArgNumber() == index + 1);
  if (node->kind != Kind::Alias && !isOther) {
    return node;
  }
  Node *copy = make(Kind::Broadcast, node->axes, {node}, node->element);
  place(copy, copy->axes, fence);
  return copy;
}

Node *BodyGraph::addReduce(Node *source, ArrayAttr over, bool isMax) {
  Axes kept;
  for (const Axis &axis : source->axes) {
    if (!llvm::is_contained(over, axis.name)) {
      kept.push_back(axis);
    }
  }
  Node *node = make(Kind::Reduce, kept, {source}, source->element);
  node->isMax = isMax;
  place(node, source->axes, fence);
  return node;
}

void BodyGraph::addDot(chunk::DotOp op) {
  Type element = op.getResult().getType().getElement();
  Node *a = find(op.getLhs()), *b = find(op.getRhs());
  Node *acc = op.getAcc() ? find(op.getAcc()) : nullptr;
  Node *result;
  if (op.getOver().empty() && acc) {
    result = makeElementwise("math.fma", {a, b, acc}, element);
  } else {
    result = makeElementwise("arith.mulf", {a, b}, element);
    if (!op.getOver().empty()) {
      result = addReduce(result, op.getOver(), /*isMax=*/false);
    }
    if (acc) {
      result = makeElementwise("arith.addf", {result, acc}, element);
    }
  }
  define(op.getResult(), broadcastTo(result, op.getResult().getType()));
}

void BodyGraph::addMemory(Operation &op) {
  Kind kind;
  Value buffer, result;
  Axes axes;
  SmallVector<Node *> operands;
  Type element;
  if (auto load = dyn_cast<chunk::LoadOp>(op)) {
    buffer = load.getBuffer();
    kind = isScratch(buffer) ? Kind::ScratchLoad : Kind::CopyIn;
    result = load.getResult();
    axes = order.sorted(load.getResult().getType());
    element = load.getResult().getType().getElement();
  } else {
    auto store = cast<chunk::StoreOp>(op);
    buffer = store.getBuffer();
    kind = isScratch(buffer) ? Kind::ScratchStore : Kind::CopyOut;
    operands.push_back(find(store.getValue()));
    axes = order.sorted(store.getValue().getType());
    element = store.getValue().getType().getElement();
  }
  Node *node = make(kind, axes, operands, element, &op);
  // Program order on one buffer: loads after stores, stores after both.
  Access &access = accesses[buffer];
  int least = std::max(fence, access.store + 1);
  if (!result) {
    least = std::max(least, access.load + 1);
  }
  place(node, axes, least);
  int &last = result ? access.load : access.store;
  last = std::max(last, node->nest);
  if (!result) {
    return;
  }
  // Scratch holds whole tiles: zero beyond the valid length comes on reading.
  for (Value span : cast<chunk::LoadOp>(op).getIndices()) {
    if (kind == Kind::ScratchLoad && !isAlwaysFull(span)) {
      node = maskTo(node, span, /*isMinusInfinity=*/false);
    }
  }
  define(result, node);
}

Node *BodyGraph::maskTo(Node *node, Value span, bool isMinusInfinity) {
  Node *masked = make(Kind::Mask, node->axes, {node}, node->element);
  masked->span = span;
  masked->isMax = isMinusInfinity;
  place(masked, masked->axes, fence);
  return masked;
}

void BodyGraph::addLoop(Operation &op) {
  SmallVector<Node *> operands;
  auto forOp = dyn_cast<chunk::ForOp>(op);
  SmallVector<Value> inits;
  if (forOp) {
    inits = forOp.getInits();
  }
  for (Value init : inits) {
    Node *node = find(init);
    if (node->kind == Kind::Alias) {
      Node *copy = make(Kind::Broadcast, node->axes, {node}, node->element);
      place(copy, copy->axes, fence);
      node = copy;
    }
    operands.push_back(node);
  }
  auto use = [&](Value value) {
    Operation *owner = value.getDefiningOp();
    bool isInside = owner
                        ? op.isProperAncestor(owner)
                        : op.isAncestor(value.getParentBlock()->getParentOp());
    if (isa<chunk::TileType>(value.getType()) && !isInside) {
      operands.push_back(find(value));
    }
  };
  op.walk([&](Operation *inner) {
    if (inner != &op && !isa<chunk::MapOp>(inner->getParentOp())) {
      llvm::for_each(inner->getOperands(), use);
    }
  });
  Node *loop = make(Kind::Loop, {}, operands, Float32Type::get(context), &op);
  place(loop, {}, nests.size());
  fence = nests.size();
  for (Value result : op.getResults()) {
    auto type = cast<chunk::TileType>(result.getType());
    Node *node = make(Kind::LoopResult, order.sorted(type), {loop},
                      type.getElement(), &op);
    node->value = result;
    node->nest = loop->nest;
    define(result, node);
  }
}

void BodyGraph::add(Operation &op) {
  if (auto map = dyn_cast<chunk::MapOp>(op)) {
    addMap(map);
  } else if (auto dot = dyn_cast<chunk::DotOp>(op)) {
    addDot(dot);
  } else if (isa<chunk::LoadOp, chunk::StoreOp>(op)) {
    addMemory(op);
  } else if (isa<chunk::ForOp, chunk::ForallOp>(op)) {
    addLoop(op);
  } else if (auto fill = dyn_cast<chunk::FillOp>(op)) {
    auto type = fill.getResult().getType();
    Node *number =
        makeConstant(fill.getValue().convertToDouble(), type.getElement());
    define(fill.getResult(), broadcastTo(number, type));
  } else if (auto reduce = dyn_cast<chunk::ReduceOp>(op)) {
    define(reduce.getResult(),
           addReduce(find(reduce.getInput()), reduce.getOver(),
                     reduce.getKind() == "max"));
  } else if (auto mask = dyn_cast<chunk::MaskOp>(op)) {
    define(mask.getResult(), maskTo(find(mask.getInput()), mask.getSpan(),
                                    mask.getMinusInfinity()));
  } else if (isa<chunk::YieldOp>(op)) {
    for (auto [index, value] : llvm::enumerate(op.getOperands())) {
      yields.push_back(yieldNode(find(value), index));
    }
  } else if (op.getNumResults() == 1 && op.getNumOperands() > 0) {
    // first, place, index, rename, scan
    auto type = cast<chunk::TileType>(op.getResult(0).getType());
    Kind kind = isa<chunk::FirstOp>(op)   ? Kind::First
                : isa<chunk::PlaceOp>(op) ? Kind::Place
                : isa<chunk::ScanOp>(op)  ? Kind::Scan
                                          : Kind::Alias;
    Node *node = make(kind, order.sorted(type), {find(op.getOperand(0))},
                      type.getElement(), &op);
    if (auto scan = dyn_cast<chunk::ScanOp>(op)) {
      node->isMax = scan.getKind() == "max";
    }
    place(node, node->axes, fence);
    define(op.getResult(0), node);
  }
}

//===----------------------------------------------------------------------===//
// 2. Nests
//===----------------------------------------------------------------------===//

static bool isAlone(Kind kind) {
  return kind == Kind::CopyIn || kind == Kind::CopyOut || kind == Kind::Scan ||
         kind == Kind::Loop || kind == Kind::Alias;
}

int BodyGraph::levelFor(const Node *operand, const Axes &domain) const {
  if (operand->kind == Kind::Known) {
    return 0;
  }
  if (operand->floats()) {
    int level = 0;
    for (const Node *inner : operand->operands) {
      level = std::max(level, levelFor(inner, domain));
    }
    return level;
  }
  bool together = isPointwise(operand->kind) && operand->axes == domain;
  return together ? operand->nest : operand->nest + 1;
}

void BodyGraph::place(Node *node, const Axes &domain, int least) {
  bool alone = isAlone(node->kind);
  for (const Node *operand : node->operands) {
    int level = alone ? operand->nest + 1 : levelFor(operand, domain);
    least = std::max(least, level);
  }
  if (!alone) {
    for (int i = least, e = nests.size(); i < e; ++i) {
      if (!nests[i].isAlone && nests[i].domain == domain) {
        nests[i].nodes.push_back(node);
        node->nest = i;
        return;
      }
    }
  }
  node->nest = nests.size();
  nests.push_back({domain, {node}, alone});
}

//===----------------------------------------------------------------------===//
// 3. What is stored
//===----------------------------------------------------------------------===//

void BodyGraph::markUse(Node *operand, int nest) {
  if (operand->floats()) {
    for (Node *inner : operand->operands) {
      markUse(inner, nest);
    }
    return;
  }
  if (operand->kind == Kind::Known) {
    int &last = lastReads.try_emplace(operand, -1).first->second;
    last = std::max(last, nest);
    return;
  }
  if (operand->kind == Kind::Alias) {
    // At other indices than its own: only a later nest may overwrite it.
    markUse(operand->operands[0], nest + 1);
  }
  if (operand->nest != nest || !isPointwise(operand->kind)) {
    operand->stored = true;
  }
}

void BodyGraph::markStored() {
  for (const std::unique_ptr<Node> &node : nodes) {
    if (node->floats()) {
      continue;
    }
    for (Node *operand : node->operands) {
      markUse(operand, node->nest);
    }
  }
  for (Node *yield : yields) {
    if (yield->kind != Kind::Known) {
      yield->stored = true;
    }
  }
}

int BodyGraph::lastRead(const Node *known) const {
  auto found = lastReads.find(known);
  return found == lastReads.end() ? -1 : found->second;
}

bool BodyGraph::isLastUse(const Node *node, const Node *loop) const {
  if (llvm::count(loop->operands, node) != 1 || node->kind == Kind::Alias ||
      llvm::is_contained(yields, node)) {
    return false;
  }
  for (const std::unique_ptr<Node> &user : nodes) {
    bool isLater =
        user->nest > loop->nest || user->kind == Kind::Alias || user->floats();
    if (isLater && llvm::is_contained(user->operands, node)) {
      return false;
    }
  }
  return true;
}

//===----------------------------------------------------------------------===//

bool isPointwise(Node::Kind kind) {
  return kind == Kind::Elementwise || kind == Kind::Broadcast ||
         kind == Kind::Place || kind == Kind::Mask || kind == Kind::First ||
         kind == Kind::ScratchLoad;
}

bool isScratch(Value buffer) {
  auto alloc = buffer.getDefiningOp<chunk::AllocOp>();
  return alloc && alloc.getScratch();
}

bool isAlwaysFull(Value span) {
  auto type = cast<chunk::SpanType>(span.getType());
  StringRef axis = type.getAxis().getValue();
  if (type.getCapacity() == 1 || axis == "H") {
    return true;
  }
  if (axis == "T" || axis == "N") {
    return false;
  }
  if (Value parent = chunk::getParent(span)) {
    auto outer = cast<chunk::SpanType>(parent.getType());
    return outer.getCapacity() % type.getCapacity() == 0 &&
           isAlwaysFull(parent);
  }
  Operation *loop = chunk::getLoop(span);
  return chunk::getExtent(loop, axis) % type.getCapacity() == 0;
}

} // namespace recurra::cpu
