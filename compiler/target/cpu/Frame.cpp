// Arithmetic and scratch memory of a nest function.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cpu/Frame.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>

using namespace mlir;

namespace recurra::cpu {

//===----------------------------------------------------------------------===//
// Scratch memory
//===----------------------------------------------------------------------===//

int64_t Frame::elementBytes() const { return element.isF64() ? 8 : 4; }

int64_t Frame::allocateElements(int64_t count) {
  // Five lines of distance: tiles of 4 KiB multiples would otherwise have
  // equal low address bits, and a load would wait for the other tile's store.
  int64_t offset = scratchBytes;
  scratchBytes += ceilDiv(count * elementBytes(), 64) * 64 + 320;
  return offset;
}

View Frame::allocate(ArrayRef<Axis> axes) {
  View view = makeDenseView(axes, lanes);
  view.offset = allocateElements(paddedElements(axes, lanes));
  return view;
}

Value Frame::basePointer(const View &view) {
  if (view.base) {
    return view.base;
  }
  return pointer(scratch, b.getI8Type(), view.offset);
}

Value Frame::pointer(Value base, Type type, Value index) {
  APInt constant;
  if (matchPattern(index, m_ConstantInt(&constant))) {
    return pointer(base, type, constant.getSExtValue());
  }
  auto pointerType = LLVM::LLVMPointerType::get(b.getContext());
  return LLVM::GEPOp::create(b, loc, pointerType, type, base,
                             ArrayRef<LLVM::GEPArg>{index});
}

Value Frame::pointer(Value base, Type type, int64_t index) {
  if (index == 0) {
    return base;
  }
  if (index != static_cast<int32_t>(index)) {
    Value large = LLVM::ConstantOp::create(b, loc, b.getI64Type(), index);
    auto pointerType = LLVM::LLVMPointerType::get(b.getContext());
    return LLVM::GEPOp::create(b, loc, pointerType, type, base,
                               ArrayRef<LLVM::GEPArg>{large});
  }
  auto pointerType = LLVM::LLVMPointerType::get(b.getContext());
  return LLVM::GEPOp::create(
      b, loc, pointerType, type, base,
      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)});
}

Value Frame::loadVector(Value pointer) {
  return LLVM::LoadOp::create(b, loc, vectorType(), pointer,
                              lanes * elementBytes());
}

void Frame::storeVector(Value vector, Value pointer) {
  LLVM::StoreOp::create(b, loc, vector, pointer, lanes * elementBytes());
}

Value Frame::loadScalar(Value pointer) {
  return LLVM::LoadOp::create(b, loc, element, pointer);
}

void Frame::storeScalar(Value scalar, Value pointer) {
  LLVM::StoreOp::create(b, loc, scalar, pointer);
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Value Frame::integer(int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value));
}

Value Frame::add(Value x, Value y) {
  return b.createOrFold<arith::AddIOp>(loc, x, y);
}

Value Frame::sub(Value x, Value y) {
  return b.createOrFold<arith::SubIOp>(loc, x, y);
}

Value Frame::mul(Value x, Value y) {
  return b.createOrFold<arith::MulIOp>(loc, x, y);
}

Value Frame::divide(Value a, int64_t by) {
  // Unsigned: positions are never negative, and powers of two become shifts.
  return by == 1 ? a : b.createOrFold<arith::DivUIOp>(loc, a, integer(by));
}

Value Frame::divideUp(Value a, int64_t by) {
  return by == 1 ? a : divide(add(a, integer(by - 1)), by);
}

Value Frame::smaller(Value x, Value y) {
  return b.createOrFold<arith::MinSIOp>(loc, x, y);
}

Value Frame::isLess(Value x, Value y) {
  return b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, x, y);
}

Value Frame::isEqual(Value x, Value y) {
  return b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, x, y);
}

Value Frame::real(double value) {
  return arith::ConstantOp::create(b, loc, b.getFloatAttr(element, value));
}

Value Frame::splat(double value) {
  VectorType type = vectorType();
  return arith::ConstantOp::create(
      b, loc, type,
      DenseElementsAttr::get(type, Attribute(b.getFloatAttr(element, value))));
}

Value Frame::broadcast(Value scalar) {
  return vector::BroadcastOp::create(b, loc, vectorType(scalar.getType()),
                                     scalar);
}

Value Frame::select(Value condition, Value x, Value y) {
  return arith::SelectOp::create(b, loc, condition, x, y);
}

Value Frame::lanesBelow(Value first, Value limit) {
  // Differences fit 32 bits as they are cut to [0, lanes] first.
  Value count =
      b.createOrFold<arith::MaxSIOp>(loc, sub(limit, first), integer(0));
  count = smaller(count, integer(lanes));
  Value count32 = arith::TruncIOp::create(b, loc, b.getI32Type(), count);
  SmallVector<int32_t> indices(lanes);
  for (int64_t i = 0; i < lanes; ++i) {
    indices[i] = i;
  }
  VectorType type = vectorType(b.getI32Type());
  Value iota = arith::ConstantOp::create(
      b, loc, type, DenseElementsAttr::get(type, ArrayRef<int32_t>(indices)));
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, iota,
                               broadcast(count32));
}

Value Frame::combine(bool isMax, Value x, Value y) {
  if (isMax) {
    return arith::MaximumFOp::create(b, loc, x, y);
  }
  return arith::AddFOp::create(b, loc, x, y);
}

double Frame::neutral(bool isMax) const {
  return isMax ? -std::numeric_limits<double>::infinity() : 0.0;
}

} // namespace recurra::cpu
