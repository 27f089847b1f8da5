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
/// value times G^-degree. Without a node the value is 1.
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

/// How a matrix is summed: x times a prepared vector over the axes that go.
struct ScanSum {
  const Node *reduce = nullptr;
  const Node *matrix = nullptr;              ///< x
  llvm::SmallVector<const Node *, 1> others; ///< matrices summed with it
  const Node *weight = nullptr;              ///< the vector; null: 1
  int weightDegree = 0;
  int degree = 0; ///< of the sum as it is kept
  enum Kind { OverColumns, OverRows, OverBoth } kind = OverBoth;
  std::int64_t slot = 0; ///< of a matrix instruction's result, or of the parts
};

class ScanValues {
public:
  ScanValues(const ScanForm &form, const ScanTiles &tiles);

  /// The operand, made if nobody asked for it before.
  ScanOperand &operand(const Node *node, int degree);
  ScanOperand &power(int exponent) { return operand(nullptr, -exponent); }
  std::vector<std::unique_ptr<ScanOperand>> operands;
  std::vector<ScanSum> sums;
  ScanProducts products;

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

  const ScanForm &form;
  const ScanTiles &tiles;

private:
  void findSum(const Node *reduce);
  void mergeSums();
  llvm::DenseMap<const Node *, const Node *> merged;
  ScanOperand *find(const Node *node, int degree) const;
};

/// Prints the nodes of one element of the matrices, each once.
class ScanElement {
public:
  ScanElement(ScanValues &values, KernelText &text,
              const llvm::DenseMap<const Node *, std::string> &hints)
      : values(values), form(values.form), text(text), hints(hints) {}

  /// An expression of what is kept at this degree.
  std::string at(const Node *node, int degree);
  std::string term(const AffineStep::Term &term);
  /// The term as a matrix instruction adds it, or null.
  const ScanProduct *addition(const AffineStep::Term &term);
  /// Names of the values before and after the token, and of the adjoints.
  llvm::SmallVector<std::string> before, after, adjoints;
  /// New adjoints, where they are known already.
  llvm::DenseMap<const Node *, std::string> made;
  /// A product of new adjoints and values before the token.
  bool isReady(const Node *node) const;

private:
  std::string product(const Node *a, const Node *b, int degree);
  std::pair<int, int> share(const Node *a, const Node *b, int degree) const;
  const ScanProduct *outer(const Node *a, const Node *b, int degree,
                           bool isAddition, bool isNegative);
  std::string vector(const Node *node, int degree);
  std::string compute(const Node *node, int degree);
  std::string scaled(const std::string &text, int from, int to);
  std::string power(int exponent);

  ScanValues &values;
  const ScanForm &form;
  KernelText &text;
  const llvm::DenseMap<const Node *, std::string> &hints;
  std::map<std::pair<const Node *, int>, std::string> known;
};

} // namespace recurra::cuda
