// Recognises the nests that the scan form can run: loops over tokens that carry
// matrices which decay by a common factor, or one for each row, column or
// element, add products of vectors, and are read element by element. Only the
// algebra of the step decides.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/target/cuda/ScanStep.h"

#include <memory>
#include <string>

namespace recurra::cuda {

/// A matrix that decays from token to token and is added to.
struct ScanState {
  mlir::Value carry;    ///< of the loop that walks forward
  AffineStep step;      ///< in nodes of the main body
  Node *next = nullptr; ///< the main body's node of its new value, if any
};

/// A carry of the main loop that is no state: a matrix, which is an adjoint or
/// a parameter's; or a total.
struct ScanCarry {
  unsigned index = 0; ///< among the loop's carries
  mlir::Value carry;
  /// Adjoint: what decays, or all of it; total: what is added.
  Node *value = nullptr;
  bool isNegative = false; ///< total: taken away instead
};

class ScanForm {
public:
  /// Whether a nest has the form; if not, `why` says so for people.
  static std::unique_ptr<ScanForm>
  find(chunk::ForallOp forall, const cpu::AxisOrder &order, std::string &why);

  /// The same loops without their sums and all that is made of those.
  std::unique_ptr<ScanForm> withoutResults() const;

  chunk::ForallOp forall;
  const cpu::AxisOrder *order = nullptr;
  chunk::ForOp runs, trace, tokens; ///< trace: null unless reverse
  bool isReverse = false;
  mlir::StringAttr rows, columns;
  std::int64_t rowExtent = 0, columnExtent = 0; ///< of the user's axes
  std::int64_t interval = 0;                    ///< tokens of a run
  std::int64_t spanTokens = 0; ///< that a task has; 0: all of a sequence
  bool hasParts = false;       ///< that may be walked in parts
  bool isAhead = false; ///< what the walk ahead of them needs: no results
  mlir::Value slice;    ///< the span of the axis that blocks share out, if any
  std::int64_t slices() const; ///< that blocks share out
  /// Tasks are sequences x heads, and slices: there may be slots.
  bool isBySequence() const;
  std::unique_ptr<cpu::BodyGraph> top, run, walk, body;
  llvm::SmallVector<ScanState> states;
  llvm::SmallVector<ScanCarry> adjoints, totals;
  /// Of the main body: a number, or a vector along rows or columns; null: 1.
  Node *decay = nullptr;
  /// Elements have factors of their own, of any sign: no decay is common,
  /// states are not scaled, and backward those of every token are held.
  bool hasMatrixDecay = false;
  llvm::SmallVector<mlir::Value> parameters; ///< matrices of a task
  llvm::SmallVector<Node *> reduces;         ///< of matrices, in order
  llvm::SmallVector<Node *> stores;          ///< per token, in order

  /// Of the nodes of the body.
  bool isMatrix(const Node *node) const;
  bool isRow(const Node *node) const;    ///< a vector along the rows
  bool isColumn(const Node *node) const; ///< a vector along the columns
  /// Each row, or each column, decays by a factor of its own.
  bool hasVectorDecay() const { return decay && !decay->axes.empty(); }
  /// The node is a vector along the axis of that decay.
  bool isAlongDecay(const Node *node) const {
    return hasVectorDecay() && node->axes == decay->axes;
  }
  /// Known before the token's matrices: from loads and parameters alone.
  bool isPrepared(const Node *node) const;
  /// The index of the state whose value before the token a node is, or -1;
  /// likewise after the token.
  int oldState(const Node *node) const;
  int newState(const Node *node) const;
  /// The index of the adjoint that a node is, or of the parameter; or -1.
  int adjointOf(const Node *node) const;
  int parameterOf(const Node *node) const;

private:
  bool fail(const std::string &reason);
  bool findLoops();
  bool findAxes();
  bool findStates();
  bool findState(unsigned index);
  bool checkSteps();
  void findParameters();
  bool isFree(const Node *node) const;
  bool findAdjoints();
  bool findTotal(unsigned index);
  bool checkNodes();
  bool checkTop();
  bool checkNode(const Node *node);
  int heldState(const Node *node, llvm::ArrayRef<mlir::Value> buffers) const;
  void findNext(ScanState &state, unsigned index);

  std::string why;
  /// The trace's buffer of each state before and after a token, if it has one.
  llvm::SmallVector<mlir::Value> held, heldNext;
};

} // namespace recurra::cuda
