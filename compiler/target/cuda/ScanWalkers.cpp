// The warps that walk: matrices in registers, token by token.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/ScanWalkers.h"

using namespace mlir;

namespace recurra::cuda {

using Kind = Node::Kind;

void ScanWalkers::printWalkers() {
  f.text.comment("Walks the tokens. Lane 4 g + c has rows g, g + 8 and columns "
                 "2 c, 2 c + 1 of each 16 x 8 tile.");
  if (form.isReverse && !tiles.hasManyElements()) {
    f.text.line("const int lane = laneKept();");
  }
  f.text.line("const int warpRow = warp % " + number(tiles.warpRows) +
              ", warpColumn = warp / " + number(tiles.warpRows) + ";");
  f.text.line("const int firstRow = warpRow * " + number(16 * tiles.rowTiles) +
              " + lane / 4;");
  f.text.line("const int firstColumn = warpColumn * " +
              number(8 * tiles.columnTiles) + " + lane % 4 * 2;");
  if (!areRegistersFull()) {
    printPlaces();
  }
  f.text.line("unsigned unit = 0, group = 0;");
  printPicks();
  if (form.isReverse) {
    std::int64_t states = form.states.size();
    std::int64_t perToken =
        states * tiles.elements() * 4 * 32 * tiles.computeWarps();
    nest.scratchBytes = heldTokens() * perToken;
    f.text.line("Four *const held = reinterpret_cast<Four *>(scratch + "
                "(Index)blockIdx.x * " +
                number(nest.scratchBytes) + ") + threadIdx.x;");
  }
  openTasks();
  printInitial();
  openUnits("waitFor(staged + unit % 2, unit / 2 % 2);");
  f.text.open("if (run)");
  if (form.isReverse) {
    if (!form.hasMatrixDecay) {
      f.text.open("if ((flags & isFirstUnit) && (flags & isTrace || !(flags & "
                  "isHeld)))");
      loadStates();
      f.text.close();
    }
    f.text.open("if (flags & isTrace)");
    form.hasMatrixDecay ? printElementTrace() : printTrace();
    f.text.close();
    f.text.open("else");
    printMain();
    f.text.close();
  } else {
    printMain();
  }
  f.text.close();
  closeUnits();
  printFinal();
  f.text.close();
}

/// Where a lane's entries of prepared vectors lie.
std::string ScanWalkers::laneEntries(bool isRow) const {
  return isRow ? "warpRow * " + number(16 * tiles.rowTiles) + " + lane / 4 * " +
                     number(2 * tiles.rowTiles)
               : "warpColumn * " + number(8 * tiles.columnTiles) +
                     " + lane % 4 * " + number(2 * tiles.columnTiles);
}

void ScanWalkers::printPlaces() {
  f.text.line("const int rowPlace = " + laneEntries(true) + ";");
  f.text.line("const int columnPlace = " + laneEntries(false) + ";");
}

/// Forward, states and a token's vectors may leave no registers for places,
/// which are then made anew for each group.
bool ScanWalkers::areRegistersFull() const {
  std::int64_t states = form.states.size();
  std::int64_t floats = states * tiles.elements() + parts;
  for (const std::unique_ptr<ScanOperand> &operand : values.operands) {
    if (operand->isFetched) {
      floats += operand->kind == ScanOperand::Row      ? 2 * tiles.rowTiles
                : operand->kind == ScanOperand::Column ? 2 * tiles.columnTiles
                                                       : 1;
    }
  }
  constexpr std::int64_t addresses = 8;
  return !form.isReverse && tiles.computeRegisters > 0 &&
         floats + addresses > tiles.computeRegisters;
}

//===----------------------------------------------------------------------===//
// Matrices
//===----------------------------------------------------------------------===//

static const char *const rowText = "firstRow + 16 * a + e / 2 * 8";
static const char *const columnText = "firstColumn + 8 * n + e % 2";

void ScanWalkers::printInitial() {
  std::string size =
      "[" + number(tiles.rowTiles) + "][" + number(tiles.columnTiles) + "][4]";
  auto declare = [&](Value carry, StringRef otherwise) {
    std::string hint = nameOf(carry);
    std::string name = f.text.name(hint.empty() ? otherwise.str() : hint);
    f.text.line("float " + name + size + ";");
    return name;
  };
  stateNames.clear();
  adjointNames.clear();
  for (const ScanState &state : form.states) {
    stateNames.push_back(declare(state.carry, "state"));
  }
  for (const ScanCarry &adjoint : form.adjoints) {
    adjointNames.push_back(declare(adjoint.carry, "adjoint"));
  }
  parameterNames.clear();
  for (Value parameter : form.parameters) {
    parameterNames.push_back(declare(parameter, "parameter"));
  }
  auto inits = cast<chunk::ForOp>(*form.runs).getInits();
  // One matrix after the other: their addresses would fill the registers.
  auto start = [&](const std::string &name, Value value) {
    openElements();
    f.text.line(
        name + "[a][n][e] = " +
        (value ? boundary(form.top->find(value), rowText, columnText) : "0") +
        ";");
    closeElements();
  };
  for (auto [parameter, name] : llvm::zip(form.parameters, parameterNames)) {
    start(name, parameter);
  }
  for (auto [i, name] : llvm::enumerate(stateNames)) {
    start(name, form.isReverse ? Value() : inits[i]);
  }
  for (auto [adjoint, name] : llvm::zip(form.adjoints, adjointNames)) {
    start(name, inits[adjoint.index]);
  }
  printEntered();
}

/// By a factor, or a vector of them, that lies `offset` behind `at`.
void ScanWalkers::multiplyAll(StringRef at, std::int64_t offset, bool ofStates,
                              bool ofAdjoints) {
  if (!form.decay) {
    return;
  }
  multiplyBy(fetchFactor(at, offset), ofStates, ofAdjoints);
}

void ScanWalkers::multiplyBy(const std::string &factor, bool ofStates,
                             bool ofAdjoints) {
  openElements();
  for (const std::string &state : stateNames) {
    if (ofStates) {
      f.text.line(state + "[a][n][e] *= " + factor + ";");
    }
  }
  for (const std::string &adjoint : adjointNames) {
    if (ofAdjoints) {
      f.text.line(adjoint + "[a][n][e] *= " + factor + ";");
    }
  }
  closeElements();
}

/// A thread's part of a state in scratch memory, after token `token` of the
/// run; that of the run's start comes last. Nobody else reads it.
std::string ScanWalkers::heldSlot(unsigned state, StringRef token) const {
  std::int64_t perState = tiles.rowTiles * tiles.columnTiles;
  return "held[((" + token.str() + ") * " +
         number(perState * stateNames.size()) + " + " +
         number(perState * state) + " + a * " + number(tiles.columnTiles) +
         " + n) * " + number(32 * tiles.computeWarps()) + "]";
}

void ScanWalkers::copyHeld(StringRef token) {
  unrolled("n", tiles.columnTiles);
  unrolled("a", tiles.rowTiles);
  for (auto [i, state] : llvm::enumerate(stateNames)) {
    std::string four = state + "[a][n]";
    f.text.line(heldSlot(i, token) + " = Four{{" + four + "[0], " + four +
                "[1], " + four + "[2], " + four + "[3]}};");
  }
  f.text.close();
  f.text.close();
}

/// A tile of a matrix, from four floats of a lane: of each element, `value`.
void ScanWalkers::loadFour(const std::string &matrix, const std::string &from,
                           const std::string &value) {
  f.text.open("");
  f.text.line("const Four four = " + from + ";");
  unrolled("e", 4);
  f.text.line(matrix + "[a][n][e] = " + value + ";");
  f.text.close();
  f.text.close();
}

void ScanWalkers::loadHeld(StringRef token) {
  unrolled("n", tiles.columnTiles);
  unrolled("a", tiles.rowTiles);
  for (auto [i, state] : llvm::enumerate(stateNames)) {
    loadFour(state, heldSlot(i, token));
  }
  f.text.close();
  f.text.close();
}

/// Declares where a lane's first element of a matrix in memory lies; how far
/// from there the element (a, n, e) does.
std::pair<std::string, std::string>
ScanWalkers::elementsFrom(Value buffer, OperandRange indices, StringRef token) {
  std::string name = f.text.name("from");
  f.text.line("auto *const " + name + " = &" +
              addressOf(buffer, indices, token, "firstRow", "firstColumn") +
              ";");
  return {name, "(16 * a + e / 2 * 8) * " + strideOf(buffer, form.rows) +
                    " + (8 * n + e % 2) * " + strideOf(buffer, form.columns)};
}

/// The states that the forward saved at the start of a run, from where the
/// header says: dense, so two columns at a time where they lie side by side.
void ScanWalkers::loadStates() {
  auto inits = cast<chunk::ForOp>(*form.trace).getInits();
  for (auto [i, state] : llvm::enumerate(stateNames)) {
    Value buffer = cast<chunk::LoadOp>(inits[i].getDefiningOp()).getBuffer();
    auto type = cast<chunk::BufferType>(buffer.getType());
    std::string rows = strideOf(buffer, form.rows);
    std::string columns = strideOf(buffer, form.columns);
    std::string row = "(16 * a + e / 2 * 8) * " + rows + " + ";
    bool areBeside = type.getNames().back() == form.columns &&
                     type.getElement().isF32() && form.columnExtent % 2 == 0 &&
                     inside().empty();
    f.text.open("");
    f.text.line("auto *const from = reinterpret_cast<const " +
                storedName(type.getElement()) + " *const *>(header + 8)[" +
                number(static_cast<std::int64_t>(i)) + "] + firstRow * " +
                rows + " + firstColumn * " + columns + ";");
    openElements();
    f.text.line(areBeside ? "if (e % 2 == 0) fetchPair(" + state +
                                "[a][n], e, from + " + row + "8 * n);"
                          : state + "[a][n][e] = " +
                                guarded("widen(from[" + row +
                                        "(8 * n + e % 2) * " + columns + "])") +
                                ";");
    closeElements();
    f.text.close();
  }
}

/// Stores a matrix, element by element.
void ScanWalkers::storeMatrix(chunk::StoreOp store, StringRef value) {
  std::string condition = inside();
  f.text.open("");
  auto [to, element] =
      elementsFrom(store.getBuffer(), store.getIndices(), "header[5]");
  openElements();
  f.text.line((condition.empty() ? "" : "if (" + condition + ") ") + "narrow(" +
              to + "[" + element + "], " + value.str() + ");");
  closeElements();
  f.text.close();
}

void ScanWalkers::printFinal() {
  if (form.isAhead) {
    return;
  }
  if (form.isReverse) {
    printHandedOn();
  } else if (f.hasSlots()) {
    std::string task = form.hasParts ? "part" : "span";
    f.text.line("if (" + task + ".number + 1 < " + task + ".count) continue;");
  }
  for (cpu::Nest &part : form.top->getNests()) {
    for (Node *node : part.nodes) {
      if (node->kind == Kind::CopyOut && form.isMatrix(node)) {
        storeMatrix(cast<chunk::StoreOp>(node->op),
                    boundary(node->operands[0], rowText, columnText));
      }
    }
  }
}

//===----------------------------------------------------------------------===//
// Units
//===----------------------------------------------------------------------===//

/// What the terms of the states' steps ask for is needed by both walks.
void ScanWalkers::markTraced() {
  std::vector<bool> fetched;
  for (std::unique_ptr<ScanOperand> &operand : values.operands) {
    fetched.push_back(std::exchange(operand->isFetched, false));
  }
  ScanElement element(values, f.text, hints);
  prepareElement(element);
  for (const ScanState &state : form.states) {
    for (const AffineStep::Term &term : state.step.terms) {
      if (!element.addition(term)) {
        element.term(term, false);
      }
    }
    decayed(state, "x", element);
  }
  for (auto [i, operand] : llvm::enumerate(values.operands)) {
    operand->isTraced = operand->isFetched;
    operand->isFetched |= i < fetched.size() && fetched[i];
  }
}

/// The step of all elements from one token, on the way forward.
void ScanWalkers::printTracedStep() {
  ScanElement element(values, f.text, hints);
  prepareElement(element);
  printFetches(true);
  printProductFetches(true);
  unrolled("n", tiles.columnTiles);
  unrolled("a", tiles.rowTiles);
  for (auto [state, name] : llvm::zip(form.states, stateNames)) {
    for (const AffineStep::Term &term : state.step.terms) {
      if (const ScanProduct *product = element.addition(term)) {
        printMultiply(*product, name + "[a][n]");
      }
    }
  }
  unrolled("e", 4);
  for (auto [state, name] : llvm::zip(form.states, stateNames)) {
    std::string at = name + "[a][n][e]", sum;
    for (const AffineStep::Term &term : state.step.terms) {
      sum += element.addition(term) ? "" : element.term(term, false);
    }
    std::string made = decayed(state, at, element) + sum;
    if (made != at) {
      f.text.line(at + " = " + made + ";");
    }
  }
  closeElements();
}

/// Forward from the start of the run; the states at the ends of segments are
/// held, but for those of the last one, which stay where they are.
void ScanWalkers::printTrace() {
  f.text.open("if (flags & isFirstUnit)");
  copyHeld(number(form.interval));
  if (!fragments.areUsed()) {
    multiplyAll("stage + 16", specialOffset(), true, false);
  }
  f.text.close();
  if (fragments.areUsed()) {
    printFragmentTrace();
    return;
  }
  f.text.line("#pragma unroll 1");
  f.text.open("for (int t = 0; t < count; ++t)");
  printNow();
  f.text.open("if (header[1] >> t & 1)");
  multiplyAll("now", specialOffset(), true, false);
  f.text.close();
  printTracedStep();
  f.text.open("if (header[2] >> t & 1)");
  copyHeld("header[4] + t");
  f.text.close();
  f.text.close();
}

/// What happens at the start of a run.
void ScanWalkers::printEnter() {
  std::string last = "stage + 16 + (count - 1) * " + number(tokenFloats);
  f.text.open("if (flags & isFirstUnit)");
  if (form.isReverse) {
    f.text.open("if (!(flags & isHeld))");
    if (form.hasVectorDecay()) {
      divideStates(last);
    } else {
      multiplyAll(last, values.power(-1).offset, true, false);
    }
    f.text.close();
    multiplyAll(last, leavingOffset(), false, true);
  } else {
    printSaved();
    multiplyAll("stage + 16", specialOffset(), true, false);
  }
  f.text.close();
}

/// The states at the start of a run, where the backward will read them.
void ScanWalkers::printSaved() {
  auto inits = cast<chunk::ForOp>(*form.tokens).getInits();
  for (Operation &op : form.runs->getRegion(0).front()) {
    auto store = dyn_cast<chunk::StoreOp>(op);
    for (auto [init, name] : llvm::zip(inits, stateNames)) {
      if (store && store.getValue() == init && !form.isAhead) {
        storeMatrix(store, name + "[a][n][e]");
      }
    }
  }
}

void ScanWalkers::printLeave() {
  f.text.open("if (flags & isLastUnit)");
  if (form.isReverse) {
    multiplyAll("stage + 16", specialOffset(), false, true);
  } else {
    multiplyAll("stage + 16 + (count - 1) * " + number(tokenFloats),
                leavingOffset(), true, false);
  }
  if (form.isAhead) {
    printLeft();
  }
  f.text.close();
}

void ScanWalkers::printMain() {
  form.hasMatrixDecay &&form.isReverse ? printUnitTrace() : printEnter();
  printTokens();
  if (form.decay || form.isAhead) {
    printLeave();
  }
}

} // namespace recurra::cuda
