// All rows of all blocks first, then all columns.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/ScanFragments.h"

namespace recurra::cuda {

ScanFragments::ScanFragments(const ScanProducts &products,
                             const ScanTiles &tiles, std::int64_t blocks)
    : blocks(blocks), rowTiles(tiles.rows() / 16),
      columnTiles(tiles.columns() / 8) {
  for (const ScanProduct &product : products.list) {
    if (product.isAddition) {
      rows += product.rowParts;
      ++columns;
    }
  }
}

std::string ScanFragments::rowsAt(const std::string &block,
                                  const std::string &tile,
                                  std::int64_t index) const {
  return "stage + " + std::to_string(16 + index * rowWords) + " + ((" + block +
         ") * " + std::to_string(rowTiles) + " + " + tile + ") * " +
         std::to_string(rows * rowWords);
}

std::string ScanFragments::columnsAt(const std::string &block,
                                     const std::string &tile,
                                     std::int64_t index) const {
  std::int64_t first = 16 + blocks * rowTiles * rows * rowWords;
  return "stage + " + std::to_string(first + index * columnWords) + " + ((" +
         block + ") * " + std::to_string(columnTiles) + " + " + tile + ") * " +
         std::to_string(columns * columnWords);
}

} // namespace recurra::cuda
