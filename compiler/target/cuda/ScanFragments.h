// On the way forward through a run, states are needed at the ends of segments
// alone: what sixteen tokens add to them is one product for each part, so many
// deep. How its operands lie in a stage, in the place of tokens' vectors, as
// the lanes of the instruction take them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/target/cuda/ScanProducts.h"
#include "compiler/target/cuda/ScanTiles.h"

#include <string>

namespace recurra::cuda {

class ScanFragments {
public:
  ScanFragments() = default;
  /// Of all additions among the products, for `blocks` times sixteen tokens.
  ScanFragments(const ScanProducts &products, const ScanTiles &tiles,
                std::int64_t blocks);

  bool areUsed() const { return blocks > 0; }
  std::int64_t floats() const {
    return blocks *
           (rowTiles * rows * rowWords + columnTiles * columns * columnWords);
  }
  /// Where part `index` of a tile's rows lies: four words for each lane.
  std::string rowsAt(const std::string &block, const std::string &tile,
                     std::int64_t index) const;
  /// Where column vector `index` of a tile lies: two words for each lane.
  std::string columnsAt(const std::string &block, const std::string &tile,
                        std::int64_t index) const;

  std::int64_t blocks = 0; ///< of sixteen tokens that a stage holds

private:
  static constexpr std::int64_t rowWords = 4 * 32, columnWords = 2 * 32;
  std::int64_t rowTiles = 0, columnTiles = 0; ///< of a block of threads
  std::int64_t rows = 0, columns = 0;         ///< parts, vectors
};

} // namespace recurra::cuda
