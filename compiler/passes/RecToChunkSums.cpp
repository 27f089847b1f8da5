// Sums over tiles, heads and sequences, one forall per loop structure.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/RecToChunkSums.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace recurra;
using namespace recurra::chunk;

SmallVector<Value> recurra::indicesOf(Value buffer, ValueRange spans) {
  SmallVector<Value> indices;
  for (StringAttr axis : cast<BufferType>(buffer.getType()).getNames()) {
    for (Value span : spans) {
      if (span && cast<SpanType>(span.getType()).getAxis() == axis) {
        indices.push_back(span);
      }
    }
  }
  return indices;
}

namespace {

/// The loops that results share.
struct Loops {
  bool perToken = false, perSequence = false, tiled = false;
  Heads heads = Heads::Each;
  auto operator<=>(const Loops &) const = default;
};

class SumEmitter {
public:
  SumEmitter(StepEmitter &step, const Spec &spec, const Plan &plan,
             const Loops &loops)
      : step(step), builder(step.builder), spec(spec), plan(plan),
        loops(loops) {}

  void emit(ArrayRef<PartialResult> results);

private:
  Value one(const PartialResult &result, Value head);
  Value overHeads(const PartialResult &result);
  Value overSequences(const PartialResult &result);
  void store(const PartialResult &result);
  Value accumulate(Value sum, Value term);
  /// A loop over a root axis, or over the entries of `parent`, that adds up.
  template <typename Term>
  Value loop(const PartialResult &result, StringRef axis, Value parent,
             Term term);
  Location locOf(const PartialResult &result) {
    return result.port->buffer.getLoc();
  }

  StepEmitter &step;
  OpBuilder &builder;
  const Spec &spec;
  const Plan &plan;
  const Loops &loops;
  Value sequence, head, tile, token;
};

Value SumEmitter::accumulate(Value sum, Value term) {
  auto type = cast<TileType>(sum.getType());
  auto map = MapOp::create(builder, term.getLoc(), type, ValueRange{sum, term});
  OpBuilder inside = OpBuilder::atBlockEnd(&map.getBlock());
  Value added = arith::AddFOp::create(inside, term.getLoc(),
                                      map.getBlock().getArguments());
  YieldOp::create(inside, term.getLoc(), added);
  return map.getResult();
}

template <typename Term>
Value SumEmitter::loop(const PartialResult &result, StringRef axis,
                       Value parent, Term term) {
  Location loc = locOf(result);
  Value zero = step.fill(loc, 0, step.tileType(result.port->axes));
  auto op = ForOp::create(builder, loc, axis, 1, parent, false, zero);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&op.getBlock());
  Value sum = accumulate(op.getCarries().front(), term(op.getSpan()));
  YieldOp::create(builder, loc, sum);
  return op.getResult(0);
}

/// What one head (and sequence or token) stored, added over the tiles.
Value SumEmitter::one(const PartialResult &result, Value head) {
  Location loc = locOf(result);
  TileType type = step.tileType(result.port->axes);
  TileType stored = type;
  bool slots = result.part == Part::Sum && plan.tile != 0;
  if (slots) {
    std::int64_t extent = extentOf(spec, plan.axis);
    stored = type.addAxis(plan.axis, (extent + plan.tile - 1) / plan.tile);
  }
  auto indices = indicesOf(result.workspace,
                           {token, sequence, head, slots ? Value() : tile});
  Value value = LoadOp::create(builder, loc, stored, result.workspace, indices);
  return slots ? ReduceOp::create(builder, loc, type,
                                  builder.getStringAttr("add"), value,
                                  builder.getStrArrayAttr({plan.axis}))
               : value;
}

Value SumEmitter::overHeads(const PartialResult &result) {
  auto term = [&](Value head) { return one(result, head); };
  switch (loops.heads) {
  case Heads::Each:
    return one(result, head);
  case Heads::Group:
    return loop(result, "H", head, term);
  case Heads::All:
    return loop(result, "H", {}, term);
  }
  return {};
}

Value SumEmitter::overSequences(const PartialResult &result) {
  if (loops.perToken || loops.perSequence) {
    return overHeads(result);
  }
  return loop(result, "N", {}, [&](Value span) {
    sequence = span;
    return overHeads(result);
  });
}

void SumEmitter::store(const PartialResult &result) {
  Value value = overSequences(result);
  Value buffer = result.port->buffer;
  Value slot = loops.perSequence ? sequence : Value();
  StoreOp::create(builder, locOf(result), value, buffer,
                  indicesOf(buffer, {token, slot, head, tile}));
}

void SumEmitter::emit(ArrayRef<PartialResult> results) {
  SmallVector<StringRef> axes;
  SmallVector<int64_t> steps;
  auto add = [&](StringRef axis, int64_t step) {
    axes.push_back(axis);
    steps.push_back(step);
  };
  if (loops.perToken || loops.perSequence) {
    add("N", 1);
  }
  if (loops.heads != Heads::All) {
    add("H", loops.heads == Heads::Group ? spec.group : 1);
  }
  if (loops.tiled) {
    add(plan.axis, plan.tile);
  }
  Location loc = locOf(results.front());
  auto forall = ForallOp::create(builder, loc, axes, steps,
                                 SmallVector<Value>(axes.size()));
  if (!plan.axis.empty()) {
    forall->setAttr("schedule",
                    builder.getDictionaryAttr(builder.getNamedAttr(
                        "cpu.lanes", builder.getStringAttr(plan.axis))));
  }
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(forall.getBlock().getTerminator());
  for (BlockArgument span : forall.getBlock().getArguments()) {
    StringRef axis = cast<SpanType>(span.getType()).getAxis();
    (axis == "N" ? sequence : axis == "H" ? head : tile) = span;
  }
  if (loops.perToken) {
    auto tokens =
        ForOp::create(builder, loc, "T", 1, sequence, false, ValueRange());
    builder.setInsertionPointToEnd(&tokens.getBlock());
    YieldOp::create(builder, loc);
    builder.setInsertionPoint(tokens.getBlock().getTerminator());
    token = tokens.getSpan();
  }
  for (const PartialResult &result : results) {
    store(result);
  }
}

} // namespace

void recurra::emitSums(StepEmitter &step, const Spec &spec, const Plan &plan,
                       ArrayRef<PartialResult> results) {
  std::map<Loops, SmallVector<PartialResult>> groups;
  for (const PartialResult &result : results) {
    bool tiled = plan.tile != 0 && result.part == Part::Tile;
    groups[{result.port->perToken,
            !result.port->perToken && !result.port->sharing.sequences, tiled,
            result.port->sharing.heads}]
        .push_back(result);
  }
  for (auto &[loops, members] : groups) {
    SumEmitter(step, spec, plan, loops).emit(members);
  }
}
