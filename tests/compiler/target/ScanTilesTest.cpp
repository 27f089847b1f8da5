// Tiles of the scan form: a slice that the Plan takes has all its rows in one
// block.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/ScanTiles.h"

#include <gtest/gtest.h>

namespace recurra::cuda {
namespace {

ScanTiles forward(std::int64_t rows, std::int64_t columns,
                  std::int64_t states) {
  return chooseScanTiles(rows, columns, states, /*isReverse=*/false,
                         /*hasVectorDecay=*/false);
}

TEST(ScanTiles, BlocksHoldSlicesOfOneState) {
  for (std::int64_t rows = 16; rows <= 1024; rows += 8) {
    for (std::int64_t columns = 16; columns <= 1024; columns += 8) {
      std::int64_t tile = forward(rows, columns, 1).rows();
      std::int64_t slice = std::min(tile, rows);
      ScanTiles tiles = forward(slice, columns, 1);
      ASSERT_GE(tiles.rows(), slice) << rows << " x " << columns;
      ASSERT_GE(tiles.columns(), columns) << rows << " x " << columns;
      ASSERT_LE(tiles.computeWarps(), 16) << rows << " x " << columns;
    }
  }
}

/// Measured: no warp has more of a state than lets others hide its latency.
TEST(ScanTiles, OneStateIsSharedByManyWarps) {
  EXPECT_EQ(forward(192, 96, 1).computeWarps(), 12);
  EXPECT_EQ(forward(128, 128, 1).computeWarps(), 16);
  EXPECT_EQ(forward(128, 256, 1).computeWarps(), 16);
  EXPECT_EQ(forward(512, 256, 1).rows(), 128);
}

} // namespace
} // namespace recurra::cuda
