// Numbers of a scan-form kernel. Inside a segment, what decays is kept divided
// by G, the decay since the segment's first token: a value of degree d is G^d
// times what is kept, so that a step only adds. Vectors are prepared for it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/target/cuda/KernelText.h"
#include "compiler/target/cuda/ScanProducts.h"
#include "compiler/target/cuda/ScanTiles.h"

namespace recurra::cuda {

/// A vector (or a number) of every token, prepared in shared memory: the node's
/// value times G^-degree. Without a node the value is 1. If G is a vector, so
/// is what is scaled, along G's axis.
struct ScanOperand {
  enum Kind { Row, Column, Scalar };
  const Node *node = nullptr;
  int degree = 0;
  Kind kind = Scalar;
  bool isFetched = false; ///< by the warps that walk
  bool isTraced = false;  ///< needed to walk to the segments' ends
  std::int64_t offset = 0;
  std::string name;
};

/// A token's vector as it lies in the user's memory.
struct ScanVector {
  const Node *load = nullptr;
  std::string name;
  std::int64_t pitch = 0, offset = 0; ///< elements, bytes
  bool isTraced = false;              ///< needed to walk to the segments' ends
};

/// How a matrix is summed: x times a prepared vector over the axes that go.
struct ScanSum {
  const Node *reduce = nullptr;
  const Node *matrix = nullptr;              ///< x
  llvm::SmallVector<const Node *, 1> others; ///< matrices summed with it
  const Node *weight = nullptr;              ///< the vector; null: 1
  int matrixDegree = 0, weightDegree = 0;    ///< as they are multiplied
  int degree = 0;                            ///< of the sum as it is kept
  enum Kind { OverColumns, OverRows, OverBoth } kind = OverBoth;
  std::int64_t slot = 0; ///< of a matrix instruction's result, or of the parts
};

/// How a lane's element (a, n, e) finds its entry of an operand.
std::string indexOf(ScanOperand::Kind kind);

class ScanValues {
public:
  ScanValues(const ScanForm &form, const ScanTiles &tiles);

  /// How a node's entries are shared out.
  ScanOperand::Kind kindOf(const Node *node) const;
  /// The operand, made if nobody asked for it before.
  ScanOperand &operand(const Node *node, int degree);
  ScanOperand *find(const Node *node, int degree) const;
  ScanOperand &power(int exponent) { return operand(nullptr, -exponent); }
  std::vector<std::unique_ptr<ScanOperand>> operands;
  std::vector<ScanSum> sums;
  ScanProducts products;

  /// Of states; that of adjoints is its negative.
  int stateDegree() const { return form.hasMatrixDecay ? 0 : 1; }
  /// The degree at which a node costs nothing.
  int natural(const Node *node) const;
  /// It can be had at any degree: a vector takes the difference.
  bool isFlexible(const Node *node) const;
  /// Missing factors: -1 for the value before a token's decay.
  int pending(const Node *node) const;
  bool isDecay(const Node *node) const;
  /// What is left of a node without one factor that is the decay, null for 1;
  /// nothing if it has no such factor.
  std::optional<const Node *> withoutDecay(const Node *node) const;

  /// The sum that stands for a node which adds two of whole matrices, or null.
  const Node *mergedSum(const Node *node) const { return merged.lookup(node); }

  /// False if some result needs the inverse of a decay.
  bool isSound() const;
  /// The sum runs over an axis whose entries decay by factors of their own.
  bool isOverDecay(const ScanSum &sum) const;
  int matrixDegree(const ScanSum &sum) const;
  /// A vector along the axis that a vector decay does not have.
  bool isAcrossDecay(const Node *node) const;
  ScanOperand::Kind powerKind() const;

  const ScanForm &form;
  const ScanTiles &tiles;

private:
  void findSum(const Node *reduce);
  void mergeSums();
  llvm::DenseMap<const Node *, const Node *> merged;
};

} // namespace recurra::cuda
