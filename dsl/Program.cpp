// Running an expression graph on flat arrays.
// SPDX-License-Identifier: Apache-2.0
#include "dsl/Program.h"

#include "dsl/Slopes.h"

#include <algorithm>
#include <ranges>

namespace recurra {
namespace {

using Names = std::vector<std::string>;
using Array = std::vector<double>;

constexpr double l2NormEpsilon = 1e-12;

bool isLeaf(const Node &node) { return node.operands.empty(); }

bool isOverAxis(Op op) {
  switch (op) {
#define X(Name, Text) case Op::Name:
    RECURRA_AXIS_OPS(X)
#undef X
    return true;
  default:
    return false;
  }
}

/// For each row the first entry that is its largest.
template <typename Scalar>
std::vector<std::int64_t> firstLargest(const std::vector<Scalar> &x,
                                       const IndexMap &row, std::int64_t rows) {
  std::vector<std::int64_t> best(rows, -1);
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::int64_t &b = best[row[i]];
    if (b < 0 || elementwise::realPart(x[i]) > elementwise::realPart(x[b])) {
      b = static_cast<std::int64_t>(i);
    }
  }
  return best;
}

template <typename Scalar>
std::vector<Scalar> rowSums(const std::vector<Scalar> &x, const IndexMap &row,
                            std::int64_t rows) {
  std::vector<Scalar> sums(rows, Scalar(0));
  for (std::size_t i = 0; i < x.size(); ++i) {
    sums[row[i]] += x[i];
  }
  return sums;
}

/// 1 / sqrt(sum of squares + epsilon) of each row.
template <typename Scalar>
std::vector<Scalar> inverseNorms(const std::vector<Scalar> &x,
                                 const IndexMap &row, std::int64_t rows) {
  std::vector<Scalar> result(rows, Scalar(l2NormEpsilon));
  for (std::size_t i = 0; i < x.size(); ++i) {
    result[row[i]] += x[i] * x[i];
  }
  for (Scalar &value : result) {
    value = 1.0 / std::sqrt(value);
  }
  return result;
}

template <typename Scalar>
void softmax(const std::vector<Scalar> &x, const IndexMap &row,
             std::int64_t rows, std::vector<Scalar> &y) {
  std::vector<std::int64_t> largest = firstLargest(x, row, rows);
  for (std::size_t i = 0; i < x.size(); ++i) {
    y[i] = std::exp(x[i] - elementwise::realPart(x[largest[row[i]]]));
  }
  std::vector<Scalar> sums = rowSums(y, row, rows);
  for (std::size_t i = 0; i < x.size(); ++i) {
    y[i] /= sums[row[i]];
  }
}

} // namespace

std::int64_t sizeOf(const Names &axes, const Extents &extents) {
  std::int64_t size = 1;
  for (const std::string &axis : axes) {
    size *= extents.at(axis);
  }
  return size;
}

IndexMap mapIndices(const Names &over, const Names &into,
                    const Extents &extents, const std::string &fixed,
                    int entry) {
  std::map<std::string, std::int64_t> strides;
  std::int64_t stride = 1;
  for (const std::string &axis : std::views::reverse(into)) {
    strides[axis] = stride;
    stride *= extents.at(axis);
  }
  std::int64_t base = fixed.empty() ? 0 : strides.at(fixed) * entry;
  IndexMap map(sizeOf(over, extents));
  for (std::size_t i = 0; i < map.size(); ++i) {
    std::int64_t rest = static_cast<std::int64_t>(i), index = base;
    for (const std::string &axis : std::views::reverse(over)) {
      std::int64_t extent = extents.at(axis);
      auto found = strides.find(axis);
      index += found == strides.end() ? 0 : rest % extent * found->second;
      rest /= extent;
    }
    map[i] = static_cast<std::int32_t>(index);
  }
  return map;
}

Program::Program(const std::vector<NodeRef> &roots, const Extents &extents)
    : nodes(operandsFirst(roots)), sizes(extents) {
  for (const NodeRef &node : nodes) {
    int slot = static_cast<int>(steps.size());
    steps.push_back(makeStep(node, extents));
    slots[node.get()] = slot;
  }
}

Program::Step Program::makeStep(const NodeRef &node,
                                const Extents &extents) const {
  Step step{node.get(), sizeOf(node->axes, extents), {}, {}};
  for (const NodeRef &operand : node->operands) {
    step.operands.push_back(slots.at(operand.get()));
  }
  if (isLeaf(*node)) {
    return step;
  }
  Names operandAxes = node->operands[0]->axes;
  if (isOverAxis(node->op)) {
    Names rest = operandAxes;
    std::erase(rest, node->axis);
    step.maps.push_back(mapIndices(operandAxes, rest, extents));
    step.rows = sizeOf(rest, extents);
    step.rowSize = extents.at(node->axis);
  } else if (node->op == Op::Rename) {
    std::replace(operandAxes.begin(), operandAxes.end(), node->axis,
                 node->target);
    step.maps.push_back(mapIndices(node->axes, operandAxes, extents));
  } else if (node->op == Op::At) {
    step.maps.push_back(
        mapIndices(node->axes, operandAxes, extents, node->axis, node->index));
  } else {
    for (const NodeRef &operand : node->operands) {
      step.maps.push_back(mapIndices(node->axes, operand->axes, extents));
    }
  }
  return step;
}

int Program::leaf(Op op, const std::string &name) const {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i]->op == op && nodes[i]->name == name) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

template <typename Scalar>
std::vector<std::vector<Scalar>> Program::makeValues() const {
  std::vector<std::vector<Scalar>> values;
  for (const Step &step : steps) {
    double value = step.node->op == Op::Extent
                       ? static_cast<double>(sizes.at(step.node->axis))
                       : step.node->value;
    values.emplace_back(step.size, Scalar(value));
  }
  return values;
}

template <typename Scalar>
void Program::forward(std::vector<std::vector<Scalar>> &values) const {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!isLeaf(*steps[i].node)) {
      compute(steps[i], values, values[i]);
    }
  }
}

template <typename Scalar>
void Program::compute(const Step &step,
                      std::vector<std::vector<Scalar>> &values,
                      std::vector<Scalar> &result) const {
  Op op = step.node->op;
  const std::vector<Scalar> &x = values[step.operands[0]];
  if (isOverAxis(op)) {
    reduce(step, x, result);
  } else if (op == Op::Rename || op == Op::At) {
    for (std::int64_t i = 0; i < step.size; ++i) {
      result[i] = x[step.maps[0][i]];
    }
  } else if (op == Op::Select) {
    const std::vector<Scalar> &then = values[step.operands[1]];
    const std::vector<Scalar> &otherwise = values[step.operands[2]];
    for (std::int64_t i = 0; i < step.size; ++i) {
      bool holds = elementwise::realPart(x[step.maps[0][i]]) != 0;
      result[i] = holds ? then[step.maps[1][i]] : otherwise[step.maps[2][i]];
    }
  } else if (step.operands.size() == 2) {
    const std::vector<Scalar> &y = values[step.operands[1]];
    for (std::int64_t i = 0; i < step.size; ++i) {
      result[i] =
          elementwise::binary(op, x[step.maps[0][i]], y[step.maps[1][i]]);
    }
  } else {
    for (std::int64_t i = 0; i < step.size; ++i) {
      result[i] = elementwise::unary(op, x[i]);
    }
  }
}

template <typename Scalar>
void Program::reduce(const Step &step, const std::vector<Scalar> &x,
                     std::vector<Scalar> &result) const {
  const IndexMap &row = step.maps[0];
  switch (step.node->op) {
  case Op::Sum:
    result = rowSums(x, row, step.rows);
    break;
  case Op::Mean:
    result = rowSums(x, row, step.rows);
    for (Scalar &value : result) {
      value /= static_cast<double>(step.rowSize);
    }
    break;
  case Op::MaxOver: {
    std::vector<std::int64_t> largest = firstLargest(x, row, step.rows);
    for (std::int64_t r = 0; r < step.rows; ++r) {
      result[r] = x[largest[r]];
    }
    break;
  }
  case Op::Softmax:
    softmax(x, row, step.rows, result);
    break;
  default: { // L2Norm
    std::vector<Scalar> inverse = inverseNorms(x, row, step.rows);
    for (std::size_t i = 0; i < x.size(); ++i) {
      result[i] = x[i] * inverse[row[i]];
    }
  }
  }
}

void Program::backward(const std::vector<Array> &values,
                       std::vector<Array> &adjoints) const {
  for (std::size_t i = steps.size(); i-- > 0;) {
    if (!isLeaf(*steps[i].node)) {
      sendBack(steps[i], values, values[i], adjoints[i], adjoints);
    }
  }
}

void Program::sendBack(const Step &step, const std::vector<Array> &values,
                       const Array &y, const Array &dy,
                       std::vector<Array> &adjoints) const {
  Op op = step.node->op;
  const Array &x = values[step.operands[0]];
  Array &dx = adjoints[step.operands[0]];
  // Entries with a zero cotangent send nothing, not 0 times an infinite slope.
  if (isOverAxis(op)) {
    sendBackOverAxis(step, x, y, dy, dx);
  } else if (op == Op::Rename || op == Op::At) {
    for (std::int64_t i = 0; i < step.size; ++i) {
      dx[step.maps[0][i]] += dy[i];
    }
  } else if (op == Op::Select) {
    for (std::int64_t i = 0; i < step.size; ++i) {
      int chosen = x[step.maps[0][i]] != 0 ? 1 : 2;
      adjoints[step.operands[chosen]][step.maps[chosen][i]] += dy[i];
    }
  } else if (step.operands.size() == 2) {
    const Array &z = values[step.operands[1]];
    Array &dz = adjoints[step.operands[1]];
    for (std::int64_t i = 0; i < step.size; ++i) {
      if (dy[i] == 0) {
        continue;
      }
      std::int32_t a = step.maps[0][i], b = step.maps[1][i];
      elementwise::Slopes slopes = elementwise::slopes(op, x[a], z[b]);
      dx[a] += dy[i] * slopes.left;
      dz[b] += dy[i] * slopes.right;
    }
  } else {
    for (std::int64_t i = 0; i < step.size; ++i) {
      dx[i] += dy[i] == 0 ? 0 : dy[i] * elementwise::slope(op, x[i], y[i]);
    }
  }
}

void Program::sendBackOverAxis(const Step &step, const Array &x, const Array &y,
                               const Array &dy, Array &dx) const {
  const IndexMap &row = step.maps[0];
  Op op = step.node->op;
  if (op == Op::Sum || op == Op::Mean) {
    double weight = op == Op::Sum ? 1 : 1 / static_cast<double>(step.rowSize);
    for (std::size_t i = 0; i < x.size(); ++i) {
      dx[i] += weight * dy[row[i]];
    }
    return;
  }
  if (op == Op::MaxOver) {
    Array largest(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      largest[i] = x[i] == y[row[i]] ? 1 : 0;
    }
    Array count = rowSums(largest, row, step.rows);
    for (std::size_t i = 0; i < x.size(); ++i) {
      dx[i] += largest[i] == 0 ? 0 : dy[row[i]] / count[row[i]];
    }
    return;
  }
  // softmax: dx = y (dy - <dy, y>); l2norm: dx = (dy - y <dy, y>) / norm.
  Array products(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    products[i] = dy[i] * y[i];
  }
  Array inner = rowSums(products, row, step.rows);
  Array inverse = inverseNorms(x, row, step.rows);
  for (std::size_t i = 0; i < x.size(); ++i) {
    dx[i] += op == Op::Softmax
                 ? y[i] * (dy[i] - inner[row[i]])
                 : (dy[i] - y[i] * inner[row[i]]) * inverse[row[i]];
  }
}

template std::vector<Array> Program::makeValues<double>() const;
template std::vector<std::vector<elementwise::Complex>>
Program::makeValues<elementwise::Complex>() const;
template void Program::forward(std::vector<Array> &) const;
template void
Program::forward(std::vector<std::vector<elementwise::Complex>> &) const;

} // namespace recurra
