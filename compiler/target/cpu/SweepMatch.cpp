// The second of two loops often computes again what the first one made of the
// states at the same token, as its adjoint rules read it. Both are compared as
// trees of nodes.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cpu/SweepLoop.h"

using namespace mlir;

namespace recurra::cpu {

using Kind = Node::Kind;

namespace {

class Matcher {
public:
  Matcher(SweepLoop &first, SweepLoop &second) : first(first), second(second) {
    for (const Node *node : first.getStateNest()->nodes) {
      if (node->kind == Kind::ScratchStore) {
        auto store = cast<chunk::StoreOp>(node->op);
        traces[node->operands[0]] = store.getBuffer();
      }
    }
  }

  /// Where the first loop's next states lie, by carry; null: nowhere.
  Value traceOf(unsigned carry) {
    return traces.lookup(
        first.getGraph().find(first.getOp().getCarries()[carry]));
  }

  /// `a` of the second loop has the value of `b` of the first. Answers are
  /// kept: trees that share nodes have exponentially many paths.
  bool isEqual(const Node *a, const Node *b) {
    auto known = answers.find({a, b});
    if (known != answers.end()) {
      return known->second;
    }
    bool answer = compare(a, b);
    answers[{a, b}] = answer;
    return answer;
  }

private:
  bool compare(const Node *a, const Node *b) {
    if (Value trace = traces.lookup(b)) {
      return a->kind == Kind::ScratchLoad &&
             cast<chunk::LoadOp>(a->op).getBuffer() == trace;
    }
    if (a->axes != b->axes || a->element != b->element) {
      return false;
    }
    if (a->kind == Kind::Elementwise && b->kind == Kind::Elementwise) {
      return isEqualSum(a, b) || isEqualCall(a, b);
    }
    if (a->kind != b->kind) {
      return false;
    }
    switch (a->kind) {
    case Kind::Known:
      return a->value == b->value;
    case Kind::Constant:
      return a->attributes == b->attributes;
    case Kind::Broadcast:
      return isEqual(a->operands[0], b->operands[0]);
    case Kind::CopyIn:
      return isEqualLoad(cast<chunk::LoadOp>(a->op),
                         cast<chunk::LoadOp>(b->op));
    default:
      return false;
    }
  }

  /// x * y + z, however it is written.
  using Sum = std::array<const Node *, 3>;
  static SmallVector<Sum> asSums(const Node *node) {
    SmallVector<Sum> sums;
    StringRef name = node->name->getStringRef();
    if (name == "math.fma") {
      sums.push_back({node->operands[0], node->operands[1], node->operands[2]});
    }
    for (unsigned i = 0; name == "arith.addf" && i < 2; ++i) {
      const Node *product = node->operands[i];
      if (product->kind == Kind::Elementwise &&
          product->name->getStringRef() == "arith.mulf") {
        sums.push_back({product->operands[0], product->operands[1],
                        node->operands[1 - i]});
      }
    }
    return sums;
  }

  bool isEqualPair(ArrayRef<const Node *> a, ArrayRef<const Node *> b) {
    return (isEqual(a[0], b[0]) && isEqual(a[1], b[1])) ||
           (isEqual(a[0], b[1]) && isEqual(a[1], b[0]));
  }

  bool isEqualSum(const Node *a, const Node *b) {
    return llvm::any_of(asSums(a), [&](const Sum &x) {
      return llvm::any_of(asSums(b), [&](const Sum &y) {
        return isEqual(x[2], y[2]) && isEqualPair({x[0], x[1]}, {y[0], y[1]});
      });
    });
  }

  bool isEqualCall(const Node *a, const Node *b) {
    if (*a->name != *b->name || a->attributes != b->attributes ||
        a->operands.size() != b->operands.size()) {
      return false;
    }
    StringRef name = a->name->getStringRef();
    if (name == "arith.mulf" || name == "arith.addf") {
      return isEqualPair({a->operands[0], a->operands[1]},
                         {b->operands[0], b->operands[1]});
    }
    return llvm::all_of_zip(
        a->operands, b->operands,
        [&](const Node *x, const Node *y) { return isEqual(x, y); });
  }

  bool isEqualLoad(chunk::LoadOp a, chunk::LoadOp b) {
    return a.getBuffer() == b.getBuffer() &&
           llvm::all_of_zip(a.getIndices(), b.getIndices(),
                            [&](Value x, Value y) {
                              return x == y || (x == second.getOp().getSpan() &&
                                                y == first.getOp().getSpan());
                            });
  }

  SweepLoop &first, &second;
  llvm::DenseMap<const Node *, Value> traces;
  llvm::DenseMap<std::pair<const Node *, const Node *>, bool> answers;
};

} // namespace

void SweepLoop::shareBefore(SweepLoop &first) {
  shares = &first;
  Matcher matcher(first, *this);
  auto forEachKept = [](SweepLoop &loop, auto body) {
    ArrayRef<Nest> nests = loop.getGraph().getNests();
    for (const Nest &nest : nests.take_front(loop.mainIndex)) {
      for (const Node *node : nest.nodes) {
        if (node->stored && node->kind != Kind::Alias) {
          body(node);
        }
      }
    }
  };
  forEachKept(*this, [&](const Node *mine) {
    forEachKept(first, [&](const Node *other) {
      if (matcher.isEqual(mine, other)) {
        shared.try_emplace(mine, other);
      }
    });
  });
}

void SweepLoop::takeNextStates(SweepLoop &first) {
  Matcher matcher(first, *this);
  for (auto [carry, next] : llvm::enumerate(first.getGraph().getYields())) {
    Value trace = matcher.traceOf(carry);
    for (const Node *node : main->nodes) {
      if (trace && isPointwise(node->kind) && !node->floats() &&
          matcher.isEqual(node, next)) {
        nextStates.push_back({node, trace});
        first.tracesLast = true;
      }
    }
  }
}

} // namespace recurra::cpu
