// Multi-query associative recall: sequences that show key value pairs once and
// then ask for the value of each key again.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Random.h"

#include <cstdint>
#include <vector>

namespace recurra {

struct RecallShape {
  int64_t length = 64;      ///< tokens of a sequence
  int64_t pairs = 8;        ///< key value pairs, all at the front
  int64_t vocabulary = 256; ///< even: keys below the middle, values from it on
  double powerA = 0.1;      ///< repeats lie near the pairs as this nears 0
};

/// One sequence. Token 0 fills what is neither pair nor repeat.
struct RecallSequence {
  std::vector<int64_t> tokens;  ///< [length]
  std::vector<int64_t> queries; ///< positions of the repeated keys, in pair
                                ///< order; the value stands behind each
};

/// Draws one sequence:
/// 1. `pairs` keys without repeat from 1 .. vocabulary/2 - 1, and as many
/// values
///    from vocabulary/2 .. vocabulary - 1, laid out key value key value ..;
/// 2. behind them there are (length - 2 pairs) / 2 slots of two tokens,
/// numbered
///    from i = 1; each key in turn takes a slot without repeat, with weight
///    i^(powerA - 1), and stands there again with its value behind it.
RecallSequence drawRecall(const RecallShape &shape, Random &random);

} // namespace recurra
