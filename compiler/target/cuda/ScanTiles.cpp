// A table of rules, found by measuring: 24 elements of each of four matrices,
// or 48 of two, fill a lane's registers.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/ScanTiles.h"

namespace recurra::cuda {

static std::int64_t ceilDiv(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// What a multiprocessor has, less what a launch rounds away, goes to the two
/// kinds of warps. Those that prepare and add get what the ones that walk do
/// without: backward, where there are enough, their loads go ahead of what
/// waits for them.
static void shareRegisters(ScanTiles &tiles, bool isReverse) {
  constexpr std::int64_t ofMultiprocessor = 65536, most = 232;
  std::int64_t threads = 32 * tiles.warps();
  std::int64_t launched =
      std::min<std::int64_t>(ofMultiprocessor / threads / 8 * 8, 255 / 8 * 8);
  std::int64_t helpers = 32 * (tiles.producerWarps + tiles.adderWarps);
  bool areAhead = isReverse && !tiles.hasManyElements();
  std::int64_t wanted = threads > 512 ? 56 : areAhead ? 96 : 72;
  std::int64_t helperRegisters = std::min(launched, wanted);
  std::int64_t rest = launched * threads - helperRegisters * helpers;
  std::int64_t computeRegisters =
      std::min(rest / (32 * tiles.roleWarps()) / 8 * 8, most);
  tiles.computeRegisters = std::max(launched, computeRegisters);
  tiles.helperRegisters = std::min(launched, helperRegisters);
}

/// Beside a short axis a longer one's vectors would fill shared memory, more of
/// them for each element.
static constexpr std::int64_t widestSlice = 128, fewColumnTiles = 2;

/// Of one state, if it is not small: rows for which vectors have room, and the
/// fewest columns for each warp that keep the warps in a block. The same for a
/// slice of so many rows, which then has them all.
static ScanTiles tilesOfOne(std::int64_t rowTiles, std::int64_t columnTiles) {
  constexpr std::int64_t fewest = 4, ofLane = 24, manyColumns = 16;
  constexpr std::int64_t ofBlock = 256; // half of its registers
  std::int64_t widest = columnTiles >= manyColumns ? 8 : 12;
  ScanTiles tiles;
  for (std::int64_t slices = ceilDiv(rowTiles, widest);; ++slices) {
    std::int64_t own = ceilDiv(rowTiles, slices);
    own += slices > 1 && own > 1 ? own % 2 : 0;
    tiles.rowTiles = own % 2 == 0 ? 2 : 1;
    tiles.warpRows = own / tiles.rowTiles;
    for (bool isEven : {true, false}) {
      for (std::int64_t n = fewest; n <= ofLane / tiles.rowTiles; ++n) {
        tiles.warpColumns = ceilDiv(columnTiles, n);
        tiles.columnTiles = ceilDiv(columnTiles, tiles.warpColumns);
        std::int64_t warps = tiles.computeWarps();
        bool fits =
            warps <= mostWalkers && warps * tiles.elements() <= 4 * ofBlock;
        if (fits && (!isEven || columnTiles % tiles.warpColumns == 0)) {
          return tiles;
        }
      }
    }
    if (own == 1) { // more columns than a block can hold
      return tiles;
    }
  }
}

/// Square-ish tiles: a token's operands are loaded once per row and column.
static ScanTiles tilesOfSeveral(std::int64_t rowTiles, std::int64_t columnTiles,
                                std::int64_t states, bool isSmall) {
  ScanTiles tiles;
  std::int64_t tilesOfLane = std::max<std::int64_t>(1, 24 / states);
  tiles.rowTiles = isSmall || rowTiles % 2 != 0 || tilesOfLane < 4 ? 1 : 2;
  std::int64_t most = isSmall ? 3 : tilesOfLane / tiles.rowTiles;
  tiles.warpColumns = ceilDiv(columnTiles, std::max<std::int64_t>(most, 1));
  // Nothing is padded, if a few more warps see to that.
  std::int64_t mostColumns = std::min(2 * tiles.warpColumns, mostWalkers);
  for (std::int64_t more = tiles.warpColumns; more <= mostColumns; ++more) {
    if (columnTiles % more == 0) {
      tiles.warpColumns = more;
      break;
    }
  }
  tiles.columnTiles = ceilDiv(columnTiles, tiles.warpColumns);
  std::int64_t warps =
      tiles.rowTiles * tiles.columnTiles > 8 ? 12 : mostWalkers;
  std::int64_t wanted = ceilDiv(rowTiles, tiles.rowTiles);
  std::int64_t fit = std::max<std::int64_t>(1, warps / tiles.warpColumns);
  // Slices of equal width.
  if (columnTiles <= fewColumnTiles && 16 * rowTiles > 2 * widestSlice) {
    fit = ceilDiv(widestSlice, 16 * tiles.rowTiles);
  }
  tiles.warpRows = ceilDiv(wanted, ceilDiv(wanted, fit));
  return tiles;
}

static ScanTiles forwardTiles(std::int64_t rows, std::int64_t columns,
                              std::int64_t states) {
  std::int64_t rowTiles = ceilDiv(rows, 16), columnTiles = ceilDiv(columns, 8);
  // Small matrices: more warps hide more latency.
  bool isSmall = rowTiles * columnTiles <= 36;
  ScanTiles tiles = tilesOfSeveral(rowTiles, columnTiles, states, isSmall);
  bool isWhole = tiles.warpRows * tiles.rowTiles >= rowTiles;
  bool isNarrow = columnTiles <= fewColumnTiles;
  if (states == 1 && !isNarrow && !(isSmall && isWhole)) {
    return tilesOfOne(rowTiles, columnTiles);
  }
  if (!isSmall) {
    tiles.producerWarps = tiles.adderWarps = 2;
  }
  return tiles;
}

/// Cycles per token of all slices, after what was measured on one GPU: a warp
/// alone takes four cycles per instruction, those of a scheduler together two;
/// the scheduler that has most of them is waited for, and so are those that
/// add what they leave.
static double reverseCost(const ScanTiles &tiles, std::int64_t rows,
                          std::int64_t columns) {
  constexpr double perElement = 12, alone = 4, shared = 2.1, perSlice = 500;
  std::int64_t slices = ceilDiv(columns, tiles.columns());
  bool isPadded = tiles.rows() != rows || tiles.columns() * slices != columns;
  double instructions = tiles.elements() * (perElement + (isPadded ? 6 : 0)) +
                        4 * tiles.rowTiles + 8 * tiles.columnTiles +
                        8 * tiles.warpRows + 5 * tiles.warpColumns + 27;
  double perScheduler = instructions * tiles.roleWarps() / 4 * shared;
  return slices * (std::max(instructions * alone, perScheduler) + perSlice);
}

/// Registers of a lane: matrices and adjoints, sums, a token's vectors.
static std::int64_t reverseRegisters(const ScanTiles &tiles,
                                     std::int64_t states) {
  constexpr std::int64_t perVector = 3, addresses = 20;
  std::int64_t rows = 2 * tiles.rowTiles, columns = 2 * tiles.columnTiles;
  return 2 * states * tiles.elements() + perVector * (rows + 2 * columns) +
         2 * rows + 2 * columns + 4 + addresses;
}

/// With `a` x `n` tiles per warp and as many columns as `warps` can hold.
static ScanTiles reverseTiling(std::int64_t rows, std::int64_t columns,
                               std::int64_t states, std::int64_t a,
                               std::int64_t n, std::int64_t warps) {
  ScanTiles tiles;
  tiles.rowTiles = a;
  tiles.columnTiles = n;
  tiles.warpRows = ceilDiv(rows, 16 * a);
  std::int64_t fit = std::max<std::int64_t>(1, warps / tiles.warpRows);
  if (rows <= 16) {
    std::int64_t widest = states > 1 ? widestSlice : widestSlice / 2;
    fit = std::min(fit, std::max<std::int64_t>(1, widest / (8 * n)));
  }
  std::int64_t along = ceilDiv(columns, 8 * n);
  tiles.warpColumns = ceilDiv(along, ceilDiv(along, fit));
  shareRegisters(tiles, /*isReverse=*/true);
  return tiles;
}

/// Of all tilings whose matrices and adjoints fit the registers, the cheapest;
/// more warps that walk would crowd out those that help them.
static ScanTiles reverseTiles(std::int64_t rows, std::int64_t columns,
                              std::int64_t states) {
  constexpr std::int64_t mostRowTiles = 4;
  std::int64_t tilesOfLane = std::max<std::int64_t>(1, 12 / states);
  ScanTiles best;
  double least = 0;
  constexpr std::int64_t warps = 8, mostRegisters = 184;
  for (std::int64_t a = 1; a <= mostRowTiles; ++a) {
    for (std::int64_t n = 1; a * n <= tilesOfLane; ++n) {
      ScanTiles tiles = reverseTiling(rows, columns, states, a, n, warps);
      double cost = reverseCost(tiles, rows, columns);
      if (tiles.computeWarps() <= warps &&
          reverseRegisters(tiles, states) <= mostRegisters &&
          (least == 0 || cost <= least)) {
        best = tiles;
        least = cost;
      }
    }
  }
  // Small matrices leave registers for more warps that add.
  constexpr std::int64_t fewElements = 8;
  if (best.elements() <= fewElements) {
    best.adderWarps = 8;
  }
  if (least == 0) { // more rows than a block can hold
    best.rowTiles = mostRowTiles;
    best.warpRows = ceilDiv(rows, 16 * mostRowTiles);
  }
  return best;
}

ScanTiles chooseScanTiles(std::int64_t rows, std::int64_t columns,
                          std::int64_t states, bool isReverse,
                          bool hasVectorDecay) {
  ScanTiles tiles = isReverse ? reverseTiles(rows, columns, states)
                              : forwardTiles(rows, columns, states);
  if (hasVectorDecay && (!isReverse || tiles.rows() >= 128)) {
    tiles.producerWarps = vectorProducers;
  }
  if (hasVectorDecay && isReverse && tiles.rows() > 128) {
    tiles.adderWarps = 8;
  }
  shareRegisters(tiles, isReverse);
  return tiles;
}

} // namespace recurra::cuda
