// Expression graphs with sizes put in: a list of operations on flat arrays,
// run forward, and backward for gradients.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dsl/Elementwise.h"
#include "dsl/Recurrence.h"

#include <cstdint>
#include <map>
#include <unordered_map>

namespace recurra {

using Extents = std::map<std::string, std::int64_t>;
using IndexMap = std::vector<std::int32_t>;

/// The product of the sizes of `axes`.
std::int64_t sizeOf(const std::vector<std::string> &axes,
                    const Extents &extents);

/// For every row-major index over the axes `over`: the row-major index over the
/// axes `into`, all of which are in `over` but for `fixed`, taken at `entry`.
IndexMap mapIndices(const std::vector<std::string> &over,
                    const std::vector<std::string> &into,
                    const Extents &extents, const std::string &fixed = "",
                    int entry = 0);

class Program {
public:
  Program(const std::vector<NodeRef> &roots, const Extents &extents);

  /// One array for each node, constants filled in.
  template <typename Scalar>
  std::vector<std::vector<Scalar>> makeValues() const;
  /// Fills every node but the leaves Input and State, which the caller fills.
  template <typename Scalar>
  void forward(std::vector<std::vector<Scalar>> &values) const;
  /// Adds to the adjoint of every node what its users send back.
  void backward(const std::vector<std::vector<double>> &values,
                std::vector<std::vector<double>> &adjoints) const;

  /// Where a root's array is.
  int slot(const NodeRef &root) const { return slots.at(root.get()); }
  /// The leaf that reads this input or state; -1 if nothing reads it.
  int leaf(Op op, const std::string &name) const;

private:
  struct Step {
    const Node *node;
    std::int64_t size;         ///< of the result
    std::vector<int> operands; ///< slots
    /// Elementwise, rename, at: for each result entry the operand's entry.
    /// Over an axis: for each operand entry the row that it belongs to.
    std::vector<IndexMap> maps;
    std::int64_t rows = 1, rowSize = 1; ///< over an axis
  };

  Step makeStep(const NodeRef &node, const Extents &extents) const;
  template <typename Scalar>
  void compute(const Step &step, std::vector<std::vector<Scalar>> &values,
               std::vector<Scalar> &result) const;
  template <typename Scalar>
  void reduce(const Step &step, const std::vector<Scalar> &x,
              std::vector<Scalar> &result) const;
  void sendBack(const Step &step,
                const std::vector<std::vector<double>> &values,
                const std::vector<double> &y, const std::vector<double> &dy,
                std::vector<std::vector<double>> &adjoints) const;
  void sendBackOverAxis(const Step &step, const std::vector<double> &x,
                        const std::vector<double> &y,
                        const std::vector<double> &dy,
                        std::vector<double> &dx) const;

  std::vector<NodeRef> nodes; ///< operands before users
  std::vector<Step> steps;    ///< of each node
  std::unordered_map<const Node *, int> slots;
  Extents sizes;
};

} // namespace recurra
