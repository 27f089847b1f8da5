// Expressions of one element of a scan-form kernel's matrices: of the states
// before and after a token, of adjoints, and of all that is made of them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/target/cuda/ScanValues.h"

namespace recurra::cuda {

/// Prints the nodes of one element of the matrices, each once.
class ScanElement {
public:
  ScanElement(ScanValues &values, KernelText &text,
              const llvm::DenseMap<const Node *, std::string> &hints)
      : values(values), form(values.form), text(text), hints(hints) {}

  /// An expression of what is kept at this degree.
  std::string at(const Node *node, int degree);
  /// The term as a step adds it, or as the way back takes it away.
  std::string term(const AffineStep::Term &term, bool isBack);
  /// The term as a matrix instruction adds it, or null.
  const ScanProduct *addition(const AffineStep::Term &term);
  /// Names of the values before and after the token, and of the adjoints.
  llvm::SmallVector<std::string> before, after, adjoints, parameters;
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
