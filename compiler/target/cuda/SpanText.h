// What a kernel's text calls the spans of its task.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mlir/IR/BuiltinAttributes.h"

#include <string>

namespace recurra::cuda {

/// A span at run time; `valid` is empty if it always equals the capacity.
struct SpanText {
  mlir::StringAttr axis;
  std::int64_t capacity = 1;
  std::string origin, valid;
};

struct SequenceText {
  std::string row, start, length, first;
  std::string begin = "0", end = ""; ///< of the tokens that a task has
};

/// How long spans of a sequence's tokens are, as the prelude has it: so many
/// tokens, or what the call says if it may have parts.
std::string spanCut(std::int64_t tokens, bool hasParts);

} // namespace recurra::cuda
