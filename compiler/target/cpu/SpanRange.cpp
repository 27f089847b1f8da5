// Spans at run time: how many iterations a loop has, where each starts.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cpu/BlockEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace recurra::cpu {

static chunk::SpanType typeOf(Value span) {
  return cast<chunk::SpanType>(span.getType());
}

/// A span of T cut from a point of N, not from another span of T.
static bool isWholeSequence(Value span) {
  Value parent = chunk::getParent(span);
  return parent && typeOf(parent).getAxis() != typeOf(span).getAxis();
}

SpanRange rangeOf(Frame &f, Value span) {
  int64_t step = typeOf(span).getCapacity();
  StringRef axis = typeOf(span).getAxis().getValue();
  Value parent = chunk::getParent(span);
  Value total;
  if (isWholeSequence(span)) {
    total = f.sequenceOf[parent].length;
  } else if (parent) {
    const SpanInfo &outer = f.spans[parent];
    total = outer.valid ? outer.valid : f.integer(outer.capacity);
  } else if (axis == "N") {
    total = f.sequences;
  } else if (axis == "H") {
    total = f.heads;
  } else {
    total = f.integer(chunk::getExtent(f.source, axis));
  }
  return {total, f.divideUp(total, step)};
}

/// Row n from its first token, or, packed, a part of row 0.
static SequenceInfo sequenceAt(Frame &f, Value n) {
  Value null = LLVM::ZeroOp::create(
      f.b, f.loc, LLVM::LLVMPointerType::get(f.b.getContext()));
  Value isPacked = LLVM::ICmpOp::create(f.b, f.loc, LLVM::ICmpPredicate::ne,
                                        f.offsets, null);
  Type i64 = f.b.getI64Type();
  auto ifOp = scf::IfOp::create(
      f.b, f.loc, isPacked,
      [&](OpBuilder &b, Location loc) {
        Value start =
            LLVM::LoadOp::create(b, loc, i64, f.pointer(f.offsets, i64, n));
        Value next = f.pointer(f.offsets, i64, f.add(n, f.integer(1)));
        Value end = LLVM::LoadOp::create(b, loc, i64, next);
        scf::YieldOp::create(
            b, loc, ValueRange{f.integer(0), start, f.sub(end, start), start});
      },
      [&](OpBuilder &b, Location loc) {
        scf::YieldOp::create(
            b, loc, ValueRange{n, f.integer(0), f.tokens, f.mul(n, f.tokens)});
      });
  return {ifOp.getResult(0), ifOp.getResult(1), ifOp.getResult(2),
          ifOp.getResult(3)};
}

void enterSpan(Frame &f, Value span, const SpanRange &range, Value index,
               bool isReverse) {
  SpanInfo info;
  info.axis = typeOf(span).getAxis();
  info.capacity = typeOf(span).getCapacity();
  if (isReverse) {
    index = f.sub(f.sub(range.count, f.integer(1)), index);
  }
  Value relative = f.mul(index, f.integer(info.capacity));
  info.origin = relative;
  Value parent = chunk::getParent(span);
  if (parent && !isWholeSequence(span)) {
    info.origin = f.add(f.spans[parent].origin, relative);
  }
  if (!isAlwaysFull(span)) {
    info.valid =
        f.smaller(f.integer(info.capacity), f.sub(range.total, relative));
  }
  f.spans[span] = info;
  if (info.axis == "N") {
    f.sequenceOf[span] = sequenceAt(f, info.origin);
  }
}

} // namespace recurra::cpu
