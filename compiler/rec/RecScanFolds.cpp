// Canonical forms of `rec.scan`: nothing dead is read, carried or emitted,
// nothing read twice, and what does not change over tokens stands outside.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/rec/Rec.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseSet.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace recurra::rec;

namespace {

/// What of a scan is alive: reached from a used result or, for a state, from
/// another live one.
struct Liveness {
  explicit Liveness(ScanOp scan)
      : scan(scan), sequences(scan.getSequences().size()),
        states(scan.getInits().size()), emitted(scan.getEmitted().size()) {
    for (auto [i, result] : llvm::enumerate(scan.getEmitted())) {
      if (!result.use_empty()) {
        emitted.set(i);
        reach(scan.getYield().getEmitted()[i]);
      }
    }
    for (auto [i, result] : llvm::enumerate(scan.getLast())) {
      if (!result.use_empty()) {
        reachState(i);
      }
    }
  }

  bool everything() const {
    return sequences.all() && states.all() && emitted.all();
  }

  void reachState(unsigned i) {
    if (states.test(i)) {
      return;
    }
    states.set(i);
    reach(scan.getYield().getCarried()[i]);
    for (Operation *user : scan.getStates()[i].getUsers()) {
      if (auto invariant = dyn_cast<InvariantOp>(user);
          invariant && invariant.getState() == scan.getStates()[i]) {
        ops.insert(user);
        reach(invariant.getValue());
      }
    }
  }

  void reach(Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (argument.getOwner() == scan.getStep()) {
        unsigned i = argument.getArgNumber();
        i < sequences.size() ? void(sequences.set(i))
                             : reachState(i - sequences.size());
      }
      return;
    }
    Operation *op = value.getDefiningOp();
    if (op->getBlock() == scan.getStep() && ops.insert(op).second) {
      for (Value operand : op->getOperands()) {
        reach(operand);
      }
    }
  }

  ScanOp scan;
  llvm::BitVector sequences, states, emitted;
  llvm::DenseSet<Operation *> ops;
};

template <typename Range>
SmallVector<Value> pick(const Range &values, const llvm::BitVector &alive) {
  SmallVector<Value> kept;
  for (unsigned i : alive.set_bits()) {
    kept.push_back(values[i]);
  }
  return kept;
}

/// Drops dead results, states and sequences, and the ops that only they used.
struct DropDead : OpRewritePattern<ScanOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ScanOp scan,
                                PatternRewriter &rewriter) const override {
    Liveness alive(scan);
    if (alive.everything()) {
      return failure();
    }
    eraseDeadOps(scan, alive, rewriter);
    ScanOp slim = rebuild(scan, alive, rewriter);
    for (auto [old, result] :
         llvm::zip(pick(scan.getEmitted(), alive.emitted), slim.getEmitted())) {
      rewriter.replaceAllUsesWith(old, result);
    }
    for (auto [old, result] :
         llvm::zip(pick(scan.getLast(), alive.states), slim.getLast())) {
      rewriter.replaceAllUsesWith(old, result);
    }
    rewriter.eraseOp(scan);
    return success();
  }

  static void eraseDeadOps(ScanOp scan, const Liveness &alive,
                           PatternRewriter &rewriter) {
    YieldOp yield = scan.getYield();
    rewriter.setInsertionPoint(yield);
    YieldOp::create(rewriter, yield.getLoc(),
                    pick(yield.getCarried(), alive.states),
                    pick(yield.getEmitted(), alive.emitted));
    rewriter.eraseOp(yield);
    SmallVector<Operation *> dead;
    for (Operation &op : scan.getStep()->without_terminator()) {
      if (!alive.ops.contains(&op)) {
        dead.push_back(&op);
      }
    }
    for (Operation *op : llvm::reverse(dead)) {
      rewriter.eraseOp(op);
    }
  }

  static ScanOp rebuild(ScanOp scan, const Liveness &alive,
                        PatternRewriter &rewriter) {
    rewriter.setInsertionPoint(scan);
    ScanOp slim = ScanOp::create(
        rewriter, scan.getLoc(), scan.getReverse(),
        pick(scan.getSequences(), alive.sequences),
        pick(scan.getInits(), alive.states),
        ValueRange(pick(scan.getEmitted(), alive.emitted)).getTypes());
    slim->setDiscardableAttrs(scan->getDiscardableAttrDictionary());
    if (auto names = scan->getAttrOfType<ArrayAttr>(carriesAttr)) {
      SmallVector<Attribute> kept;
      for (unsigned i : alive.states.set_bits()) {
        kept.push_back(names[i]);
      }
      slim->setAttr(carriesAttr, rewriter.getArrayAttr(kept));
    }
    llvm::BitVector dead(alive.sequences);
    dead.resize(scan.getStep()->getNumArguments());
    for (unsigned i : alive.states.set_bits()) {
      dead.set(alive.sequences.size() + i);
    }
    dead.flip();
    rewriter.eraseBlock(slim.getStep());
    rewriter.inlineRegionBefore(scan.getBody(), slim.getBody(),
                                slim.getBody().end());
    slim.getStep()->eraseArguments(dead);
    return slim;
  }
};

/// A state that never changes is its initial value.
struct ConstantState : OpRewritePattern<ScanOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ScanOp scan,
                                PatternRewriter &rewriter) const override {
    for (auto [i, state] : llvm::enumerate(scan.getStates())) {
      Value next = scan.getYield().getCarried()[i], init = scan.getInits()[i];
      bool sameNumber = constantOf(next) && constantOf(init) &&
                        constantOf(next) == constantOf(init);
      bool used = !scan.getLast()[i].use_empty() ||
                  llvm::any_of(state.getUses(), [&](OpOperand &use) {
                    return use.getOwner() != scan.getYield();
                  });
      if (used && (next == state || sameNumber || next == init)) {
        rewriter.replaceAllUsesWith(state, init);
        rewriter.replaceAllUsesWith(scan.getLast()[i], init);
        return success();
      }
    }
    return failure();
  }
};

/// One argument per sequence, and no result that repeats an input or another.
struct MergeSequences : OpRewritePattern<ScanOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ScanOp scan,
                                PatternRewriter &rewriter) const override {
    bool changed = false;
    auto replace = [&](Value from, Value to) {
      if (!from.use_empty()) {
        rewriter.replaceAllUsesWith(from, to);
        changed = true;
      }
    };
    llvm::DenseMap<Value, Value> argumentOf, resultOf;
    for (auto [sequence, token] :
         llvm::zip(scan.getSequences(), scan.getTokens())) {
      auto [first, isNew] = argumentOf.try_emplace(sequence, token);
      if (!isNew) {
        replace(token, first->second);
      }
      resultOf.try_emplace(token, sequence);
    }
    for (auto [value, result] :
         llvm::zip(scan.getYield().getEmitted(), scan.getEmitted())) {
      auto [first, isNew] = resultOf.try_emplace(value, result);
      if (!isNew) {
        replace(result, first->second);
      }
    }
    return success(changed);
  }
};

/// What depends on no token and no state is computed once, before the scan.
struct HoistInvariants : OpRewritePattern<ScanOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ScanOp scan,
                                PatternRewriter &rewriter) const override {
    bool changed = false;
    for (Operation &op :
         llvm::make_early_inc_range(scan.getStep()->without_terminator())) {
      bool outside = !isa<InvariantOp>(op) &&
                     llvm::all_of(op.getOperands(), [&](Value operand) {
                       return operand.getParentBlock() != scan.getStep();
                     });
      if (outside) {
        rewriter.moveOpBefore(&op, scan);
        changed = true;
      }
    }
    return success(changed);
  }
};

} // namespace

void ScanOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                         MLIRContext *context) {
  patterns.add<DropDead, ConstantState, MergeSequences, HoistInvariants>(
      context);
}
