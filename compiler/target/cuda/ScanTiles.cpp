// A table of rules, found by measuring: 24 elements of each of four matrices,
// or 48 of two, fill a lane's registers.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/ScanTiles.h"

#include <algorithm>

namespace recurra::cuda {

static std::int64_t ceilDiv(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// What a multiprocessor has, less what a launch rounds away, goes to the two
/// kinds of warps.
static void shareRegisters(ScanTiles &tiles) {
  constexpr std::int64_t ofMultiprocessor = 65536, most = 232;
  std::int64_t threads = 32 * tiles.warps();
  std::int64_t launched = std::min<std::int64_t>(
      ofMultiprocessor / threads / 8 * 8, 255 / 8 * 8);
  std::int64_t helpers = 32 * (tiles.producerWarps + tiles.adderWarps);
  std::int64_t helperRegisters = std::min<std::int64_t>(launched, 72);
  std::int64_t rest = launched * threads - helperRegisters * helpers;
  std::int64_t computeRegisters =
      std::min(rest / (32 * tiles.roleWarps()) / 8 * 8, most);
  if (computeRegisters > launched) {
    tiles.computeRegisters = computeRegisters;
    tiles.helperRegisters = helperRegisters;
  }
}

/// Rows along the warps, whole columns in a warp, or in two.
static ScanTiles forwardTiles(std::int64_t rows, std::int64_t columns,
                              std::int64_t states) {
  ScanTiles tiles;
  std::int64_t most = std::max<std::int64_t>(1, 96 / (4 * states));
  std::int64_t needed = ceilDiv(columns, 8);
  tiles.warpColumns = ceilDiv(needed, most);
  // Small states: more warps hide more latency.
  if (needed >= 4 && needed * ceilDiv(rows, 16) <= 36) {
    tiles.warpColumns = std::max(tiles.warpColumns, needed / 3);
  }
  tiles.columnTiles = ceilDiv(needed, tiles.warpColumns);
  std::int64_t warps = tiles.columnTiles > 8 ? 12 : 16;
  std::int64_t wanted = ceilDiv(rows, 16);
  std::int64_t fit = std::max<std::int64_t>(1, warps / tiles.warpColumns);
  // Slices of equal width.
  tiles.warpRows = ceilDiv(wanted, ceilDiv(wanted, fit));
  tiles.producerWarps = tiles.adderWarps = 2;
  tiles.group = 4;
  return tiles;
}

static ScanTiles reverseTiles(std::int64_t rows, std::int64_t columns,
                              std::int64_t states) {
  ScanTiles tiles;
  std::int64_t wanted = ceilDiv(rows, 16);
  std::int64_t tilesOfLane = std::max<std::int64_t>(1, 12 / states);
  std::int64_t mostRows = std::min<std::int64_t>(4, tilesOfLane);
  tiles.warpRows = ceilDiv(wanted, mostRows);
  tiles.rowTiles = ceilDiv(wanted, tiles.warpRows);
  std::int64_t needed = ceilDiv(columns, 8);
  std::int64_t most = std::max<std::int64_t>(1, tilesOfLane / tiles.rowTiles);
  if (tiles.warpRows * needed <= 12) {
    most = 1;
  }
  tiles.columnTiles = most;
  std::int64_t warps = tiles.rowTiles * most * states > 6 ? 8 : 12;
  std::int64_t fit = std::max<std::int64_t>(1, warps / tiles.warpRows);
  std::int64_t along = ceilDiv(needed, most);
  tiles.warpColumns = ceilDiv(along, ceilDiv(along, fit));
  return tiles;
}

ScanTiles chooseScanTiles(std::int64_t rows, std::int64_t columns,
                          std::int64_t states, bool isReverse) {
  ScanTiles tiles = isReverse ? reverseTiles(rows, columns, states)
                              : forwardTiles(rows, columns, states);
  shareRegisters(tiles);
  return tiles;
}

} // namespace recurra::cuda
