// Degrees of nodes, the operands they need, and their expressions.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/ScanValues.h"

#include "compiler/target/cuda/ScalarPrinter.h"
#include "compiler/target/cuda/ScanElement.h"

using namespace mlir;

namespace recurra::cuda {

using Kind = Node::Kind;

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

ScanValues::ScanValues(const ScanForm &form, const ScanTiles &tiles)
    : form(form), tiles(tiles) {
  for (const Node *reduce : form.reduces) {
    findSum(reduce);
  }
  mergeSums();
  for (ScanSum &sum : sums) {
    sum.matrixDegree = matrixDegree(sum);
  }
}

/// a + b of two sums over whole matrices, used nowhere else, are one sum.
void ScanValues::mergeSums() {
  llvm::DenseMap<const Node *, unsigned> uses;
  for (cpu::Nest &nest : form.body->getNests()) {
    for (const Node *node : nest.nodes) {
      for (const Node *operand : node->operands) {
        ++uses[operand];
      }
    }
  }
  auto find = [&](const Node *node) {
    return llvm::find_if(sums, [&](const ScanSum &sum) {
      return sum.reduce == node && sum.kind == ScanSum::OverBoth &&
             uses[node] == 1;
    });
  };
  for (cpu::Nest &nest : form.body->getNests()) {
    for (const Node *node : nest.nodes) {
      if (opOf(node) != "arith.addf") {
        continue;
      }
      auto a = find(node->operands[0]), b = find(node->operands[1]);
      if (a != sums.end() && b != sums.end() && a != b && b->others.empty() &&
          natural(a->matrix) == natural(b->matrix) &&
          pending(a->matrix) == pending(b->matrix)) {
        a->others.push_back(b->matrix);
        merged[node] = a->reduce;
        sums.erase(b);
      }
    }
  }
}

ScanOperand *ScanValues::find(const Node *node, int degree) const {
  for (const std::unique_ptr<ScanOperand> &known : operands) {
    bool isSameNode =
        !node || !known->node ? node == known->node : isSame(node, known->node);
    if (isSameNode && known->degree == degree) {
      return known.get();
    }
  }
  return nullptr;
}

ScanOperand &ScanValues::operand(const Node *node, int degree) {
  if (ScanOperand *known = find(node, degree)) {
    return *known;
  }
  auto made = std::make_unique<ScanOperand>();
  made->node = node;
  made->degree = degree;
  made->kind = node && form.isRow(node)      ? ScanOperand::Row
               : node && form.isColumn(node) ? ScanOperand::Column
               : degree != 0                 ? powerKind()
                                             : ScanOperand::Scalar;
  operands.push_back(std::move(made));
  return *operands.back();
}

//===----------------------------------------------------------------------===//
// Degrees
//===----------------------------------------------------------------------===//

bool ScanValues::isDecay(const Node *node) const {
  return form.decay && isSame(node, form.decay);
}

std::optional<const Node *> ScanValues::withoutDecay(const Node *node) const {
  node = peel(node);
  if (isDecay(node)) {
    return nullptr;
  }
  for (unsigned i = 0; i < 2 && opOf(node) == "arith.mulf"; ++i) {
    if (isDecay(node->operands[i]) && form.isPrepared(node)) {
      return node->operands[1 - i];
    }
  }
  return std::nullopt;
}

bool ScanValues::isFlexible(const Node *node) const {
  node = peel(node);
  if (form.isPrepared(node)) {
    return true;
  }
  if (form.newState(node) >= 0 || form.oldState(node) >= 0) {
    return false;
  }
  StringRef op = opOf(node);
  if (op == "arith.mulf") {
    return isFlexible(node->operands[0]) || isFlexible(node->operands[1]);
  }
  if (op == "arith.addf" || op == "arith.subf") {
    return isFlexible(node->operands[0]) && isFlexible(node->operands[1]);
  }
  return op == "arith.negf" && isFlexible(node->operands[0]);
}

int ScanValues::natural(const Node *node) const {
  node = peel(node);
  if (form.isPrepared(node) || form.hasMatrixDecay) {
    return 0;
  }
  if (form.newState(node) >= 0 || form.oldState(node) >= 0) {
    return 1;
  }
  if (form.adjointOf(node) >= 0) {
    return -1;
  }
  StringRef op = opOf(node);
  auto of = [&](unsigned i) { return natural(node->operands[i]); };
  auto ofFirstFixed = [&](unsigned begin, unsigned end) {
    for (unsigned i = begin; i < end; ++i) {
      if (!isFlexible(node->operands[i])) {
        return of(i);
      }
    }
    return of(begin);
  };
  if (op == "arith.mulf") {
    return of(0) + of(1);
  }
  if (op == "arith.divf") {
    return of(0) - of(1);
  }
  if (op == "math.fma") {
    return isFlexible(node->operands[2]) ? of(0) + of(1) : of(2);
  }
  if (op == "arith.addf" || op == "arith.subf" || op == "arith.maximumf") {
    return ofFirstFixed(0, 2);
  }
  if (op == "arith.select") {
    return ofFirstFixed(1, 3);
  }
  return op == "arith.negf" || op == "math.absf" ? of(0) : 0;
}

int ScanValues::pending(const Node *node) const {
  node = peel(node);
  if (form.isPrepared(node) || form.newState(node) >= 0) {
    return 0;
  }
  if (form.oldState(node) >= 0) {
    return form.decay ? -1 : 0;
  }
  StringRef op = opOf(node);
  if (op == "arith.mulf" || op == "math.fma") {
    const Node *a = node->operands[0], *b = node->operands[1];
    int total = pending(a) + pending(b);
    // The decay itself supplies what the old value lacks.
    return total == -1 && (withoutDecay(a) || withoutDecay(b)) ? 0 : total;
  }
  return node->operands.empty() ? 0 : pending(node->operands[0]);
}

/// Sums, and what is computed from them, may lack factors; what is stored or
/// carried may not, nor may the parts of one sum lack different ones.
bool ScanValues::isSound() const {
  std::function<bool(const Node *)> isEven = [&](const Node *node) {
    node = peel(node);
    if (form.isPrepared(node) || form.newState(node) >= 0 ||
        form.oldState(node) >= 0) {
      return true;
    }
    StringRef op = opOf(node);
    bool isLinear =
        op == "arith.mulf" || node->kind == Kind::Reduce || op == "arith.negf";
    bool isSum = op == "arith.addf" || op == "arith.subf";
    for (const Node *operand : node->operands) {
      bool fits =
          isLinear || pending(operand) == 0 ||
          (isSum && pending(node->operands[0]) == pending(node->operands[1]));
      if (!fits || !isEven(operand)) {
        return false;
      }
    }
    return true;
  };
  auto isWhole = [&](const Node *node) {
    return isEven(node) && pending(node) == 0;
  };
  bool isSummable = llvm::none_of(sums, [&](const ScanSum &sum) {
    return isOverDecay(sum) && pending(sum.matrix) != 0;
  });
  return isSummable &&
         llvm::all_of(
             form.stores,
             [&](Node *store) { return isWhole(store->operands[0]); }) &&
         llvm::all_of(
             form.adjoints,
             [&](const ScanCarry &carry) { return isWhole(carry.value); }) &&
         llvm::all_of(form.totals, [&](const ScanCarry &carry) {
           return isWhole(carry.value);
         });
}

void ScanValues::findSum(const Node *reduce) {
  ScanSum sum;
  sum.reduce = reduce;
  const Node *source = peel(reduce->operands[0]);
  sum.matrix = source;
  sum.kind = reduce->axes.empty() ? ScanSum::OverBoth
             : form.isRow(reduce) ? ScanSum::OverColumns
                                  : ScanSum::OverRows;
  for (unsigned i = 0; i < 2 && opOf(source) == "arith.mulf"; ++i) {
    const Node *weight = source->operands[i];
    bool isAlong = sum.kind == ScanSum::OverColumns ? form.isColumn(weight)
                                                    : form.isRow(weight);
    // The values before the token keep the decay that they lack.
    bool isDecayed = pending(source->operands[1 - i]) == -1 &&
                     withoutDecay(weight).has_value();
    if (sum.kind != ScanSum::OverBoth && isAlong && form.isPrepared(weight) &&
        !isDecayed) {
      sum.weight = peel(weight);
      sum.matrix = peel(source->operands[1 - i]);
      break;
    }
  }
  sums.push_back(sum);
}

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

std::string ScanElement::power(int exponent) {
  ScanOperand &operand = values.power(exponent);
  operand.isFetched = true;
  return operand.name + indexOf(operand.kind);
}

std::string ScanElement::scaled(const std::string &expression, int from,
                                int to) {
  return from == to ? expression
                    : "(" + expression + " * " + power(from - to) + ")";
}

std::string ScanElement::vector(const Node *node, int degree) {
  if (node->kind == Kind::Constant) {
    Attribute value = node->attributes.get("value");
    auto number = dyn_cast<FloatAttr>(value);
    bool isZero = number && number.getValue().isZero();
    std::string constant = printNumber(value);
    return !number || isZero ? constant : scaled(constant, 0, degree);
  }
  if (degree != 0 && values.isAcrossDecay(node)) {
    return scaled(vector(node, 0), 0, degree);
  }
  ScanOperand &operand = values.operand(node, degree);
  operand.isFetched = true;
  return operand.name + indexOf(operand.kind);
}

/// What of the degree each of two factors takes: all of it the vector of the
/// shorter axis, unless a row spares an exact column, for an instruction; if
/// the decay is a vector, one along it.
std::pair<int, int> ScanElement::share(const Node *a, const Node *b,
                                       int degree) const {
  if (form.hasVectorDecay()) {
    bool isATaking = form.isAlongDecay(a) ||
                     (!form.isAlongDecay(b) && !values.isAcrossDecay(a));
    return isATaking ? std::pair(degree, 0) : std::pair(0, degree);
  }
  bool isALonger = form.isRow(a)      ? form.rowExtent > form.columnExtent
                   : form.isColumn(a) ? form.columnExtent >= form.rowExtent
                                      : form.isPrepared(b);
  for (auto [row, column] : {std::pair(a, b), std::pair(b, a)}) {
    if (form.isReverse && form.isRow(row) && form.isColumn(column) &&
        ScanProducts::isExact(column)) {
      isALonger = column == a;
    }
  }
  return isALonger ? std::pair(0, degree) : std::pair(degree, 0);
}

/// Backward, of a prepared row and column: the instruction's product, or null.
const ScanProduct *ScanElement::outer(const Node *a, const Node *b, int degree,
                                      bool isAddition, bool isNegative) {
  a = peel(a);
  b = peel(b);
  auto [ofA, ofB] = share(a, b, degree);
  for (auto [row, ofRow, column, ofColumn] :
       {std::tuple(a, ofA, b, ofB), std::tuple(b, ofB, a, ofA)}) {
    if (form.isReverse && form.isRow(row) && form.isColumn(column) &&
        form.isPrepared(row) && form.isPrepared(column)) {
      ScanProduct wanted;
      wanted.row = row;
      wanted.column = column;
      wanted.rowDegree = ofRow;
      wanted.columnDegree = ofColumn;
      wanted.isAddition = isAddition;
      wanted.isNegative = isNegative;
      return values.products.find(wanted);
    }
  }
  return nullptr;
}

std::string ScanElement::product(const Node *a, const Node *b, int degree) {
  a = peel(a);
  b = peel(b);
  // The value before the token lacks the decay.
  if (values.pending(a) + values.pending(b) == -1) {
    for (auto [factor, other] : {std::pair(a, b), std::pair(b, a)}) {
      if (auto rest = values.withoutDecay(factor)) {
        return *rest ? product(*rest, other, degree) : at(other, degree);
      }
    }
  }
  bool isAFlexible = values.isFlexible(a), isBFlexible = values.isFlexible(b);
  auto times = [&](const std::string &x, const std::string &y) {
    return "(" + x + " * " + y + ")";
  };
  if (isAFlexible && isBFlexible) {
    if (const ScanProduct *made = outer(a, b, degree, false, false)) {
      return made->name + "[e]";
    }
    auto [ofA, ofB] = share(a, b, degree);
    return times(at(a, ofA), at(b, ofB));
  }
  if (isAFlexible) {
    int rest = values.natural(b);
    return times(at(a, degree - rest), at(b, rest));
  }
  int mine = values.natural(a);
  if (isBFlexible) {
    return times(at(a, mine), at(b, degree - mine));
  }
  int rest = values.natural(b);
  return scaled(times(at(a, mine), at(b, rest)), mine + rest, degree);
}

std::string ScanElement::term(const AffineStep::Term &term, bool isBack) {
  int degree = values.stateDegree();
  std::string value =
      term.b ? product(term.a, term.b, degree) : at(peel(term.a), degree);
  return (term.isNegative != isBack ? " - " : " + ") + value;
}

const ScanProduct *ScanElement::addition(const AffineStep::Term &term) {
  bool isNegative = term.isNegative != form.isReverse;
  return term.b ? outer(term.a, term.b, 1, true, isNegative) : nullptr;
}

std::string ScanElement::compute(const Node *node, int degree) {
  StringRef op = opOf(node);
  auto all = [&](unsigned begin, int operandDegree) {
    SmallVector<std::string> operands;
    for (const Node *operand : ArrayRef(node->operands).drop_front(begin)) {
      operands.push_back(at(operand, operandDegree));
    }
    return operands;
  };
  if (op == "arith.mulf") {
    return product(node->operands[0], node->operands[1], degree);
  }
  if (op == "math.fma") {
    return "(" + product(node->operands[0], node->operands[1], degree) + " + " +
           at(node->operands[2], degree) + ")";
  }
  if (op == "arith.addf" || op == "arith.subf" || op == "arith.negf" ||
      op == "arith.maximumf" || op == "math.absf") {
    return printScalar(*node, all(0, degree));
  }
  if (op == "arith.divf") {
    int above = values.natural(node->operands[0]);
    int below = values.natural(node->operands[1]);
    std::string quotient = printScalar(
        *node, {at(node->operands[0], above), at(node->operands[1], below)});
    return scaled(quotient, above - below, degree);
  }
  if (op == "arith.cmpf") {
    int common = values.isFlexible(node->operands[0])
                     ? values.natural(node->operands[1])
                     : values.natural(node->operands[0]);
    return printScalar(*node, all(0, common));
  }
  if (op == "arith.select") {
    SmallVector<std::string> operands = all(1, degree);
    operands.insert(operands.begin(), at(node->operands[0], 0));
    return printScalar(*node, operands);
  }
  return scaled(printScalar(*node, all(0, 0)), 0, degree);
}

bool ScanElement::isReady(const Node *node) const {
  node = peel(node);
  return form.oldState(node) >= 0 || made.contains(node) ||
         (opOf(node) == "arith.mulf" && isReady(node->operands[0]) &&
          isReady(node->operands[1]));
}

std::string ScanElement::at(const Node *node, int degree) {
  node = peel(node);
  if (int state = form.newState(node); state >= 0) {
    return scaled(after[state], values.stateDegree(), degree);
  }
  if (int state = form.oldState(node); state >= 0) {
    return scaled(before[state], values.stateDegree(), degree);
  }
  if (int adjoint = form.adjointOf(node); adjoint >= 0) {
    return scaled(adjoints[adjoint], -values.stateDegree(), degree);
  }
  if (int parameter = form.parameterOf(node); parameter >= 0) {
    return parameters[parameter];
  }
  if (auto known = made.find(node); known != made.end()) {
    return scaled(known->second, -1, degree);
  }
  if (form.isPrepared(node)) {
    return vector(node, degree);
  }
  std::string &name = known[{node, degree}];
  if (name.empty()) {
    std::string value = compute(node, degree);
    auto hint = hints.find(node);
    name = text.name(hint == hints.end() ? "x" : hint->second);
    bool isCondition = node->element.isInteger(1);
    text.line((isCondition ? "const bool " : "const float ") + Twine(name) +
              " = " + value + ";");
  }
  return name;
}

} // namespace recurra::cuda
