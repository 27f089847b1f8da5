// Which adjoint belongs to which state, what the readout adds to each, and the
// identity that ties the parts together.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/ScanBalance.h"

#include "llvm/ADT/StringSwitch.h"

#include <cmath>
#include <random>

namespace recurra::cuda {

namespace {

/// Values of nodes at random numbers for states, adjoints and all that is
/// prepared.
class Draw {
public:
  Draw(const ScanForm &form, unsigned seed) : form(form), engine(seed) {
    for (std::size_t i = 0; i < form.states.size(); ++i) {
      states.push_back(draw());
    }
    for (std::size_t i = 0; i < form.adjoints.size(); ++i) {
      adjoints.push_back(draw());
    }
  }

  /// NaN for a node that is made of anything else.
  double at(const Node *node);
  std::vector<double> states, adjoints;
  /// Numbers that are prepared.
  llvm::SmallVector<const Node *> numbers;

private:
  double draw() { return distribution(engine); }
  double prepared(const Node *node);
  double compute(const Node *node);

  const ScanForm &form;
  std::mt19937 engine;
  std::uniform_real_distribution<double> distribution{0.5, 1.5};
  std::vector<std::pair<const Node *, double>> known;
};

double Draw::prepared(const Node *node) {
  for (auto [other, value] : known) {
    if (isSame(other, node)) {
      return value;
    }
  }
  if (node->axes.empty()) {
    numbers.push_back(node);
  }
  return known.emplace_back(node, draw()).second;
}

double Draw::compute(const Node *node) {
  llvm::SmallVector<double> x;
  for (const Node *operand : node->operands) {
    x.push_back(at(operand));
  }
  llvm::StringRef op = opOf(node);
  return op == "arith.addf"   ? x[0] + x[1]
         : op == "arith.subf" ? x[0] - x[1]
         : op == "arith.mulf" ? x[0] * x[1]
         : op == "arith.divf" ? x[0] / x[1]
         : op == "arith.negf" ? -x[0]
         : op == "math.fma"   ? x[0] * x[1] + x[2]
         : op == "math.absf"  ? std::fabs(x[0])
         : op == "math.sqrt"  ? std::sqrt(x[0])
         : op == "math.rsqrt" ? 1 / std::sqrt(x[0])
                              : NAN;
}

double Draw::at(const Node *node) {
  node = peel(node);
  if (node->kind == Node::Kind::Constant) {
    auto number =
        mlir::dyn_cast<mlir::FloatAttr>(node->attributes.get("value"));
    return number ? number.getValueAsDouble() : NAN;
  }
  if (int state = form.newState(node); state >= 0) {
    return states[state];
  }
  if (int adjoint = form.adjointOf(node); adjoint >= 0) {
    return adjoints[adjoint];
  }
  return form.isPrepared(node) ? prepared(node) : compute(node);
}

/// What the readout adds to an adjoint.
double addedTo(const ScanForm &form, unsigned adjoint, Draw &draw) {
  return draw.at(form.adjoints[adjoint].value) - draw.adjoints[adjoint];
}

/// The total's matrices: each the new adjoint of a state times the state before
/// the token. The adjoints' indices by state; empty if they are anything else.
llvm::SmallVector<unsigned> adjointsOf(const ScanForm &form,
                                       const ScanSum &total) {
  llvm::SmallVector<unsigned> indices(form.states.size(), ~0U);
  llvm::SmallVector<const Node *> matrices(total.others.begin(),
                                           total.others.end());
  matrices.push_back(total.matrix);
  for (const Node *matrix : matrices) {
    for (unsigned i = 0; i < 2 && opOf(matrix) == "arith.mulf"; ++i) {
      int state = form.oldState(peel(matrix->operands[i]));
      const Node *other = peel(matrix->operands[1 - i]);
      for (auto [index, adjoint] : llvm::enumerate(form.adjoints)) {
        if (state >= 0 && isSame(adjoint.value, other)) {
          indices[state] = index;
        }
      }
    }
  }
  bool areAll = matrices.size() == form.states.size() &&
                !llvm::is_contained(indices, ~0U);
  return areAll ? indices : llvm::SmallVector<unsigned>();
}

/// Whether what the readouts add, times the states, is -factor times what is
/// added to one adjoint.
bool holds(const ScanForm &form, llvm::ArrayRef<unsigned> adjoints,
           unsigned adjoint, const Node *factor) {
  constexpr double tolerance = 1e-9;
  constexpr unsigned draws = 4;
  for (unsigned seed = 1; seed <= draws; ++seed) {
    Draw draw(form, seed);
    double sum = 0, size = 0;
    for (auto [state, index] : llvm::enumerate(adjoints)) {
      double part = addedTo(form, index, draw) * draw.states[state];
      sum += part;
      size += std::fabs(part);
    }
    sum += draw.at(factor) * addedTo(form, adjoint, draw);
    if (!(std::fabs(sum) <= tolerance * size)) {
      return false;
    }
  }
  return true;
}

/// The sums that say what adjoints times their states' additions are; false if
/// one is missing.
bool findSpent(const ScanForm &form, const ScanValues &values,
               llvm::ArrayRef<unsigned> adjoints, ScanBalance &balance) {
  for (auto [state, index] : llvm::zip(form.states, adjoints)) {
    for (const AffineStep::Term &term : state.step.terms) {
      const Node *a = term.a ? peel(term.a) : nullptr;
      const Node *b = term.b ? peel(term.b) : nullptr;
      if (!a || !b || form.isRow(a) == form.isRow(b)) {
        return false;
      }
      const Node *row = form.isRow(a) ? a : b, *column = form.isRow(a) ? b : a;
      const Node *value = form.adjoints[index].value;
      auto sum = llvm::find_if(values.sums, [&](const ScanSum &sum) {
        return sum.kind == ScanSum::OverRows && sum.weight && sum.degree == 0 &&
               isSame(sum.matrix, value) && isSame(sum.weight, row);
      });
      if (sum == values.sums.end() || !form.isColumn(column)) {
        return false;
      }
      balance.spent.push_back({&*sum, column, term.isNegative});
    }
  }
  return true;
}

} // namespace

ScanBalance findBalance(const ScanForm &form, const ScanValues &values,
                        const ScanSum &total) {
  ScanBalance balance;
  llvm::SmallVector<unsigned> adjoints = adjointsOf(form, total);
  if (adjoints.empty() || !findSpent(form, values, adjoints, balance)) {
    return {};
  }
  Draw draw(form, 0);
  for (unsigned adjoint : adjoints) {
    draw.at(form.adjoints[adjoint].value);
  }
  for (const ScanSum &sum : values.sums) {
    for (unsigned adjoint : adjoints) {
      bool isOfIt = sum.kind == ScanSum::OverColumns &&
                    isSame(sum.matrix, form.adjoints[adjoint].value);
      for (const Node *factor : draw.numbers) {
        if (isOfIt && holds(form, adjoints, adjoint, factor)) {
          balance.total = &total;
          balance.ofMatrix = &sum;
          balance.adjoint = adjoint;
          balance.factor = factor;
          return balance;
        }
      }
    }
  }
  return {};
}

} // namespace recurra::cuda
