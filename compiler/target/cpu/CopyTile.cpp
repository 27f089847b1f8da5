// Two versions of each copy, chosen at run time by the lane axis's stride:
// whole vectors with a masked tail if it is 1, else one element at a time.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cpu/CopyTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace recurra::cpu {

namespace {

//===----------------------------------------------------------------------===//
// Element types
//===----------------------------------------------------------------------===//

Type withElement(Type like, Type element) {
  auto vector = dyn_cast<VectorType>(like);
  return vector ? Type(vector.clone(element)) : element;
}

/// bf16 travels as i16: its conversions are integer arithmetic, so that no CPU
/// needs a library call for them.
Type memoryType(OpBuilder &b, Type element) {
  return element.isBF16() ? b.getIntegerType(16) : element;
}

class Conversion {
public:
  Conversion(Frame &frame, Type stored)
      : frame(frame), b(frame.b), loc(frame.loc), stored(stored) {}

  Value in(Value raw) {
    if (stored.isBF16()) {
      raw = widenBF16(raw);
    } else if (stored.isF16()) {
      raw = extend(raw, b.getF32Type());
    }
    Type have = getElementTypeOrSelf(raw);
    if (have == frame.element) {
      return raw;
    }
    return frame.element.isF64() ? extend(raw, frame.element)
                                 : truncate(raw, frame.element);
  }

  Value out(Value value) {
    if (stored == frame.element) {
      return value;
    }
    if (stored.isF64()) {
      return extend(value, stored);
    }
    if (frame.element.isF64()) {
      value = truncate(value, b.getF32Type());
    }
    return stored.isBF16()  ? narrowBF16(value)
           : stored.isF16() ? truncate(value, stored)
                            : value;
  }

private:
  Value extend(Value value, Type to) {
    return arith::ExtFOp::create(b, loc, withElement(value.getType(), to),
                                 value);
  }
  Value truncate(Value value, Type to) {
    return arith::TruncFOp::create(b, loc, withElement(value.getType(), to),
                                   value);
  }
  Value bits(int64_t value, Type like) {
    Attribute scalar = b.getI32IntegerAttr(value);
    if (auto vector = dyn_cast<VectorType>(like)) {
      return arith::ConstantOp::create(b, loc, vector,
                                       DenseElementsAttr::get(vector, scalar));
    }
    return arith::ConstantOp::create(b, loc, like, cast<TypedAttr>(scalar));
  }
  Value widenBF16(Value raw) {
    Type wide = withElement(raw.getType(), b.getI32Type());
    Value extended = arith::ExtUIOp::create(b, loc, wide, raw);
    Value shifted = arith::ShLIOp::create(b, loc, extended, bits(16, wide));
    return arith::BitcastOp::create(b, loc, withElement(wide, b.getF32Type()),
                                    shifted);
  }
  /// To nearest even: add half an ulp, less one if the last bit kept is 0.
  Value narrowBF16(Value value) {
    Type wide = withElement(value.getType(), b.getI32Type());
    Value raw = arith::BitcastOp::create(b, loc, wide, value);
    Value high = arith::ShRUIOp::create(b, loc, raw, bits(16, wide));
    Value odd = arith::AndIOp::create(b, loc, high, bits(1, wide));
    Value half = arith::AddIOp::create(b, loc, odd, bits(0x7fff, wide));
    Value sum = arith::AddIOp::create(b, loc, raw, half);
    Value rounded = arith::ShRUIOp::create(b, loc, sum, bits(16, wide));
    Value isNan =
        arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, value, value);
    Value chosen =
        arith::SelectOp::create(b, loc, isNan, bits(0x7fc0, wide), rounded);
    return arith::TruncIOp::create(
        b, loc, withElement(wide, b.getIntegerType(16)), chosen);
  }

  Frame &frame;
  OpBuilder &b;
  Location loc;
  Type stored;
};

//===----------------------------------------------------------------------===//
// The copy
//===----------------------------------------------------------------------===//

class Copy {
public:
  Copy(Frame &frame, const UserView &user, const View &home, const Axes &axes,
       bool isIn)
      : f(frame), user(user), home(home), axes(axes), isIn(isIn),
        convert(frame, user.element) {
    memory = memoryType(f.b, user.element);
  }

  void emit() {
    if (isIn &&
        llvm::any_of(user.steps, [](const auto &step) { return step.valid; })) {
      fillDense(f, home, axes, f.splat(0));
    }
    if (home.stride(lane().axis.name) != 1) {
      rows(0, user.base, f.basePointer(home), /*vectors=*/false);
      return;
    }
    Value isUnit = f.isEqual(lane().stride, f.integer(1));
    auto branch = [&](bool vectors) {
      return [this, vectors](OpBuilder &, Location) {
        rows(0, user.base, f.basePointer(home), vectors);
        scf::YieldOp::create(f.b, f.loc);
      };
    };
    OpBuilder::InsertionGuard guard(f.b);
    scf::IfOp::create(f.b, f.loc, isUnit, branch(true), branch(false));
  }

private:
  const UserView::Step &lane() const { return user.steps.back(); }

  Value bound(const UserView::Step &step) {
    return step.valid ? step.valid : f.integer(step.axis.size);
  }

  void rows(unsigned level, Value userRow, Value homeRow, bool vectors) {
    if (level + 1 == user.steps.size()) {
      vectors ? vectorRow(userRow, homeRow) : scalarRow(userRow, homeRow);
      return;
    }
    const UserView::Step &row = user.steps[level];
    loop(bound(row), [&](Value index) {
      Value stride = f.integer(home.stride(row.axis.name));
      rows(level + 1, f.pointer(userRow, memory, f.mul(index, row.stride)),
           f.pointer(homeRow, f.element, f.mul(index, stride)), vectors);
    });
  }

  void loop(Value count, llvm::function_ref<void(Value)> body) {
    auto forOp =
        scf::ForOp::create(f.b, f.loc, f.integer(0), count, f.integer(1));
    OpBuilder::InsertionGuard guard(f.b);
    f.b.setInsertionPointToStart(forOp.getBody());
    body(forOp.getInductionVar());
  }

  /// Of a tile, eight elements an iteration, if all exist and their number
  /// allows it; a vector alone, which is seldom strided, is not worth the code.
  void scalarRow(Value userRow, Value homeRow) {
    constexpr int64_t together = 8;
    int64_t size = lane().axis.size;
    if (user.steps.size() == 1 || lane().valid || size % together != 0) {
      loop(bound(lane()),
           [&](Value index) { oneScalar(userRow, homeRow, index); });
      return;
    }
    loop(f.integer(size / together), [&](Value block) {
      Value first = f.mul(block, f.integer(together));
      for (int64_t i = 0; i < together; ++i) {
        oneScalar(userRow, homeRow, f.add(first, f.integer(i)));
      }
    });
  }

  void oneScalar(Value userRow, Value homeRow, Value index) {
    Value stride = f.integer(home.stride(lane().axis.name));
    Value outside = f.pointer(userRow, memory, f.mul(index, lane().stride));
    Value inside = f.pointer(homeRow, f.element, f.mul(index, stride));
    if (isIn) {
      Value raw = LLVM::LoadOp::create(f.b, f.loc, memory, outside);
      f.storeScalar(convert.in(raw), inside);
    } else {
      Value value = convert.out(f.loadScalar(inside));
      LLVM::StoreOp::create(f.b, f.loc, value, outside);
    }
  }

  void vectorRow(Value userRow, Value homeRow) {
    int64_t size = lane().axis.size;
    int64_t whole = lane().valid ? 0 : size / f.lanes;
    if (whole > 4) {
      auto forOp =
          scf::ForOp::create(f.b, f.loc, f.integer(0),
                             f.integer(whole * f.lanes), f.integer(f.lanes));
      OpBuilder::InsertionGuard guard(f.b);
      f.b.setInsertionPointToStart(forOp.getBody());
      oneVector(userRow, homeRow, forOp.getInductionVar(), Value());
    } else {
      for (int64_t i = 0; i < whole; ++i) {
        oneVector(userRow, homeRow, f.integer(i * f.lanes), Value());
      }
    }
    for (int64_t i = whole * f.lanes; i < size; i += f.lanes) {
      Value first = f.integer(i);
      oneVector(userRow, homeRow, first, f.lanesBelow(first, bound(lane())));
    }
  }

  void oneVector(Value userRow, Value homeRow, Value first, Value mask) {
    Value outside = f.pointer(userRow, memory, first);
    Value inside = f.pointer(homeRow, f.element, first);
    VectorType type = f.vectorType(memory);
    unsigned bytes = memory.getIntOrFloatBitWidth() / 8;
    if (!isIn) {
      Value value = convert.out(f.loadVector(inside));
      if (mask) {
        LLVM::MaskedStoreOp::create(f.b, f.loc, value, outside, mask, bytes);
      } else {
        LLVM::StoreOp::create(f.b, f.loc, value, outside, bytes);
      }
      return;
    }
    Value raw;
    if (mask) {
      Value zero =
          arith::ConstantOp::create(f.b, f.loc, type, f.b.getZeroAttr(type));
      raw = LLVM::MaskedLoadOp::create(f.b, f.loc, type, outside, mask, zero,
                                       f.b.getI32IntegerAttr(bytes));
    } else {
      raw = LLVM::LoadOp::create(f.b, f.loc, type, outside, bytes);
    }
    f.storeVector(convert.in(raw), inside);
  }

  Frame &f;
  const UserView &user;
  const View &home;
  const Axes &axes;
  bool isIn;
  Conversion convert;
  Type memory;
};

/// Calls `body` with the element offset of each vector of a dense tile.
void forEachVector(Frame &f, const Axes &axes,
                   llvm::function_ref<void(Value)> body) {
  int64_t count = paddedElements(axes, f.lanes);
  auto forOp = scf::ForOp::create(f.b, f.loc, f.integer(0), f.integer(count),
                                  f.integer(f.lanes));
  OpBuilder::InsertionGuard guard(f.b);
  f.b.setInsertionPointToStart(forOp.getBody());
  body(forOp.getInductionVar());
}

} // namespace

Value copyIn(Frame &f, const UserView &from, const View &home,
             const Axes &axes) {
  if (!axes.empty()) {
    Copy(f, from, home, axes, /*isIn=*/true).emit();
    return {};
  }
  Type memory = memoryType(f.b, from.element);
  Value raw = LLVM::LoadOp::create(f.b, f.loc, memory, from.base);
  return Conversion(f, from.element).in(raw);
}

void copyOut(Frame &f, const UserView &to, const View &home, const Axes &axes,
             Value scalar) {
  if (!axes.empty()) {
    Copy(f, to, home, axes, /*isIn=*/false).emit();
    return;
  }
  Value value = Conversion(f, to.element).out(scalar);
  LLVM::StoreOp::create(f.b, f.loc, value, to.base);
}

void copyDense(Frame &f, const View &from, const View &to, const Axes &axes) {
  Value source = f.basePointer(from), target = f.basePointer(to);
  forEachVector(f, axes, [&](Value index) {
    Value vector = f.loadVector(f.pointer(source, f.element, index));
    f.storeVector(vector, f.pointer(target, f.element, index));
  });
}

void fillDense(Frame &f, const View &home, const Axes &axes, Value vector) {
  Value target = f.basePointer(home);
  forEachVector(f, axes, [&](Value index) {
    f.storeVector(vector, f.pointer(target, f.element, index));
  });
}

} // namespace recurra::cpu
