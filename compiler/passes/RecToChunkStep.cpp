// Tiles from rec values: which ops share a map, which become dots.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/RecToChunkStep.h"

#include "compiler/passes/RecToChunkScalar.h"
#include "compiler/rec/Rec.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace recurra;
using namespace recurra::rec;

/// Ops that compute each entry from the operands' entries at the same place.
static bool isElementwise(Operation *op) {
  return isa<rec::AddOp, SubOp, MulOp, DivOp, MaxOp, NegOp, AbsOp, ExpOp, LogOp,
             Expm1Op, Log1pOp, SqrtOp, RsqrtOp, TanhOp, SigmoidOp, SoftplusOp,
             SelectOp>(op);
}

/// Looks through what changes no number and no axis.
static Value skipDetach(Value value) {
  while (auto detach = value.getDefiningOp<DetachOp>()) {
    value = detach.getOperand();
  }
  return value;
}

/// In a map, broadcasting is by name: a broadcast is its operand.
static Value skipBroadcast(Value value) {
  value = skipDetach(value);
  while (auto broadcast = value.getDefiningOp<BroadcastOp>()) {
    value = skipDetach(broadcast.getOperand());
  }
  return value;
}

/// A product may be computed again in each of several adds, subtractions and
/// sums: together they are fused multiply-adds, which cost nothing more.
static bool isRepeatable(Operation *op) {
  return isa<MulOp>(op) && llvm::all_of(op->getUsers(), [&](Operation *user) {
           bool adds = isa<rec::AddOp, SubOp>(user) &&
                       axesOf(user->getResult(0)) == axesOf(op->getResult(0));
           return user->getBlock() == op->getBlock() &&
                  (adds || isa<SumOp>(user));
         });
}

/// The outer product p q that `value` is, if neither factor has all its axes
/// and only adds use it.
static MulOp findOuterProduct(Value value) {
  auto mul = value.getDefiningOp<MulOp>();
  if (!mul || !(value.hasOneUse() || isRepeatable(mul))) {
    return {};
  }
  size_t rank = axesOf(value).size();
  bool outer =
      axesOf(mul.getLhs()).size() < rank && axesOf(mul.getRhs()).size() < rank;
  return outer ? mul : MulOp();
}

/// The product that an add turns into `dot over [] into` the other operand.
static MulOp findAccumulated(rec::AddOp add, Value &accumulator) {
  size_t rank = axesOf(add.getResult()).size();
  for (unsigned i : {1u, 0u}) {
    Value other = add->getOperand(1 - i);
    MulOp mul = findOuterProduct(add->getOperand(i));
    if (mul && rank > 1 && axesOf(add->getOperand(i)).size() == rank &&
        axesOf(other).size() == rank && !other.getDefiningOp<ConstOp>()) {
      accumulator = other;
      return mul;
    }
  }
  return {};
}

/// True if a sum of `value` is two dots, one added to the other.
static bool isSumOfProducts(Value value) {
  auto add = value.getDefiningOp<rec::AddOp>();
  return add && value.hasOneUse() &&
         llvm::all_of(add->getOperands(), [&](Value operand) {
           auto mul = operand.getDefiningOp<MulOp>();
           return mul && mul->getBlock() == add->getBlock() &&
                  axesOf(operand) == axesOf(value) &&
                  (operand.hasOneUse() || isRepeatable(mul));
         });
}

/// True if `user` computes `op` as a part of itself.
static bool isPartOf(Operation *op, Operation *user) {
  if (isa<SumOp>(user)) {
    return isa<MulOp>(op) || isSumOfProducts(op->getResult(0));
  }
  if (!isElementwise(user) ||
      axesOf(user->getResult(0)) != axesOf(op->getResult(0))) {
    return false;
  }
  // What a dot `over []` adds to is a tile of its own.
  Value accumulator;
  if (auto add = dyn_cast<rec::AddOp>(user)) {
    if (MulOp mul = findAccumulated(add, accumulator)) {
      return mul == op;
    }
  }
  return true;
}

/// True if the users of `op` compute it as a part of themselves.
static bool isAbsorbed(Operation *op) {
  if (isa<ConstOp, ExtentOp, DetachOp, BroadcastOp, CmpOp>(op)) {
    return true;
  }
  if (!isElementwise(op) || !(op->hasOneUse() || isRepeatable(op))) {
    return false;
  }
  return llvm::all_of(op->getUsers(), [&](Operation *user) {
    return user->getBlock() == op->getBlock() && isPartOf(op, user);
  });
}

//===----------------------------------------------------------------------===//
// Types and pieces
//===----------------------------------------------------------------------===//

std::int64_t StepEmitter::sizeOf(StringRef axis) const {
  return isTiled(axis) ? plan.tile : extentOf(spec, axis);
}

Type StepEmitter::element() const {
  return spec.computeType() == DType::F64 ? Type(builder.getF64Type())
                                          : builder.getF32Type();
}

chunk::TileType StepEmitter::tileType(ArrayRef<StringAttr> axes) const {
  SmallVector<std::pair<StringRef, int64_t>> sized;
  for (StringAttr axis : axes) {
    sized.emplace_back(axis, sizeOf(axis));
  }
  return chunk::TileType::getSorted(builder.getContext(), sized, element());
}

chunk::TileType StepEmitter::tileType(ArrayRef<std::string> axes) const {
  SmallVector<std::pair<StringRef, int64_t>> sized;
  for (const std::string &axis : axes) {
    sized.emplace_back(axis, sizeOf(axis));
  }
  return chunk::TileType::getSorted(builder.getContext(), sized, element());
}

Value StepEmitter::fill(Location loc, double value, chunk::TileType type) {
  return chunk::FillOp::create(builder, loc, type,
                               builder.getF64FloatAttr(value));
}

Value StepEmitter::first(Value tile) {
  return chunk::FirstOp::create(builder, tile.getLoc(), tile.getType(), tile,
                                tileSpan);
}

Value StepEmitter::getAs(Value value, Part part) {
  bool zero = constantOf(value) == 0.0;
  return part == Part::Sum && partOf(value) == Part::Same && tileSpan && !zero
             ? first(get(value))
             : get(value);
}

bool StepEmitter::needsFirst(Operation *op, Value operand) const {
  return tileSpan && partOf(op->getResult(0)) == Part::Sum &&
         isa<rec::AddOp, SubOp, SelectOp>(op) &&
         isa<ValType>(operand.getType()) && partOf(operand) == Part::Same &&
         constantOf(operand) != 0.0;
}

/// Zero (for a maximum: -inf) in the padding of the tiled axis, where a sum
/// over it would meet whatever stands there.
Value StepEmitter::clean(Value tile, ArrayAttr over, bool isMax) {
  bool reduced = llvm::any_of(over.getAsRange<StringAttr>(),
                              [&](StringAttr a) { return isTiled(a); });
  auto type = cast<chunk::TileType>(tile.getType());
  if (!tileSpan || !reduced || !type.hasAxis(plan.axis) ||
      extentOf(spec, plan.axis) % plan.tile == 0) {
    return tile;
  }
  auto mask = chunk::MaskOp::create(builder, tile.getLoc(), type, tile,
                                    tileSpan, isMax);
  return mask;
}

//===----------------------------------------------------------------------===//
// Maps
//===----------------------------------------------------------------------===//

struct StepEmitter::MapBuilder {
  StepEmitter &step;
  /// What the map reads (true: in the first task only), in order of arguments.
  SmallVector<std::pair<Value, bool>> leaves;

  unsigned position(Value leaf, bool once) {
    auto *found = llvm::find(leaves, std::pair(leaf, once));
    if (found == leaves.end()) {
      leaves.emplace_back(leaf, once);
      return leaves.size() - 1;
    }
    return found - leaves.begin();
  }

  /// Decides whether an operand is computed inside the map.
  bool isInside(Operation *user, Value operand) {
    Operation *op = operand.getDefiningOp();
    if (op && isa<ConstOp, ExtentOp, CmpOp>(op)) {
      return true;
    }
    return op && !step.tiles.contains(operand) && isAbsorbed(op) &&
           isElementwise(op) && !step.needsFirst(user, operand);
  }

  void gather(Operation *op) {
    for (Value raw : op->getOperands()) {
      Value operand = skipBroadcast(raw);
      if (isInside(op, operand)) {
        gather(operand.getDefiningOp());
      } else {
        position(operand, step.needsFirst(op, raw));
      }
    }
  }

  Value compute(OpBuilder &builder, Block &block, Operation *op) {
    SmallVector<Value> operands;
    for (Value raw : op->getOperands()) {
      Value operand = skipBroadcast(raw);
      if (isInside(op, operand)) {
        operands.push_back(compute(builder, block, operand.getDefiningOp()));
      } else {
        operands.push_back(
            block.getArgument(position(operand, step.needsFirst(op, raw))));
      }
    }
    if (auto extent = dyn_cast<ExtentOp>(op)) {
      return emitNumber(builder, op->getLoc(),
                        extentOf(step.spec, extent.getAxis()), step.element());
    }
    return emitScalar(builder, op, operands, step.element());
  }
};

Value StepEmitter::emitMap(Value value) {
  Operation *op = value.getDefiningOp();
  MapBuilder map{*this, {}};
  map.gather(op);
  SmallVector<Value> inputs;
  for (auto [leaf, once] : map.leaves) {
    Value tile = get(leaf);
    inputs.push_back(once ? first(tile) : tile);
  }
  auto result = chunk::MapOp::create(builder, op->getLoc(),
                                     tileType(axesOf(value)), inputs);
  OpBuilder inside = OpBuilder::atBlockEnd(&result.getBlock());
  Value number = map.compute(inside, result.getBlock(), op);
  chunk::YieldOp::create(inside, op->getLoc(), number);
  return result.getResult();
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// The sum of a product over some axes, added to `into` unless that is null.
Value StepEmitter::emitDot(MulOp mul, SumOp op, Value into) {
  Value lhs = clean(get(mul.getLhs()), op.getAxes(), false);
  Value rhs = mul.getLhs() == mul.getRhs()
                  ? lhs
                  : clean(get(mul.getRhs()), op.getAxes(), false);
  return chunk::DotOp::create(builder, op.getLoc(),
                              tileType(axesOf(op.getResult())), lhs, rhs,
                              op.getAxes(), into);
}

Value StepEmitter::emitSum(SumOp op) {
  Value operand = op.getOperand();
  Operation *producer = operand.getDefiningOp();
  if (producer && isAbsorbed(producer) && !tiles.contains(operand)) {
    if (auto mul = dyn_cast<MulOp>(producer)) {
      return emitDot(mul, op, {});
    }
    if (isSumOfProducts(operand) && partOf(operand) != Part::Sum) {
      Value first =
          emitDot(producer->getOperand(0).getDefiningOp<MulOp>(), op, {});
      return emitDot(producer->getOperand(1).getDefiningOp<MulOp>(), op, first);
    }
  }
  Value input = clean(get(operand), op.getAxes(), false);
  return chunk::ReduceOp::create(
      builder, op.getLoc(), tileType(axesOf(op.getResult())),
      builder.getStringAttr("add"), input, op.getAxes());
}

Value StepEmitter::emitAmax(AmaxOp op) {
  Value input = clean(get(op.getOperand()), op.getAxes(), true);
  return chunk::ReduceOp::create(
      builder, op.getLoc(), tileType(axesOf(op.getResult())),
      builder.getStringAttr("max"), input, op.getAxes());
}

/// An outer product added to a tile is a dot over no axis; null if it is not.
Value StepEmitter::emitAdd(rec::AddOp op) {
  Value accumulator;
  MulOp mul = findAccumulated(op, accumulator);
  if (!mul || !isAbsorbed(mul) || tiles.contains(mul.getResult()) ||
      needsFirst(op, op.getLhs()) || needsFirst(op, op.getRhs())) {
    return {};
  }
  Value into = get(accumulator);
  Value lhs = get(mul.getLhs()), rhs = get(mul.getRhs());
  return chunk::DotOp::create(builder, op.getLoc(), into.getType(), lhs, rhs,
                              builder.getArrayAttr({}), into);
}

Value StepEmitter::emit(Operation *op) {
  Location loc = op->getLoc();
  Type type = tileType(axesOf(op->getResult(0)));
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](ConstOp op) {
        return fill(loc, op.getValue().convertToDouble(),
                    cast<chunk::TileType>(type));
      })
      .Case([&](ExtentOp op) {
        return fill(loc, extentOf(spec, op.getAxis()),
                    cast<chunk::TileType>(type));
      })
      .Case([&](DetachOp op) { return get(op.getOperand()); })
      .Case([&](BroadcastOp op) {
        Value input = get(op.getOperand());
        auto map = chunk::MapOp::create(
            builder, loc, cast<chunk::TileType>(type), ValueRange(input));
        OpBuilder inside = OpBuilder::atBlockEnd(&map.getBlock());
        chunk::YieldOp::create(inside, loc,
                               ValueRange(map.getBlock().getArgument(0)));
        return map.getResult();
      })
      .Case([&](SumOp op) { return emitSum(op); })
      .Case([&](AmaxOp op) { return emitAmax(op); })
      .Case([&](RenameOp op) {
        return chunk::RenameOp::create(builder, loc, type, get(op.getOperand()),
                                       op.getFrom(), op.getTo());
      })
      .Case([&](IndexOp op) {
        return chunk::IndexOp::create(builder, loc, type, get(op.getOperand()),
                                      op.getAxis(), op.getPosition());
      })
      .Case([&](PlaceOp op) {
        return chunk::PlaceOp::create(builder, loc, type, get(op.getOperand()),
                                      op.getAxis(), op.getPosition());
      })
      .Case([&](rec::AddOp op) {
        Value dot = emitAdd(op);
        return dot ? dot : emitMap(op.getResult());
      })
      .Default([&](Operation *op) { return emitMap(op->getResult(0)); });
}

Value StepEmitter::get(Value value) {
  value = skipDetach(value);
  auto found = tiles.find(value);
  if (found != tiles.end()) {
    return found->second;
  }
  Value tile = emit(value.getDefiningOp());
  tiles[value] = tile;
  return tile;
}

static size_t largestRank(Block &block) {
  size_t largest = 0;
  for (Value argument : block.getArguments()) {
    largest = std::max(largest, axesOf(argument).size());
  }
  return largest;
}

bool StepEmitter::isSmall(BlockArgument token) {
  return axesOf(token).size() < largestRank(*token.getOwner());
}

void StepEmitter::emitSmall(Block &block) {
  size_t largest = largestRank(block);
  llvm::DenseSet<Value> small;
  for (Operation &op : block.without_terminator()) {
    auto isKnown = [&](Value value) {
      return axesOf(value).size() < largest &&
             (value.getParentBlock() != &block || small.contains(value) ||
              isa<BlockArgument>(value));
    };
    if (op.getNumResults() != 1 || axesOf(op.getResult(0)).size() >= largest ||
        !llvm::all_of(op.getOperands(), isKnown)) {
      continue;
    }
    small.insert(op.getResult(0));
    if (!op.use_empty() && !isAbsorbed(&op)) {
      get(op.getResult(0));
    }
  }
}

void StepEmitter::emitBlock(Block &block) {
  for (Operation &op : block.without_terminator()) {
    if (op.getNumResults() == 1 && !op.use_empty() && !isAbsorbed(&op) &&
        !isa<ScanOp>(op)) {
      get(op.getResult(0));
    }
  }
}

void StepEmitter::emitCaptures(Block &block) {
  for (Operation &op : block) {
    for (Value raw : op.getOperands()) {
      Value operand = skipBroadcast(raw);
      Operation *producer = operand.getDefiningOp();
      if (operand.getParentBlock() != &block && producer &&
          !isa<ConstOp, ExtentOp, CmpOp>(producer)) {
        get(operand);
      }
    }
  }
}
