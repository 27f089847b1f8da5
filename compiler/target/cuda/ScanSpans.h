// Spans of a sequence's tokens walked side by side, each from the state that
// enters it. Three kernels: what each span adds up to by itself ("locals"), the
// states that enter spans, one span after the other ("join"), then the walk,
// with a task for each span. How spans are cut depends on the form alone.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/Artifact.h"
#include "compiler/target/cuda/KernelFrame.h"
#include "compiler/target/cuda/ScanForm.h"
#include "compiler/target/cuda/ScanTiles.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace recurra::cuda {

extern const char *const spanPrelude;
void reserveSpanNames(KernelText &text);

/// A function's attribute: tokens of a span, if not the usual number.
inline constexpr llvm::StringLiteral spanAttr = "cuda.span";
std::int64_t spanTokensOf(mlir::func::FuncOp function, const ScanForm &form);

/// Beside the function's own: states that enter spans, and what is left of a
/// state at a span's end; states that enter parts.
std::vector<Workspace> spanWorkspaces(mlir::func::FuncOp function,
                                      const ScanForm &form,
                                      const ScanTiles &tiles, const Nest &nest);
void printSpanBuffers(mlir::func::FuncOp function, KernelFrame &f,
                      const ScanForm &form);
/// Where a slot's part of such a workspace begins, for the task at hand.
std::string spanPlace(KernelFrame &f, const ScanForm &form,
                      llvm::StringRef buffer, llvm::StringRef slot);

/// Row and column, within a lane's part of a tile, of place e of the four that
/// such a workspace has of it: forward as the lane holds states; backward as it
/// holds adjoints, in the order of a matrix instruction's left operand.
inline std::string rowOfPlace(bool isReverse) {
  return isReverse ? "e % 2 * 8" : "e / 2 * 8";
}
inline std::string columnOfPlace(bool isReverse) {
  return isReverse ? "e / 2" : "e % 2";
}
/// Backward, the place of a lane's element e.
inline constexpr const char *placeOfElement = "e % 2 * 2 + e / 2";

/// Backward: whether a value changes with what arrives at a span's end.
bool dependsOnAdjoint(const ScanForm &form, const Node *node);
/// The one adjoint that a result behind the loops is made of, if that is so.
std::optional<unsigned> adjointBehind(const ScanForm &form, const Node *node);
/// Stores of such values that are not f32 wait as f32 until all is added.
llvm::SmallVector<const Node *> wideStores(const ScanForm &form);
int widePlace(const ScanForm &form, const Node *store); ///< -1: it is none
/// The address of what waits, from that of the result in `buffer`.
std::string onWide(std::string address, const std::string &buffer, int place);
/// Floats of a task's states, or adjoints, as the lanes that walk hold them;
/// and of its totals.
std::int64_t stateFloats(const ScanForm &form, const ScanTiles &tiles);
std::int64_t totalFloats(const ScanForm &form, const ScanTiles &tiles);

} // namespace recurra::cuda
