// What the printers of one kernel share: names of values, spans and buffers,
// where tiles are kept, and loops over what a lane holds of them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/target/cpu/BodyGraph.h"
#include "compiler/target/cuda/KernelText.h"
#include "compiler/target/cuda/LaneLayout.h"
#include "compiler/target/cuda/SpanText.h"

namespace recurra::cuda {

/// A variable of each lane: a number, or an array with one dimension per step
/// (a lane axis of one row has none).
struct Home {
  std::string name;
  struct Step {
    Axis axis;
    std::int64_t fixed = -1; ///< this position alone, if not negative
  };
  llvm::SmallVector<Step, 4> steps;
};

/// Memory as one tile sees it: a typed pointer to its first element, and what
/// to add per axis.
struct MemoryView {
  std::string pointer;
  bool isReadOnly = false; ///< nothing in the kernel writes there
  struct Step {
    Axis axis;
    std::string stride, valid;
  };
  llvm::SmallVector<Step, 4> steps;
};

/// An index per axis: of the row, for the lane axis.
using Point = llvm::SmallVector<std::pair<mlir::StringAttr, std::string>, 4>;

/// The type of an element of the user's memory.
std::string storedName(mlir::Type element);

class TileMemory;

class KernelFrame {
public:
  KernelFrame(chunk::ForallOp forall, const cpu::AxisOrder &order)
      : source(forall), order(order), layout(forall) {}

  chunk::ForallOp source;
  const cpu::AxisOrder &order;
  LaneLayout layout;
  TileMemory *memory = nullptr; ///< if the kernel has its own way
  KernelText text;
  llvm::DenseMap<mlir::Value, Home> homes; ///< of tiles in scope
  llvm::DenseMap<mlir::Value, SpanText> spans;
  llvm::DenseMap<mlir::Value, SequenceText> sequences; ///< points of N
  llvm::DenseMap<mlir::Value, std::string> buffers;
  struct Scratch {
    std::string name;
    llvm::SmallVector<std::int64_t, 4> strides;
  };
  llvm::DenseMap<mlir::Value, Scratch> scratch;

  std::string typeName(mlir::Type element) const;
  std::string dimensions(const Home &home) const;
  Home makeHome(llvm::StringRef hint, const Axes &axes);
  /// Prints the declaration; `start` is what every element is first, if given.
  void declare(const Home &home, mlir::Type element,
               llvm::StringRef start = "");
  std::string at(const Home &home, const Point &point) const;
  void copy(const Home &from, const Home &to, const Axes &axes);

  void openLoops(const Axes &axes, Point &point);
  void closeLoops(const Axes &axes);
  /// The position on the axis itself.
  std::string entry(const Axis &axis, const Point &point) const;
  /// Empty, or the condition that the lane holds an entry of the axis here.
  std::string isInside(const Axis &axis, const Point &point) const;

  std::int64_t tokenParts = 1; ///< tasks that share a sequence's tokens
  std::int64_t spanTokens = 0; ///< that a task has; 0: all of a sequence
  bool hasParts = false;       ///< fewer if a call has parts
  /// A task has a slot: of a span, or of a part.
  bool hasSlots() const { return spanTokens > 0 || hasParts; }
  const char *slotName() const { return spanTokens > 0 ? "slot" : "partSlot"; }
  std::int64_t pieces = 1; ///< of a matrix, each with a task of its own
  std::string taskText = "task", taskType = "Index"; ///< of the one entered
  void enterTask();
  std::string countOf(mlir::Value span);
  void enterSpan(mlir::Value span, llvm::StringRef origin);
  void openSpanLoop(mlir::Value span, bool isReverse);
  std::string beginOf(mlir::Value span), totalOf(mlir::Value span);

  // Memory.
  MemoryView viewOf(mlir::Value buffer, mlir::OperandRange indices,
                    const Axes &axes, bool isStore);
  std::string element(const MemoryView &view, const Point &point) const;
  void load(const MemoryView &view, const Home &home, const Axes &axes,
            mlir::Type type);
  /// `isPrivate`: each lane writes for itself.
  void store(const MemoryView &view, const Home &home, const Axes &axes,
             bool isPrivate, mlir::Type type);

private:
  std::string vectorOf(const Axis &axis, const std::string &index) const;
  void enterSequence(mlir::Value span);
  std::string enterSlot(), slotOfTokens(mlir::Value span, std::int64_t per);
  std::string position(mlir::Value span, std::int64_t window);
  std::string condition(const MemoryView &view, const Point &point) const;
  void storeRow(const MemoryView &view, const Home &home, const Axis &axis,
                mlir::Type type);
};

} // namespace recurra::cuda
