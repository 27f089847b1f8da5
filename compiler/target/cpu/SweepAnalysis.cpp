// One nest of the body must step all states; what comes before it knows nothing
// of them, what comes after it only their sums.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cpu/SweepAnalysis.h"

using namespace mlir;

namespace recurra::cpu {

using Kind = Node::Kind;

namespace {

class Analysis {
public:
  Analysis(chunk::ForOp loop, BodyGraph &graph) : loop(loop), graph(graph) {}

  const Nest *find() {
    if (!isLoopOverWindow() || loop.getInits().empty() || !findMain() ||
        main->isAlone || main->domain.size() != 2) {
      return nullptr;
    }
    return hasCarries() && llvm::all_of(graph.getNests(),
                                        [&](Nest &nest) { return isFit(nest); })
               ? main
               : nullptr;
  }

private:
  bool isLoopOverWindow() {
    constexpr int64_t most = 256;
    Value parent = loop.getParent();
    return parent && loop.getStep() == 1 && loop.getAxis() == "T" &&
           cast<chunk::SpanType>(parent.getType()).getAxis() == "T" &&
           cast<chunk::SpanType>(parent.getType()).getCapacity() <= most;
  }

  bool isCarry(const Node *node) const {
    auto argument = dyn_cast_if_present<BlockArgument>(node->value);
    return node->kind == Kind::Known && argument &&
           argument.getOwner() == carries;
  }

  /// The only nest that reads carries.
  bool findMain() {
    for (const Nest &nest : graph.getNests()) {
      bool reads = false;
      for (const Node *node : nest.nodes) {
        forEachOperand(node,
                       [&](const Node *operand) { reads |= isCarry(operand); });
      }
      if (reads && main) {
        return false;
      }
      main = reads ? &nest : main;
    }
    return main;
  }

  /// Each is whole in the nest, as is its next value.
  bool hasCarries() {
    for (auto [carry, next] : llvm::zip(loop.getCarries(), graph.getYields())) {
      if (graph.find(carry)->axes != main->domain ||
          next->axes != main->domain || !isPointwise(next->kind) ||
          !isIn(next, *main)) {
        return false;
      }
    }
    return true;
  }

  bool isIn(const Node *node, const Nest &nest) const {
    return !node->floats() && node->kind != Kind::Known &&
           &graph.getNests()[node->nest] == &nest;
  }

  bool isFit(const Nest &nest) {
    bool isMain = &nest == main;
    for (const Node *node : nest.nodes) {
      bool isMemory =
          node->kind == Kind::ScratchLoad || node->kind == Kind::ScratchStore;
      if (node->kind == Kind::Loop || (isMemory && !isMain) ||
          (node->kind == Kind::CopyIn && isStored(node))) {
        return false;
      }
      // Of a step's values, only sums leave it.
      bool leaves = false;
      forEachOperand(node, [&](const Node *operand) {
        leaves |=
            !isMain && isIn(operand, *main) && operand->kind != Kind::Reduce;
      });
      if (leaves) {
        return false;
      }
    }
    return true;
  }

  /// The loop writes the memory that the node reads.
  bool isStored(const Node *node) {
    Value buffer = cast<chunk::LoadOp>(node->op).getBuffer();
    return llvm::any_of(buffer.getUsers(), [&](Operation *user) {
      return isa<chunk::StoreOp>(user) && loop->isProperAncestor(user);
    });
  }

  static void forEachOperand(const Node *node,
                             llvm::function_ref<void(const Node *)> body) {
    for (const Node *operand : node->operands) {
      if (operand->floats()) {
        forEachOperand(operand, body);
      } else {
        body(operand);
      }
    }
  }

  chunk::ForOp loop;
  const Block *carries = &loop.getBlock();
  BodyGraph &graph;
  const Nest *main = nullptr;
};

} // namespace

const Nest *findStateNest(chunk::ForOp loop, BodyGraph &graph) {
  return Analysis(loop, graph).find();
}

bool isIndependent(chunk::ForOp loop, chunk::ForOp earlier) {
  WalkResult found = loop->walk([&](Operation *op) {
    bool reads = llvm::any_of(op->getOperands(), [&](Value value) {
      return value.getDefiningOp() == earlier.getOperation();
    });
    auto load = dyn_cast<chunk::LoadOp>(op);
    bool isWritten =
        load && !isScratch(load.getBuffer()) &&
        llvm::any_of(load.getBuffer().getUsers(), [&](Operation *user) {
          return isa<chunk::StoreOp>(user) && earlier->isProperAncestor(user);
        });
    return reads || isWritten ? WalkResult::interrupt() : WalkResult::advance();
  });
  return !found.wasInterrupted();
}

} // namespace recurra::cpu
