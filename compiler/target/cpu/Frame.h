// What the emitters of one nest function share: the builder, the addresses of
// buffers, run-time sizes, spans, scratch memory, and small arithmetic.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/target/cpu/RunTimeShape.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace recurra::cpu {

class Frame {
public:
  Frame(mlir::OpBuilder &builder, mlir::Location loc, const AxisOrder &order,
        std::int64_t lanes, mlir::Type element)
      : b(builder), loc(loc), order(order), lanes(lanes), element(element) {}

  mlir::OpBuilder &b;
  mlir::Location loc;
  const AxisOrder &order;
  const std::int64_t lanes;
  const mlir::Type element;          ///< of all tiles: f32 or f64
  mlir::Operation *source = nullptr; ///< the forall that is emitted
  mlir::Value scratch;               ///< argument
  mlir::Value rows, tokens, heads, sequences, offsets; ///< KernelShape

  llvm::DenseMap<mlir::Value, Storage> storage; ///< of tiles in scope
  llvm::DenseMap<mlir::Value, SpanInfo> spans;
  llvm::DenseMap<mlir::Value, SequenceInfo> sequenceOf; ///< points of N
  llvm::DenseMap<mlir::Value, View> scratchBuffers;
  /// Carries that live in a trace: at each token the old value is in one slot
  /// and the next one goes to the slot behind it (here).
  llvm::DenseMap<mlir::Value, View> nextHomes;
  /// Stores of such carries to their trace, which write nothing.
  llvm::DenseSet<mlir::Operation *> idleStores;
  struct Buffer {
    mlir::Value data;
    llvm::SmallVector<mlir::Value, 8> strides;
  };
  llvm::DenseMap<mlir::Value, Buffer> buffers;

  // Scratch memory.
  View allocate(llvm::ArrayRef<Axis> axes);
  std::int64_t allocateElements(std::int64_t count);
  std::int64_t getScratchBytes() const { return scratchBytes; }
  std::int64_t elementBytes() const;

  // Buffers and addresses.
  UserView viewOf(mlir::Value buffer, mlir::OperandRange indices,
                  const Axes &axes);
  /// Where a scratch buffer lies; gets its place when first asked for.
  const View &scratchBuffer(mlir::Value buffer);
  /// A whole tile of a scratch buffer; every index has its full length.
  View scratchViewOf(mlir::Value buffer, mlir::OperandRange indices);
  mlir::Value basePointer(const View &view);
  mlir::Value pointer(mlir::Value base, mlir::Type type, mlir::Value index);
  mlir::Value pointer(mlir::Value base, mlir::Type type, std::int64_t index);

  // Loads and stores of scratch; vectors are aligned unless said otherwise.
  mlir::VectorType vectorType() const { return vectorType(element); }
  mlir::VectorType vectorType(mlir::Type of) const {
    return mlir::VectorType::get({lanes}, of);
  }
  mlir::Value loadVector(mlir::Value pointer);
  void storeVector(mlir::Value vector, mlir::Value pointer);
  mlir::Value loadScalar(mlir::Value pointer);
  void storeScalar(mlir::Value scalar, mlir::Value pointer);

  // Arithmetic on i64, folded where constant.
  mlir::Value integer(std::int64_t value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value divide(mlir::Value a, std::int64_t by);
  mlir::Value divideUp(mlir::Value a, std::int64_t by);
  mlir::Value smaller(mlir::Value a, mlir::Value b);
  mlir::Value isLess(mlir::Value a, mlir::Value b);
  mlir::Value isEqual(mlir::Value a, mlir::Value b);

  // Numbers.
  mlir::Value real(double value);
  mlir::Value splat(double value);
  mlir::Value broadcast(mlir::Value scalar);
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);
  /// Lanes first + 0, 1, .. below `limit`, as a vector of i1.
  mlir::Value lanesBelow(mlir::Value first, mlir::Value limit);
  /// Combines by add or max.
  mlir::Value combine(bool isMax, mlir::Value a, mlir::Value b);
  double neutral(bool isMax) const;

private:
  mlir::Value slotOfTokens(mlir::Value span, std::int64_t per);
  mlir::Value position(mlir::Value span, std::int64_t window);

  std::int64_t scratchBytes = 0;
};

} // namespace recurra::cpu
