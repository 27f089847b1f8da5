// The sizes of one call, and the numbers that symbolic shapes stand for.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/LoadedKernel.h"
#include "runtime/Status.h"

namespace recurra {

/// Sizes after checking: never negative, products of all of them in 64 bits.
struct CallSizes {
  std::int64_t rows = 0, tokens = 0, heads = 0, headGroups = 0, sequences = 0,
               slots = 0, spans = 0, joins = 0, parts = 0;
  /// Logarithms to base 2: of the tokens of a part, 0 if there are none; of
  /// those that a task has at most.
  std::int64_t partBits = 0, taskBits = 0;
  const std::int64_t *offsets = nullptr;

  /// The number behind a symbol of Argument::shape or a literal.
  std::int64_t value(const std::string &symbol) const;

  /// The product of a symbolic shape; fails if it leaves 64 bits.
  Status product(const std::vector<std::string> &factors,
                 std::int64_t &result) const;

  /// How many tasks a nest has; fails if its kernel cannot count them.
  Status tasksOf(const Nest &nest, std::int64_t &result) const;
};

/// Checks what the caller says about sizes, cu_seqlens included.
Status readSizes(const recurra_kernel &kernel, const recurra_sizes &given,
                 CallSizes &sizes);

} // namespace recurra
