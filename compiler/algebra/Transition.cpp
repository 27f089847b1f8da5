// The linearity rules, one per op.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/algebra/Transition.h"

#include "compiler/algebra/Rebuild.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace recurra::rec;

namespace recurra {

Propagation::Propagation(ScanOp scan, ArrayRef<Value> bases) : scan(scan) {
  axes.assign(axesOf(bases.front()).begin(), axesOf(bases.front()).end());
  for (Value base : bases) {
    known[base] = Transition{.kind = Transition::Affine, .diagonal = true};
  }
}

const Transition &Propagation::of(Value value) {
  if (auto found = known.find(value); found != known.end()) {
    return found->second;
  }
  Transition result;
  if (!isTimeConstant(value, scan) && value.getDefiningOp()) {
    result = compute(value.getDefiningOp());
  }
  return known[value] = std::move(result);
}

/// The number of products of narrower factors that sum to a free value.
int Propagation::rank(Value value) {
  if (!without(axes, axesOf(value)).empty() || constantOf(value)) {
    return constantOf(value) == 0.0 ? 0 : 1;
  }
  if (!value.getDefiningOp()) {
    return Transition::elementwise;
  }
  return llvm::TypeSwitch<Operation *, int>(value.getDefiningOp())
      .Case([&](MulOp op) {
        return std::min(Transition::elementwise,
                        rank(op.getLhs()) * rank(op.getRhs()));
      })
      .Case([&](DivOp op) {
        bool narrow = !without(axes, axesOf(op.getRhs())).empty();
        return narrow ? rank(op.getLhs()) : Transition::elementwise;
      })
      .Case<AddOp, SubOp>([&](auto op) {
        return std::min(Transition::elementwise,
                        rank(op.getLhs()) + rank(op.getRhs()));
      })
      .Case<NegOp, BroadcastOp, DetachOp>(
          [&](auto op) { return rank(op.getOperand()); })
      .Default([&](Operation *) { return Transition::elementwise; });
}

Transition Propagation::nonlinear(Operation *op) {
  return {.kind = Transition::Nonlinear,
          .reason = op->getName().stripDialect().str() + " of a state"};
}

Transition Propagation::compute(Operation *op) {
  if (llvm::all_of(op->getOperands(), [&](Value v) { return isFree(v); })) {
    return {};
  }
  for (Value operand : op->getOperands()) {
    if (of(operand).kind == Transition::Nonlinear) {
      return of(operand);
    }
  }
  return llvm::TypeSwitch<Operation *, Transition>(op)
      .Case<AddOp, SubOp>([&](auto op) { return add(op); })
      .Case([&](MulOp op) {
        bool left = isFree(op.getLhs());
        return left || isFree(op.getRhs())
                   ? multiply(left ? op.getRhs() : op.getLhs(),
                              left ? op.getLhs() : op.getRhs())
                   : nonlinear(op);
      })
      .Case([&](DivOp op) { return divide(op); })
      .Case([&](MaxOp op) { return largest(op); })
      .Case([&](SumOp op) { return summed(op); })
      .Case<NegOp, BroadcastOp, DetachOp>(
          [&](auto op) { return of(op.getOperand()); })
      .Default([&](Operation *op) { return nonlinear(op); });
}

/// Also sub: only kinds and axes matter, never signs.
Transition Propagation::add(Operation *op) {
  Transition left = of(op->getOperand(0)), right = of(op->getOperand(1));
  if (right.kind != Transition::Free && left.kind != Transition::Free &&
      (left.kind != Transition::Affine || right.kind != Transition::Affine)) {
    return nonlinear(op);
  }
  bool free = left.kind == Transition::Free;
  Transition result = free ? right : left;
  const Transition &other = free ? left : right;
  if (result.kind == Transition::MaxPlus && isa<SubOp>(op) && free) {
    return nonlinear(op);
  }
  if (other.kind == Transition::Free) {
    result.offset += rank(op->getOperand(free ? 0 : 1));
    return result;
  }
  if (left.diagonal && right.diagonal) {
    result.factors.assign({op->getResult(0)});
  } else if (right.diagonal) {
    result.factors = right.factors;
  }
  result.diagonal = left.diagonal || right.diagonal;
  llvm::append_range(result.contractions, right.contractions);
  result.offset = left.offset + right.offset;
  return result;
}

Transition Propagation::multiply(Value state, Value factor) {
  Transition result = of(state);
  if (result.kind == Transition::MaxPlus) {
    return {.kind = Transition::Nonlinear, .reason = "product of a maximum"};
  }
  if (result.diagonal && constantOf(factor) != 1.0) {
    result.factors.push_back(factor);
  }
  for (Contraction &term : result.contractions) {
    term.outer = unite(term.outer, axesOf(factor));
  }
  result.offset =
      std::min(Transition::elementwise, result.offset * rank(factor));
  return result;
}

Transition Propagation::divide(DivOp op) {
  const Transition top = of(op.getLhs()), bottom = of(op.getRhs());
  if (bottom.kind == Transition::Free) {
    return multiply(op.getLhs(), op.getRhs());
  }
  bool pointwise =
      top.contractions.empty() && bottom.contractions.empty() &&
      bottom.kind == Transition::Affine &&
      (top.kind == Transition::Affine || top.kind == Transition::Free);
  return pointwise ? Transition{.kind = Transition::Fractional} : nonlinear(op);
}

/// max(free, x + free): a tropical line.
Transition Propagation::largest(MaxOp op) {
  bool left = isFree(op.getLhs());
  if (!left && !isFree(op.getRhs())) {
    return nonlinear(op);
  }
  const Transition &state = of(left ? op.getRhs() : op.getLhs());
  bool shifted = state.kind == Transition::MaxPlus ||
                 (state.kind == Transition::Affine && state.diagonal &&
                  state.factors.empty() && state.contractions.empty());
  return shifted ? Transition{.kind = Transition::MaxPlus} : nonlinear(op);
}

Transition Propagation::summed(SumOp op) {
  Transition result = of(op.getOperand());
  if (result.kind != Transition::Affine) {
    return nonlinear(op);
  }
  Axes gone = axesIn(op.getAxes());
  for (Contraction &term : result.contractions) {
    term.inner =
        unite(term.inner, without(term.outer, without(term.outer, gone)));
    term.outer = without(term.outer, gone);
  }
  if (result.diagonal) {
    Contraction term{.summed = gone};
    for (Value factor : result.factors) {
      term.inner = unite(term.inner, axesOf(factor));
    }
    result.contractions.push_back(term);
    result.diagonal = false;
    result.factors.clear();
  }
  result.offset = std::min(result.offset, 1);
  return result;
}

} // namespace recurra
