// The meaning of each op of `rec` on one head, spelt out entry by entry.
// SPDX-License-Identifier: Apache-2.0
#include "tests/compiler/RecWalk.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace recurra;
using namespace recurra::rec;

std::int64_t RecWalk::extentOf(StringAttr axis) const {
  return extents.at(axis.str());
}

std::int64_t RecWalk::sizeOf(Type type) const {
  std::int64_t size = 1;
  for (StringAttr axis : axesOf(type)) {
    size *= extentOf(axis);
  }
  return size;
}

std::int64_t RecWalk::offset(Value value, ArrayRef<StringAttr> axes,
                             ArrayRef<std::int64_t> index) const {
  std::int64_t result = 0;
  for (StringAttr axis : axesOf(value)) {
    auto place = llvm::find(axes, axis) - axes.begin();
    result = result * extentOf(axis) + index[place];
  }
  return result;
}

void RecWalk::forEach(ArrayRef<StringAttr> axes,
                      llvm::function_ref<void(ArrayRef<std::int64_t>)> body) {
  SmallVector<std::int64_t> index(axes.size(), 0);
  std::int64_t count = 1;
  for (StringAttr axis : axes) {
    count *= extentOf(axis);
  }
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i;
    for (size_t a = axes.size(); a-- > 0;) {
      index[a] = rest % extentOf(axes[a]);
      rest /= extentOf(axes[a]);
    }
    body(index);
  }
}

static double compare(Predicate predicate, double x, double y) {
  switch (predicate) {
  case Predicate::Less:
    return x < y;
  case Predicate::LessEqual:
    return x <= y;
  case Predicate::Greater:
    return x > y;
  case Predicate::GreaterEqual:
    return x >= y;
  case Predicate::Equal:
    return x == y;
  case Predicate::NotEqual:
    return x != y;
  }
  return false;
}

static double softplus(double x) {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}

/// One entry of an elementwise op.
static double apply(Operation &op, ArrayRef<double> x) {
  return TypeSwitch<Operation *, double>(&op)
      .Case([&](AddOp) { return x[0] + x[1]; })
      .Case([&](SubOp) { return x[0] - x[1]; })
      .Case([&](MulOp) { return x[0] * x[1]; })
      .Case([&](DivOp) { return x[0] / x[1]; })
      .Case([&](MaxOp) { return x[0] >= x[1] ? x[0] : x[1]; })
      .Case([&](CmpOp c) { return compare(c.getPredicate(), x[0], x[1]); })
      .Case([&](SelectOp) { return x[0] != 0 ? x[1] : x[2]; })
      .Case([&](NegOp) { return -x[0]; })
      .Case([&](AbsOp) { return std::abs(x[0]); })
      .Case([&](ExpOp) { return std::exp(x[0]); })
      .Case([&](LogOp) { return std::log(x[0]); })
      .Case([&](Expm1Op) { return std::expm1(x[0]); })
      .Case([&](Log1pOp) { return std::log1p(x[0]); })
      .Case([&](SqrtOp) { return std::sqrt(x[0]); })
      .Case([&](RsqrtOp) { return 1 / std::sqrt(x[0]); })
      .Case([&](TanhOp) { return std::tanh(x[0]); })
      .Case([&](SigmoidOp) { return 1 / (1 + std::exp(-x[0])); })
      .Case([&](SoftplusOp) { return softplus(x[0]); })
      .Case<DetachOp, BroadcastOp>([&](auto) { return x[0]; })
      .Case([&](ConstOp c) { return c.getValue().convertToDouble(); });
}

void RecWalk::visitElementwise(Operation &op) {
  Value result = op.getResult(0);
  std::vector<double> out;
  forEach(axesOf(result), [&](ArrayRef<std::int64_t> index) {
    SmallVector<double> x;
    for (Value operand : op.getOperands()) {
      x.push_back(values.at(operand)[offset(operand, axesOf(result), index)]);
    }
    out.push_back(apply(op, x));
  });
  values[result] = std::move(out);
}

void RecWalk::visitReduction(Operation &op, bool isMax) {
  Value result = op.getResult(0), operand = op.getOperand(0);
  double start = isMax ? -std::numeric_limits<double>::infinity() : 0;
  std::vector<double> out(sizeOf(result.getType()), start);
  size_t next = 0;
  const std::vector<double> &in = values.at(operand);
  forEach(axesOf(operand), [&](ArrayRef<std::int64_t> index) {
    double &entry = out[offset(result, axesOf(operand), index)];
    double x = in[next++];
    entry = isMax ? std::max(entry, x) : entry + x;
  });
  values[result] = std::move(out);
}

/// rename, index, place, extent.
void RecWalk::visitAxes(Operation &op) {
  Value result = op.getResult(0);
  if (auto extent = dyn_cast<ExtentOp>(op)) {
    values[result] = {static_cast<double>(extentOf(extent.getAxisAttr()))};
    return;
  }
  Value operand = op.getOperand(0);
  bool placing = isa<PlaceOp>(op);
  std::vector<double> out(sizeOf(result.getType()), 0);
  // The larger side is walked; for rename, the result under its old names.
  Value walked = placing ? result : operand;
  size_t next = 0;
  forEach(axesOf(walked), [&](ArrayRef<std::int64_t> index) {
    size_t here = next++;
    if (auto rename = dyn_cast<RenameOp>(op)) {
      SmallVector<StringAttr> names(axesOf(operand));
      std::replace(names.begin(), names.end(), rename.getFromAttr(),
                   rename.getToAttr());
      out[offset(result, names, index)] = values.at(operand)[here];
      return;
    }
    auto axis = op.getAttrOfType<StringAttr>("axis");
    std::int64_t position = op.getAttrOfType<IntegerAttr>("position").getInt();
    auto place = llvm::find(axesOf(walked), axis) - axesOf(walked).begin();
    if (index[place] != position) {
      return;
    }
    if (placing) {
      out[here] = values.at(operand)[offset(operand, axesOf(walked), index)];
    } else {
      out[offset(result, axesOf(walked), index)] = values.at(operand)[here];
    }
  });
  values[result] = std::move(out);
}

void RecWalk::visitScan(ScanOp scan) {
  for (auto [state, init] : llvm::zip(scan.getStates(), scan.getInits())) {
    values[state] = std::vector<double>(values.at(init));
  }
  for (Value result : scan.getEmitted()) {
    values[result].assign(sizeOf(result.getType()) * tokens, 0);
  }
  YieldOp yield = scan.getYield();
  for (std::int64_t step = 0; step < tokens; ++step) {
    std::int64_t t = scan.getReverse() ? tokens - 1 - step : step;
    for (auto [token, sequence] :
         llvm::zip(scan.getTokens(), scan.getSequences())) {
      std::int64_t size = sizeOf(token.getType());
      auto from = values.at(sequence).begin() + t * size;
      values[token] = std::vector<double>(from, from + size);
    }
    for (Operation &op : scan.getStep()->without_terminator()) {
      visit(op);
    }
    for (auto [value, result] :
         llvm::zip(yield.getEmitted(), scan.getEmitted())) {
      const std::vector<double> entry = values.at(value);
      std::copy(entry.begin(), entry.end(),
                values[result].begin() + t * entry.size());
    }
    std::vector<std::vector<double>> next;
    for (Value value : yield.getCarried()) {
      next.push_back(values.at(value));
    }
    for (auto [state, value] : llvm::zip(scan.getStates(), next)) {
      values[state] = value;
    }
  }
  for (auto [state, last] : llvm::zip(scan.getStates(), scan.getLast())) {
    values[last] = std::vector<double>(values.at(state));
  }
}

void RecWalk::visit(Operation &op) {
  TypeSwitch<Operation *>(&op)
      .Case([&](ScanOp scan) { visitScan(scan); })
      .Case([&](SumOp) { visitReduction(op, false); })
      .Case([&](AmaxOp) { visitReduction(op, true); })
      .Case<RenameOp, IndexOp, PlaceOp, ExtentOp>(
          [&](Operation *) { visitAxes(op); })
      .Case([](InvariantOp) {})
      .Default([&](Operation *) { visitElementwise(op); });
}

std::vector<RecArray> RecWalk::run(func::FuncOp function,
                                   std::vector<RecArray> arguments) {
  values.clear();
  for (auto [argument, array] : llvm::zip(function.getArguments(), arguments)) {
    values[argument] = array.values;
  }
  for (Operation &op : function.front().without_terminator()) {
    visit(op);
  }
  std::vector<RecArray> results;
  for (Value value : function.front().getTerminator()->getOperands()) {
    results.push_back({values.at(value)});
  }
  return results;
}
