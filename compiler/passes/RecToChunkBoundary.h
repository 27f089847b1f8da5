// The tensors at the boundary of a rec function and their chunk buffers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/Artifact.h"
#include "compiler/chunk/Chunk.h"
#include "compiler/passes/Plan.h"

namespace recurra {

/// Heads that own a copy of a tensor, in terms of the loops over heads.
enum class Heads { Each, Group, All };

/// What a gradient must still be added over, beyond its own task.
struct Sharing {
  Heads heads = Heads::Each; ///< Group, All: over these heads
  bool sequences = false;    ///< over all sequences
};

/// One argument or result of the rec function, or a checkpoint.
struct Port {
  Argument::Kind kind = Argument::Input;
  std::string name;
  std::vector<std::string> axes; ///< in memory order
  bool perToken = false, perSequence = false;
  Sharing sharing;
  DType dtype = DType::F32;
  mlir::Value buffer; ///< argument of the chunk function
};

/// "input", "initial-state", ..: the spelling in `chunk.arg`.
llvm::StringRef spellingOf(Argument::Kind kind);
std::optional<Argument::Kind> parseKind(llvm::StringRef spelling);

/// Ports in the order of kernel arguments.
struct Boundary {
  std::vector<Port> arguments;   ///< one per argument of the rec function
  std::vector<Port> results;     ///< one per result
  std::vector<Port> checkpoints; ///< one per state of the plan, or none

  Boundary(mlir::func::FuncOp function, const Spec &spec, const Plan &plan);

  /// Creates the chunk function before `function` and sets the buffers.
  mlir::func::FuncOp createFunction(mlir::func::FuncOp function,
                                    const Spec &spec, const Plan &plan);

  /// The checkpoint of a state; null if it is not saved.
  const Port *findCheckpoint(llvm::StringRef state) const;
};

/// The element type of a DType.
mlir::Type elementType(mlir::MLIRContext *context, DType type);

/// Builds buffer types axis by axis.
class BufferBuilder {
public:
  BufferBuilder(mlir::MLIRContext *context) : context(context) {}
  BufferBuilder &add(llvm::StringRef axis, std::int64_t window = 0,
                     std::int64_t per = 1);
  chunk::BufferType get(mlir::Type element) const;

private:
  mlir::MLIRContext *context;
  llvm::SmallVector<mlir::StringAttr> names;
  llvm::SmallVector<std::int64_t> windows, pers;
};

} // namespace recurra
