// One loop over the tokens of a span, taken apart: what a token needs before
// its states' step, that step for a block of states, what follows from sums.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/target/cpu/BlockEmitter.h"
#include "compiler/target/cpu/LaneSums.h"
#include "compiler/target/cpu/NodeEmitter.h"
#include "compiler/target/cpu/SweepBlock.h"

namespace recurra::cpu {

class SweepLoop {
public:
  SweepLoop(Frame &frame, Node &node, chunk::ForOp op);

  chunk::ForOp getOp() const { return op; }
  /// Null if the loop has to be emitted as it stands.
  const Nest *getStateNest() const { return main; }
  BodyGraph &getGraph() { return body.getGraph(); }
  mlir::Value countTokens(); ///< that the window has in this iteration
  std::int64_t getWindow();  ///< tokens that it can have
  /// If not, the loop is there for its states alone.
  bool hasSums() const;

  // Before `enter`.
  /// Blocks put their states back for the next part of the tokens.
  void keepStates() { keepsStates = true; }
  /// What `first` has of a token before the step is not computed again.
  void shareBefore(SweepLoop &first);
  /// Nodes that equal the next states of `first`, which has walked forward over
  /// the same tokens, are read from its trace.
  void takeNextStates(SweepLoop &first);

  /// All gets its place, for so many tokens at a time.
  void enter(BlockEmitter &outer, const StateBlock &shape, std::int64_t tokens,
             bool isOneBlock);
  /// The tokens up to the states' step.
  void emitBefore(const TokenRange &range);
  void startRows() { sums.startRows(); }
  /// Asks for vectors that the next window will read and that these tokens will
  /// write, so that a few lines at a time arrive while the rows are walked.
  void prefetch(const TokenRange &range, mlir::Value row);
  /// The tokens' steps of one block of the states, kept in registers.
  void emitBlock(const StateBlock &block, const TokenRange &range);
  /// The same, without results, for all whole parts of the window: `place` says
  /// where the states before each part go.
  void emitParts(const StateBlock &block, std::int64_t part, mlir::Value parts,
                 llvm::function_ref<void(mlir::Value)> place);
  void finishRows(mlir::Value row) { sums.finishRows(row); }
  /// The tokens from the states' step on.
  void emitAfter(const TokenRange &range);

private:
  using Values = llvm::SmallVector<mlir::Value>;
  /// A node's values that another part of the loop reads: one per token, or,
  /// after the step, one in all.
  struct Slots {
    const Node *node;
    View view;
    std::int64_t stride;
    bool ofWindow; ///< from the window's first token on, not the range's
  };
  struct Point {
    std::int64_t row, vector, number, count;
  };
  static bool isSum(const Node *node);
  const Axis &lane() const { return main->domain.back(); }

  void keep(const Node *node);
  const Slots &slotsOf(const Node *node) const;
  mlir::Value slotPointer(const Slots &kept, mlir::Value position);
  void bind(mlir::Value position, int firstNest, int lastNest, bool scalars);
  Values forEachToken(const TokenRange &range, Values carried,
                      llvm::function_ref<void(mlir::Value, Values &)> body);
  bool isShared(const Nest &nest) const;
  void emitNestsBefore(mlir::Value position);
  void prefetchLines(const Node *node, const TokenRange &range,
                     mlir::Value row);

  void forEachPoint(NodeEmitter &points, const StateBlock &block,
                    llvm::function_ref<void(Point)> body);
  void forEachState(const StateBlock &block,
                    llvm::function_ref<void(mlir::Value, unsigned)> body);
  Values loadStates(const StateBlock &block);
  void storeStates(const StateBlock &block, const Values &states,
                   bool onlyUsed);
  Values walk(const StateBlock &block, const TokenRange &range, Values states);
  void emitStep(const StateBlock &block, mlir::Value position, Values &states);
  void enterPoint(NodeEmitter &points, Point point, mlir::Value position,
                  const Values &states);
  void leavePoint(NodeEmitter &points, Point point, Values &states);
  void addUp(NodeEmitter &points, const StateBlock &block, const Node *node,
             Point point, mlir::Value position);
  View traceAt(mlir::Value trace, mlir::Value position);
  void traceLast(const StateBlock &block, mlir::Value position,
                 const Values &states);

  Frame &f;
  Node &node;
  chunk::ForOp op;
  BlockEmitter body;
  LaneSums sums;
  const Nest *main;
  int mainIndex = -1;
  std::int64_t tokens = 0, blockRows = 1;
  mlir::Value first; ///< of the tokens that are walked
  bool keepsStates = false;
  bool tracesLast = false; ///< the states after the last token, too
  std::vector<Slots> slots;
  SweepLoop *shares = nullptr;
  llvm::DenseMap<const Node *, const Node *> shared; ///< to nodes of `shares`
  /// Nodes; the traces with their values in the slot behind.
  std::vector<std::pair<const Node *, mlir::Value>> nextStates;
  /// Sums of a token so far, by row or vector.
  llvm::DenseMap<std::pair<const Node *, std::int64_t>, mlir::Value> running;
};

} // namespace recurra::cpu
