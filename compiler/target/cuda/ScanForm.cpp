// The structure of the loops first, then the algebra of the token's step.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/ScanForm.h"

using namespace mlir;

namespace recurra::cuda {

using Kind = Node::Kind;

StringRef opOf(const Node *node) {
  return node->kind == Kind::Elementwise ? node->name->getStringRef() : "";
}

const Node *ScanForm::peel(const Node *node) {
  while (node->kind == Kind::Broadcast ||
         (node->kind == Kind::Mask && !node->isMax)) {
    node = node->operands[0];
  }
  return node;
}

static Node *peel(Node *node) {
  return const_cast<Node *>(ScanForm::peel(node));
}

bool ScanForm::fail(const std::string &reason) {
  if (why.empty()) {
    why = reason;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Equality of nodes
//===----------------------------------------------------------------------===//

static bool isSameLoad(const Node *a, const Node *b) {
  auto one = cast<chunk::LoadOp>(a->op), other = cast<chunk::LoadOp>(b->op);
  if (one.getBuffer() != other.getBuffer() ||
      one.getResult().getType() != other.getResult().getType()) {
    return false;
  }
  // Of the same token, in two loops over it; all else alike.
  for (auto [x, y] : llvm::zip(one.getIndices(), other.getIndices())) {
    bool isToken = cast<chunk::SpanType>(x.getType()).getAxis() == "T";
    if (x != y && !isToken) {
      return false;
    }
  }
  return true;
}

static bool areSame(ArrayRef<Node *> a, ArrayRef<Node *> b) {
  return a.size() == b.size() && llvm::all_of(llvm::zip(a, b), [](auto pair) {
           return isSame(std::get<0>(pair), std::get<1>(pair));
         });
}

bool isSame(const Node *a, const Node *b) {
  a = ScanForm::peel(a);
  b = ScanForm::peel(b);
  if (a == b) {
    return true;
  }
  if (a->kind != b->kind) {
    return false;
  }
  switch (a->kind) {
  case Kind::CopyIn:
    return isSameLoad(a, b);
  case Kind::Known:
    return a->value == b->value;
  case Kind::Constant:
    return a->attributes == b->attributes;
  case Kind::Elementwise: {
    if (a->name != b->name || a->attributes != b->attributes) {
      return false;
    }
    StringRef op = opOf(a);
    bool commutes = op == "arith.mulf" || op == "arith.addf";
    return areSame(a->operands, b->operands) ||
           (commutes && isSame(a->operands[0], b->operands[1]) &&
            isSame(a->operands[1], b->operands[0]));
  }
  default:
    return false;
  }
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

bool ScanForm::findLoops() {
  SmallVector<chunk::ForOp> outer(forall.getBlock().getOps<chunk::ForOp>());
  if (outer.size() != 1 || outer[0].getAxis() != "T") {
    return fail("the nest is not one loop over a sequence's tokens");
  }
  runs = outer[0];
  interval = runs.getStep();
  isReverse = runs.getReverse();
  SmallVector<chunk::ForOp> inner(runs.getBlock().getOps<chunk::ForOp>());
  if (inner.size() != (isReverse ? 2 : 1) || interval > 64 ||
      interval % 16 != 0) {
    return fail("a run has loops of its own");
  }
  tokens = inner.back();
  trace = isReverse ? inner.front() : chunk::ForOp();
  for (chunk::ForOp loop : inner) {
    if (loop.getStep() != 1 ||
        loop.getReverse() != (loop != trace && isReverse)) {
      return fail("a run is not walked token by token");
    }
  }
  if (trace && !llvm::all_of(trace.getResults(),
                             [](Value last) { return last.use_empty(); })) {
    return fail("what follows the trace's end is read");
  }
  for (Operation &op : runs.getBlock()) {
    if (!isa<chunk::ForOp, chunk::LoadOp, chunk::StoreOp, chunk::AllocOp,
             chunk::YieldOp>(op)) {
      return fail("something is computed once per run");
    }
  }
  return true;
}

/// The two axes of the first carried matrix: forward, sums run over the
/// columns; backward, the columns are the axis with more of them.
bool ScanForm::findAxes() {
  chunk::ForOp walked = trace ? trace : tokens;
  chunk::TileType matrix;
  for (Value carry : walked.getCarries()) {
    auto type = cast<chunk::TileType>(carry.getType());
    if (type.getRank() == 2 && !matrix) {
      matrix = type;
    } else if (type != matrix) {
      return fail("states of several shapes");
    }
  }
  if (!matrix || !matrix.getElement().isF32()) {
    return fail("no f32 state has two axes");
  }
  DenseMap<StringAttr, unsigned> sums;
  body = std::make_unique<cpu::BodyGraph>(tokens.getBlock(), *order);
  for (cpu::Nest &nest : body->getNests()) {
    for (Node *node : nest.nodes) {
      if (node->kind != Kind::Reduce || node->isMax) {
        continue;
      }
      for (const Axis &axis : node->operands[0]->axes) {
        if (node->axes.size() == 1 && node->axes[0].name != axis.name) {
          ++sums[axis.name];
        }
      }
    }
  }
  StringAttr a = matrix.getNames()[0], b = matrix.getNames()[1];
  bool isFirst = sums[a] != sums[b]
                     ? sums[a] > sums[b]
                     : (chunk::getExtent(forall, a) >
                        chunk::getExtent(forall, b)) == isReverse;
  columns = isFirst ? a : b;
  rows = isFirst ? b : a;
  if (forall.getNumIterators() == 3) {
    slice = forall.getSpan(2);
    StringAttr cut = cast<chunk::SpanType>(slice.getType()).getAxis();
    if (cut != (isReverse ? columns : rows)) {
      std::swap(rows, columns);
    }
    if (cut != (isReverse ? columns : rows)) {
      return fail("blocks share out an axis that no state has");
    }
  }
  rowExtent = chunk::getExtent(forall, rows);
  columnExtent = chunk::getExtent(forall, columns);
  return true;
}

//===----------------------------------------------------------------------===//
// Kinds of nodes
//===----------------------------------------------------------------------===//

bool ScanForm::isMatrix(const Node *node) const {
  return cpu::hasAxis(node->axes, rows) && cpu::hasAxis(node->axes, columns);
}

bool ScanForm::isRow(const Node *node) const {
  return node->axes.size() == 1 && node->axes[0].name == rows;
}

bool ScanForm::isColumn(const Node *node) const {
  return node->axes.size() == 1 && node->axes[0].name == columns;
}

bool ScanForm::isPrepared(const Node *node) const {
  if (isMatrix(node)) {
    return false;
  }
  switch (node->kind) {
  case Kind::CopyIn:
  case Kind::Constant:
    return true;
  case Kind::Known:
    return !llvm::is_contained(chunk::ForOp(tokens).getCarries(), node->value);
  case Kind::Elementwise:
  case Kind::Broadcast:
    return llvm::all_of(node->operands,
                        [&](Node *operand) { return isPrepared(operand); });
  case Kind::Mask:
    return !node->isMax && isPrepared(node->operands[0]);
  default:
    return false;
  }
}

/// A load of what the trace held: an old value, or a new one.
int ScanForm::heldState(const Node *node, ArrayRef<Value> buffers) const {
  node = peel(node);
  if (node->kind != Kind::ScratchLoad) {
    return -1;
  }
  auto found = llvm::find(buffers, cast<chunk::LoadOp>(node->op).getBuffer());
  return found == buffers.end() ? -1 : found - buffers.begin();
}

int ScanForm::oldState(const Node *node) const {
  if (trace) {
    return heldState(node, held);
  }
  node = peel(node);
  for (unsigned i = 0; i < states.size(); ++i) {
    if (node->kind == Kind::Known && node->value == states[i].carry) {
      return i;
    }
  }
  return -1;
}

int ScanForm::newState(const Node *node) const {
  if (int state = heldState(node, heldNext); state >= 0) {
    return state;
  }
  node = peel(node);
  for (unsigned i = 0; i < states.size(); ++i) {
    if (states[i].next == node) {
      return i;
    }
  }
  return -1;
}

int ScanForm::adjointOf(const Node *node) const {
  node = peel(node);
  for (unsigned i = 0; i < adjoints.size(); ++i) {
    if (node->kind == Kind::Known && node->value == adjoints[i].carry) {
      return i;
    }
  }
  return -1;
}

//===----------------------------------------------------------------------===//
// Affine steps
//===----------------------------------------------------------------------===//

bool ScanForm::dependsOn(const Node *node,
                         function_ref<bool(const Node *)> isState) const {
  return isState(node) || llvm::any_of(node->operands, [&](Node *operand) {
           return dependsOn(operand, isState);
         });
}

bool ScanForm::decompose(Node *node, function_ref<bool(const Node *)> isState,
                         AffineStep &step) const {
  node = cuda::peel(node);
  if (isState(node)) {
    return !std::exchange(step.hasState, true);
  }
  if (!dependsOn(node, isState)) {
    step.terms.push_back({node});
    return true;
  }
  StringRef op = opOf(node);
  auto scale = [&](Node *factor, Node *other) {
    bool isScalar = factor->axes.empty() && !dependsOn(factor, isState);
    return isScalar && isState(cuda::peel(other)) && !step.factor &&
           !std::exchange(step.hasState, true) && (step.factor = factor);
  };
  if (op == "arith.mulf") {
    return scale(node->operands[0], node->operands[1]) ||
           scale(node->operands[1], node->operands[0]);
  }
  if (op == "arith.addf") {
    return decompose(node->operands[0], isState, step) &&
           decompose(node->operands[1], isState, step);
  }
  if (op == "arith.subf" && !dependsOn(node->operands[1], isState)) {
    step.terms.push_back({node->operands[1], nullptr, true});
    return decompose(node->operands[0], isState, step);
  }
  if (op == "math.fma") {
    Node *a = node->operands[0], *b = node->operands[1];
    if (!dependsOn(a, isState) && !dependsOn(b, isState)) {
      step.terms.push_back({a, b});
      return decompose(node->operands[2], isState, step);
    }
    return (scale(a, b) || scale(b, a)) &&
           decompose(node->operands[2], isState, step);
  }
  return false;
}

/// Terms as products: a lone product node is one of its factors.
static void splitProducts(AffineStep &step) {
  for (AffineStep::Term &term : step.terms) {
    Node *node = cuda::peel(term.a);
    if (!term.b && opOf(node) == "arith.mulf") {
      term.a = node->operands[0];
      term.b = node->operands[1];
    }
  }
}

static bool areSame(const AffineStep::Term &x, const AffineStep::Term &y) {
  if (x.isNegative != y.isNegative || !x.b != !y.b) {
    return false;
  }
  return x.b ? (isSame(x.a, y.a) && isSame(x.b, y.b)) ||
                   (isSame(x.a, y.b) && isSame(x.b, y.a))
             : isSame(x.a, y.a);
}

static bool areSame(const AffineStep &x, const AffineStep &y) {
  if (!x.factor != !y.factor || (x.factor && !isSame(x.factor, y.factor)) ||
      x.terms.size() != y.terms.size()) {
    return false;
  }
  return llvm::all_of(x.terms, [&](const AffineStep::Term &term) {
    return llvm::any_of(y.terms, [&](const AffineStep::Term &other) {
      return areSame(term, other);
    });
  });
}

//===----------------------------------------------------------------------===//
// States and adjoints
//===----------------------------------------------------------------------===//

/// Backward: the main body's node that makes the state's new value from the
/// held old one, if it reads that; its step takes the place of the trace's.
void ScanForm::findNext(ScanState &state, unsigned index) {
  auto isOld = [&](const Node *node) {
    return heldState(node, held) == static_cast<int>(index);
  };
  for (cpu::Nest &nest : body->getNests()) {
    for (Node *node : nest.nodes) {
      AffineStep step;
      if (node->kind == Kind::Elementwise && decompose(node, isOld, step) &&
          step.hasState) {
        splitProducts(step);
        if (areSame(step, state.step)) {
          state.next = node;
          state.step = step;
          return;
        }
      }
    }
  }
}

/// The decay must be positive, so that its log exists. Found from the
/// operations alone, as in exp(x) and 1 / (1 + exp(-x)).
static bool isPositive(const Node *node) {
  node = ScanForm::peel(node);
  StringRef op = opOf(node);
  if (node->kind == Kind::Constant) {
    auto number = dyn_cast<FloatAttr>(node->attributes.get("value"));
    return number && number.getValueAsDouble() > 0;
  }
  if (op == "math.exp") {
    return true;
  }
  bool keeps = op == "arith.mulf" || op == "arith.addf" || op == "arith.divf" ||
               op == "math.sqrt" || op == "math.rsqrt";
  return keeps && llvm::all_of(node->operands, isPositive);
}

/// Where the trace keeps a value, if it does.
static Value bufferOf(Value value) {
  for (Operation *user : value.getUsers()) {
    auto store = dyn_cast<chunk::StoreOp>(user);
    if (store && store.getValue() == value) {
      return store.getBuffer();
    }
  }
  return {};
}

bool ScanForm::findStates() {
  if (trace) {
    walk = std::make_unique<cpu::BodyGraph>(trace.getBlock(), *order);
    for (auto store : trace.getBlock().getOps<chunk::StoreOp>()) {
      if (!cpu::isScratch(store.getBuffer())) {
        return fail("outputs of the trace are stored");
      }
    }
  }
  chunk::ForOp loop = trace ? trace : tokens;
  cpu::BodyGraph &graph = trace ? *walk : *body;
  for (auto [i, carry] : llvm::enumerate(loop.getCarries())) {
    ScanState state;
    state.carry = carry;
    auto isCarry = [&, carry = carry](const Node *node) {
      return node->kind == Kind::Known && node->value == carry;
    };
    Node *next = cuda::peel(graph.getYields()[i]);
    if (!decompose(next, isCarry, state.step) || !state.step.hasState) {
      return fail("a state's step is not a scalar decay and an addition");
    }
    splitProducts(state.step);
    state.next = next;
    if (trace) {
      held.push_back(bufferOf(carry));
      heldNext.push_back(
          bufferOf(trace.getBlock().getTerminator()->getOperand(i)));
      state.next = nullptr;
      if (held.back()) {
        findNext(state, i);
      }
    }
    states.push_back(state);
  }
  decay = states.front().step.factor;
  for (ScanState &state : states) {
    if (!decay != !state.step.factor ||
        (decay && !isSame(decay, state.step.factor))) {
      return fail("states decay by different factors");
    }
    for (AffineStep::Term &term : state.step.terms) {
      if (!isPrepared(term.a) || (term.b && !isPrepared(term.b))) {
        return fail("what a state takes in depends on a state");
      }
    }
  }
  return !decay || (isPrepared(decay) && isPositive(decay)) ||
         fail("the decay is not known to be positive");
}

/// A carry without axes, to which each token adds.
bool ScanForm::findTotal(unsigned index) {
  Value carry = tokens.getCarries()[index];
  auto isCarry = [&](const Node *node) {
    return node->kind == Kind::Known && node->value == carry;
  };
  Node *next = cuda::peel(body->getYields()[index]);
  bool isDifference = opOf(next) == "arith.subf";
  bool isSum =
      next->axes.empty() && (isDifference || opOf(next) == "arith.addf");
  for (unsigned i = 0; isSum && i < (isDifference ? 1 : 2); ++i) {
    Node *added = next->operands[1 - i];
    if (isCarry(cuda::peel(next->operands[i])) && !dependsOn(added, isCarry)) {
      totals.push_back({index, carry, added, isDifference});
      return carry.hasOneUse() || fail("a total is read");
    }
  }
  return fail("a carry is neither an adjoint nor a total");
}

bool ScanForm::findAdjoints() {
  if (!trace) {
    return true;
  }
  for (auto [i, carry] : llvm::enumerate(tokens.getCarries())) {
    if (cast<chunk::TileType>(carry.getType()).getRank() != 2) {
      if (!findTotal(i)) {
        return false;
      }
      continue;
    }
    Node *value = cuda::peel(body->getYields()[i]);
    if (decay) {
      if (opOf(value) != "arith.mulf") {
        return fail("an adjoint does not decay");
      }
      bool isFirst = isSame(value->operands[0], decay);
      if (!isFirst && !isSame(value->operands[1], decay)) {
        return fail("an adjoint decays by another factor");
      }
      value = cuda::peel(value->operands[isFirst ? 1 : 0]);
    }
    adjoints.push_back({static_cast<unsigned>(i), carry, value});
  }
  return true;
}

//===----------------------------------------------------------------------===//
// All other nodes
//===----------------------------------------------------------------------===//

bool ScanForm::checkNode(const Node *node) {
  for (const Axis &axis : node->axes) {
    if (axis.name != rows && axis.name != columns) {
      return fail("a value has a third axis");
    }
  }
  switch (node->kind) {
  case Kind::Known:
  case Kind::CopyIn:
    if (isMatrix(node) && oldState(node) < 0 && adjointOf(node) < 0) {
      return fail("a matrix that is no state is read");
    }
    break;
  case Kind::Constant:
  case Kind::Broadcast:
  case Kind::CopyOut:
    break;
  case Kind::ScratchLoad:
    if (oldState(node) < 0 && newState(node) < 0) {
      return fail("something else than states is kept per token");
    }
    break;
  case Kind::Mask:
    if (node->isMax) {
      return fail("a largest entry is taken");
    }
    break;
  case Kind::Reduce:
    if (node->isMax || (!isMatrix(node->operands[0]) && !node->axes.empty())) {
      return fail("a largest entry is taken");
    }
    break;
  case Kind::Elementwise:
    for (const Node *operand : node->operands) {
      // Matrices come from matrices and from what is prepared.
      if (isMatrix(node) && !isMatrix(operand) && !isPrepared(operand)) {
        return fail("what was summed enters a matrix of the same token");
      }
    }
    break;
  default:
    return fail("a step has an operation without a scan form");
  }
  return llvm::all_of(node->operands,
                      [&](Node *operand) { return checkNode(operand); });
}

bool ScanForm::checkNodes() {
  for (cpu::Nest &nest : body->getNests()) {
    for (Node *node : nest.nodes) {
      if (!checkNode(node)) {
        return false;
      }
      if (node->kind == Kind::Reduce && isMatrix(node->operands[0])) {
        reduces.push_back(node);
      } else if (node->kind == Kind::CopyOut) {
        if (isMatrix(node)) {
          return fail("a matrix is stored per token");
        }
        stores.push_back(node);
      }
    }
  }
  return true;
}

/// Around the loops: loads, stores, and what is computed element by element.
bool ScanForm::checkTop() {
  for (cpu::Nest &nest : top->getNests()) {
    for (Node *node : nest.nodes) {
      bool isPlain = node->kind == Kind::CopyIn || node->kind == Kind::Loop ||
                     node->kind == Kind::Constant ||
                     node->kind == Kind::Elementwise ||
                     node->kind == Kind::Broadcast ||
                     (node->kind == Kind::Mask && !node->isMax) ||
                     (node->kind == Kind::CopyOut &&
                      (isMatrix(node) || node->axes.empty()));
      if (!isPlain) {
        return fail("what a sequence starts or ends with is not elementwise");
      }
    }
  }
  return true;
}

std::unique_ptr<ScanForm> ScanForm::find(chunk::ForallOp forall,
                                         const cpu::AxisOrder &order,
                                         std::string &why) {
  auto form = std::make_unique<ScanForm>();
  form->forall = forall;
  form->order = &order;
  bool isFound = form->findLoops() && form->findAxes();
  if (isFound) {
    form->top = std::make_unique<cpu::BodyGraph>(forall.getBlock(), order);
    form->run = std::make_unique<cpu::BodyGraph>(form->runs.getBlock(), order);
    isFound = form->findStates() && form->findAdjoints() &&
              form->checkNodes() && form->checkTop();
  }
  why = form->why;
  return isFound ? std::move(form) : nullptr;
}

} // namespace recurra::cuda
