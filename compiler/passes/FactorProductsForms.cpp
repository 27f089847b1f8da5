// Flattening by single users; ordering by greedy pairing of the two factors
// whose product has the fewest axes; sums by eliminating axes in the cheapest
// order (as einsum does).
// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/FactorProductsForms.h"

#include <cmath>

using namespace mlir;
using namespace recurra;
using namespace recurra::rec;

double recurra::costOf(size_t rank) { return std::pow(64.0, rank); }

static constexpr double divisionCost = 4;

static double costOfOp(Operation *op) {
  Value sized = isa<SumOp>(op) ? op->getOperand(0) : op->getResult(0);
  return costOf(axesOf(sized).size()) * (isa<DivOp>(op) ? divisionCost : 1);
}

// Flattening
// --------------------------------------------------------------------

Term ProductForms::flatten(Value root, Opening opening) {
  Term term;
  block = root.getParentBlock();
  collect(root, opening, /*dies=*/true, /*top=*/true, term);
  return term;
}

/// `dies`: all ops above have this as their only user, so rewriting the root
/// removes them.
void ProductForms::collect(Value value, Opening opening, bool dies, bool top,
                           Term &term) {
  if (auto number = constantOf(value)) {
    term.coefficient *= *number;
    return;
  }
  Operation *op = value.getDefiningOp();
  bool single = top || value.hasOneUse();
  bool opens = op && op->getBlock() == block &&
               (single ? isa<MulOp, DivOp, NegOp>(op)
                       : isa<MulOp, NegOp>(op) && opening == Opening::AnyUser &&
                             axesOf(value).size() == largest);
  if (!opens) {
    term.over.push_back(value);
    return;
  }
  dies &= single;
  opened |= !single;
  old += dies ? costOfOp(op) : 0;
  collect(op->getOperand(0), opening, dies, false, term);
  if (isa<MulOp>(op)) {
    collect(op->getOperand(1), opening, dies, false, term);
  } else if (isa<DivOp>(op)) {
    term.under.push_back(op->getOperand(1));
  } else {
    term.coefficient = -term.coefficient;
  }
}

// Plans
// -------------------------------------------------------------------------

const Form *ProductForms::leaf(Value value) {
  Form &form = forms.emplace_back();
  form.leaf = value;
  form.axes.assign(axesOf(value).begin(), axesOf(value).end());
  return &form;
}

const Form *ProductForms::constant(double value) {
  Form &form = forms.emplace_back();
  form.kind = Form::Number;
  form.number = value;
  return &form;
}

const Form *ProductForms::binary(Form::Kind kind, const Form *left,
                                 const Form *right) {
  Form &form = forms.emplace_back();
  form.kind = kind;
  form.left = left;
  form.right = right;
  form.axes = unite(left->axes, right->axes);
  form.cost = left->cost + right->cost +
              costOf(form.axes.size()) * (kind == Form::Div ? divisionCost : 1);
  return &form;
}

const Form *ProductForms::negate(const Form *operand) {
  Form &form = forms.emplace_back();
  form.kind = Form::Neg;
  form.left = operand;
  form.axes = operand->axes;
  form.cost = operand->cost + costOf(form.axes.size());
  return &form;
}

const Form *ProductForms::scale(const Form *operand, double coefficient) {
  return coefficient == 1 ? operand
         : coefficient == -1
             ? negate(operand)
             : binary(Form::Mul, operand, constant(coefficient));
}

const Form *ProductForms::reduce(const Form *operand, Axes axes) {
  Form &form = forms.emplace_back();
  form.kind = Form::Sum;
  form.left = operand;
  form.axes = without(operand->axes, axes);
  form.summed = std::move(axes);
  form.cost = operand->cost + costOf(operand->axes.size());
  return &form;
}

/// Pairs the two whose result has the fewest axes, the earliest on a tie. A
/// divisor with fewer axes than its partner is inverted first.
const Form *ProductForms::multiply(SmallVector<const Form *> factors,
                                   SmallVector<const Form *> divisors) {
  if (factors.empty()) {
    factors.push_back(constant(1));
  }
  while (factors.size() + divisors.size() > 1) {
    size_t bestLeft = 0, bestRight = 0, fewest = SIZE_MAX;
    for (size_t i = 0; i < factors.size(); ++i) {
      for (size_t j = i + 1; j < factors.size() + divisors.size(); ++j) {
        const Form *right =
            j < factors.size() ? factors[j] : divisors[j - factors.size()];
        size_t rank = unite(factors[i]->axes, right->axes).size();
        if (rank < fewest) {
          bestLeft = i, bestRight = j, fewest = rank;
        }
      }
    }
    const Form *&left = factors[bestLeft];
    if (bestRight < factors.size()) {
      left = binary(Form::Mul, left, factors[bestRight]);
      factors.erase(factors.begin() + bestRight);
      continue;
    }
    auto divisor = divisors.begin() + (bestRight - factors.size());
    left =
        (*divisor)->axes.size() < fewest
            ? binary(Form::Mul, left, binary(Form::Div, constant(1), *divisor))
            : binary(Form::Div, left, *divisor);
    divisors.erase(divisor);
  }
  return factors[0];
}

const Form *ProductForms::product(const Term &term) {
  SmallVector<const Form *> factors, divisors;
  for (Value value : term.over) {
    factors.push_back(leaf(value));
  }
  for (Value value : term.under) {
    divisors.push_back(leaf(value));
  }
  return scale(multiply(std::move(factors), std::move(divisors)),
               term.coefficient);
}

// Sums
// --------------------------------------------------------------------------

static bool touches(const Form *form, ArrayRef<StringAttr> axes) {
  return llvm::any_of(axes, [&](StringAttr axis) {
    return llvm::is_contained(form->axes, axis);
  });
}

/// Eliminates one axis after another, each order tried.
const Form *ProductForms::sumOver(SmallVector<const Form *> factors,
                                  SmallVector<const Form *> divisors, Axes axes,
                                  double coefficient) {
  if (axes.empty()) {
    return scale(multiply(std::move(factors), std::move(divisors)),
                 coefficient);
  }
  const Form *best = nullptr;
  for (StringAttr axis : axes) {
    const Form *form = eliminate(axis, factors, divisors, axes, coefficient);
    if (form && (!best || form->cost < best->cost)) {
      best = form;
    }
  }
  return best;
}

/// Sums over `axis` first: what has it is multiplied and summed, together with
/// every axis that nothing else has; then the rest. Null if nothing has it.
const Form *ProductForms::eliminate(StringAttr axis,
                                    ArrayRef<const Form *> factors,
                                    ArrayRef<const Form *> divisors,
                                    const Axes &axes, double coefficient) {
  SmallVector<const Form *> inFactors, outFactors, inDivisors, outDivisors;
  for (const Form *factor : factors) {
    (touches(factor, axis) ? inFactors : outFactors).push_back(factor);
  }
  for (const Form *divisor : divisors) {
    (touches(divisor, axis) ? inDivisors : outDivisors).push_back(divisor);
  }
  if (inFactors.empty() && inDivisors.empty()) {
    return nullptr;
  }
  Axes now, later;
  for (StringAttr other : axes) {
    auto has = [&](const Form *form) { return touches(form, other); };
    bool only =
        llvm::none_of(outFactors, has) && llvm::none_of(outDivisors, has);
    (only ? now : later).push_back(other);
  }
  const Form *inner = multiply(inFactors, inDivisors);
  if (!without(now, inner->axes).empty()) {
    return nullptr;
  }
  outFactors.push_back(reduce(inner, now));
  return sumOver(outFactors, outDivisors, later, coefficient);
}

const Form *ProductForms::contract(const Term &term, const Axes &axes) {
  SmallVector<const Form *> factors, divisors;
  for (Value value : term.over) {
    factors.push_back(leaf(value));
  }
  for (Value value : term.under) {
    divisors.push_back(leaf(value));
  }
  return sumOver(std::move(factors), std::move(divisors), axes,
                 term.coefficient);
}

const Form *ProductForms::contraction(SumOp sum, Opening opening) {
  block = sum->getBlock();
  old += costOfOp(sum);
  Axes axes = axesIn(sum.getAxes());
  largest = axesOf(sum.getOperand()).size();
  Term term;
  collect(sum.getOperand(), opening, true, false, term);
  const Form *form = contract(term, axes);
  if (form && form->cost < old) {
    return form;
  }
  for (Value &factor : term.over) {
    Operation *add = factor.getDefiningOp();
    if (!isa_and_nonnull<AddOp, SubOp>(add) || !factor.hasOneUse() ||
        add->getBlock() != block) {
      continue;
    }
    Term left = term, right = term;
    for (Term *side : {&left, &right}) {
      side->over.erase(side->over.begin() + (&factor - term.over.begin()));
    }
    old += costOfOp(add);
    distributed = true;
    collect(add->getOperand(0), opening, true, false, left);
    collect(add->getOperand(1), opening, true, false, right);
    const Form *x = contract(left, axes), *y = contract(right, axes);
    return x && y ? binary(Form::Add, x, isa<SubOp>(add) ? negate(y) : y)
                  : nullptr;
  }
  return form;
}

// Emission
// ----------------------------------------------------------------------

Value recurra::emitForm(OpBuilder &builder, Location loc, const Form *form) {
  auto operand = [&](const Form *part) { return emitForm(builder, loc, part); };
  switch (form->kind) {
  case Form::Leaf:
    return form->leaf;
  case Form::Number:
    return ConstOp::create(builder, loc, ValType::get(builder.getContext(), {}),
                           builder.getF64FloatAttr(form->number));
  case Form::Neg:
    return NegOp::create(builder, loc, operand(form->left));
  case Form::Sum:
    return SumOp::create(builder, loc, operand(form->left),
                         axesAttr(builder.getContext(), form->summed));
  default:
    break;
  }
  Value left = operand(form->left), right = operand(form->right);
  if (form->kind == Form::Mul) {
    return MulOp::create(builder, loc, left, right);
  }
  return form->kind == Form::Div
             ? Value(DivOp::create(builder, loc, left, right))
             : Value(AddOp::create(builder, loc, left, right));
}
