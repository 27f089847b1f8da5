// The structure of the loops first, then what states and adjoints do.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/ScanForm.h"

using namespace mlir;

namespace recurra::cuda {

using Kind = Node::Kind;

bool ScanForm::fail(const std::string &reason) {
  if (why.empty()) {
    why = reason;
  }
  return false;
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

/// The type of all states, which are matrices; null if they are not.
static chunk::TileType matrixOf(chunk::ForOp loop) {
  chunk::TileType matrix;
  for (Value carry : loop.getCarries()) {
    auto type = cast<chunk::TileType>(carry.getType());
    if (type.getRank() != 2 || !type.getElement().isF32() ||
        (matrix && type != matrix)) {
      return {};
    }
    matrix = type;
  }
  return matrix;
}

/// How many of a body's sums of matrices run over an axis alone.
static unsigned countSums(cpu::BodyGraph &body, StringAttr axis) {
  unsigned count = 0;
  for (cpu::Nest &nest : body.getNests()) {
    count += llvm::count_if(nest.nodes, [&](Node *node) {
      return node->kind == Kind::Reduce && node->axes.size() == 1 &&
             cpu::hasAxis(node->operands[0]->axes, axis) &&
             !cpu::hasAxis(node->axes, axis);
    });
  }
  return count;
}

/// Forward, sums run over the columns; backward, the columns are the axis with
/// more of them, and in both blocks may share out the other, or that one.
bool ScanForm::findAxes() {
  chunk::TileType matrix = matrixOf(trace ? trace : tokens);
  if (!matrix) {
    return fail("the states are not f32 matrices of one shape");
  }
  body = std::make_unique<cpu::BodyGraph>(tokens.getBlock(), *order);
  rows = matrix.getNames()[0];
  columns = matrix.getNames()[1];
  auto rank = [&](StringAttr axis) {
    std::int64_t extent = chunk::getExtent(forall, axis);
    return std::pair(countSums(*body, axis), isReverse ? extent : -extent);
  };
  bool isTurned = rank(rows) > rank(columns);
  if (forall.getNumIterators() == 3) {
    slice = forall.getSpan(2);
    StringAttr cut = cast<chunk::SpanType>(slice.getType()).getAxis();
    if (cut != rows && cut != columns) {
      return fail("blocks share out an axis that no state has");
    }
    isTurned = cut == (isReverse ? rows : columns);
  }
  if (isTurned) {
    std::swap(rows, columns);
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
  case Kind::Reduce:
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
  node = peel(node);
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
  for (unsigned i = 0, e = (trace ? trace : tokens).getInits().size(); i < e;
       ++i) {
    if (!findState(i)) {
      return false;
    }
  }
  decay = states.front().step.factor;
  decay = decay ? peel(decay) : nullptr;
  return checkSteps();
}

bool ScanForm::findState(unsigned index) {
  ScanState state;
  state.carry = (trace ? trace : tokens).getCarries()[index];
  auto isCarry = [&](const Node *node) {
    return node->kind == Kind::Known && node->value == state.carry;
  };
  state.next = peel((trace ? *walk : *body).getYields()[index]);
  if (!decompose(state.next, isCarry, state.step) || !state.step.hasState) {
    return fail(
        "a state's step is not a decay and an addition for each element");
  }
  splitProducts(state.step);
  if (trace) {
    held.push_back(bufferOf(state.carry));
    heldNext.push_back(
        bufferOf(trace.getBlock().getTerminator()->getOperand(index)));
    state.next = nullptr;
    if (held.back()) {
      findNext(state, index);
    }
  }
  states.push_back(state);
  return true;
}

/// Matrices that are loaded before the loops, for their steps.
void ScanForm::findParameters() {
  for (auto load : forall.getBlock().getOps<chunk::LoadOp>()) {
    auto type = load.getResult().getType();
    bool isRead = llvm::any_of(load->getUsers(), [&](Operation *user) {
      return runs->isProperAncestor(user);
    });
    if (isRead && type.getRank() == 2) {
      parameters.push_back(load.getResult());
    }
  }
}

int ScanForm::parameterOf(const Node *node) const {
  node = peel(node);
  auto found = node->kind == Kind::Known ? llvm::find(parameters, node->value)
                                         : parameters.end();
  return found == parameters.end() ? -1 : found - parameters.begin();
}

/// Known before the token's states, as each element of a matrix too.
bool ScanForm::isFree(const Node *node) const {
  node = peel(node);
  if (!isMatrix(node) || parameterOf(node) >= 0) {
    return isPrepared(node) || isMatrix(node);
  }
  return node->kind == Kind::Elementwise &&
         llvm::all_of(node->operands,
                      [&](const Node *operand) { return isFree(operand); });
}

/// All states decay alike, and take in what is prepared; or each element does
/// by itself.
bool ScanForm::checkSteps() {
  hasMatrixDecay = llvm::any_of(states, [&](const ScanState &state) {
    return state.step.factor && isMatrix(peel(state.step.factor));
  });
  if (hasMatrixDecay) {
    decay = nullptr;
    return llvm::all_of(
               states,
               [&](ScanState &state) {
                 return (!state.step.factor || isFree(state.step.factor)) &&
                        llvm::all_of(state.step.terms, [&](auto &term) {
                          return isFree(term.a) && (!term.b || isFree(term.b));
                        });
               }) ||
           fail("what a state takes in depends on a state");
  }
  for (ScanState &state : states) {
    if (!decay != !state.step.factor ||
        (decay && !isSame(decay, state.step.factor))) {
      return fail("states decay by different factors");
    }
    bool isFree = llvm::all_of(state.step.terms, [&](AffineStep::Term &term) {
      return isPrepared(term.a) && (!term.b || isPrepared(term.b));
    });
    if (!isFree) {
      return fail("what a state takes in depends on a state");
    }
  }
  return !decay || (isPrepared(decay) && isPositive(decay) && !hasSum(decay)) ||
         fail("the decay is not known to be positive before sums");
}

/// A number or a vector to which each token adds.
bool ScanForm::findTotal(unsigned index) {
  Value carry = tokens.getCarries()[index];
  auto isCarry = [&](const Node *node) {
    return node->kind == Kind::Known && node->value == carry;
  };
  Node *next = peel(body->getYields()[index]);
  bool isDifference = opOf(next) == "arith.subf";
  bool isSum =
      next->axes.size() < 2 && (isDifference || opOf(next) == "arith.addf");
  for (unsigned i = 0; isSum && i < (isDifference ? 1 : 2); ++i) {
    Node *added = next->operands[1 - i];
    if (isCarry(peel(next->operands[i])) && !dependsOn(added, isCarry) &&
        added->axes == next->axes) {
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
    Node *value = peel(body->getYields()[i]);
    if (decay) {
      if (opOf(value) != "arith.mulf") {
        return fail("an adjoint does not decay");
      }
      bool isFirst = isSame(value->operands[0], decay);
      if (!isFirst && !isSame(value->operands[1], decay)) {
        return fail("an adjoint decays by another factor");
      }
      value = peel(value->operands[isFirst ? 1 : 0]);
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
    if (isMatrix(node) && oldState(node) < 0 && adjointOf(node) < 0 &&
        parameterOf(node) < 0) {
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
                     node->kind == Kind::CopyOut;
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
    form->findParameters();
    isFound = form->findStates() && form->findAdjoints() &&
              form->checkNodes() && form->checkTop();
  }
  why = form->why;
  return isFound ? std::move(form) : nullptr;
}

std::int64_t ScanForm::slices() const {
  if (!slice) {
    return 1;
  }
  auto type = cast<chunk::SpanType>(slice.getType());
  return cpu::ceilDiv(chunk::getExtent(forall, type.getAxis()),
                      type.getCapacity());
}

bool ScanForm::isBySequence() const {
  chunk::ForallOp tasks = forall;
  return tasks.getNumIterators() >= 2 && tasks.getAxis(0) == "N" &&
         tasks.getSteps()[0] == 1 && tasks.getAxis(1) == "H";
}

std::unique_ptr<ScanForm> ScanForm::withoutResults() const {
  std::string none;
  std::unique_ptr<ScanForm> form = find(forall, *order, none);
  form->isAhead = true;
  form->spanTokens = spanTokens;
  form->reduces.clear();
  form->stores.clear();
  form->totals.clear();
  return form;
}

} // namespace recurra::cuda
