// Loops over the tokens of a span with rows outside and tokens inside: a block
// of the states stays in registers over all tokens, and what is recomputed of
// them for the reverse loop in the first cache.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/target/cpu/BlockEmitter.h"

namespace recurra::cpu {

/// Tokens of a span that are walked at a time, for what they need to fit the
/// first cache.
inline constexpr std::int64_t tokensOfPart = 16;

/// Emits the loops that begin at nest `first` of a block as one sweep. Returns
/// how many nests that were; 0 if the first is no loop that can be taken apart.
///
/// A loop that recomputes states and the one that goes back over them:
/// 1. Of all tokens of the window, what the states' steps need.
/// 2. Forward, block by block of the states: the states before each part of
///    sixteen tokens.
/// 3. From the last part on: of its tokens, what the reverse steps need; then,
///    block by block, forward into a trace of the part, and back; then what
///    follows from the sums.
/// A single loop goes from part to part, with its states in their home between.
size_t emitRowSweep(Frame &frame, BlockEmitter &outer, size_t first);

} // namespace recurra::cpu
