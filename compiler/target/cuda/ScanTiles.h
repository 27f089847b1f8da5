// Sizes of a scan-form kernel: how a block's warps and their lanes share a
// matrix state, and what the roles of its warps get of the registers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace recurra::cuda {

/// A warp holds `rowTiles` x `columnTiles` tiles of 16 x 8, the layout of a
/// matrix instruction's result: lane 4 g + c has rows g and g + 8, columns 2 c
/// and 2 c + 1 of each. A block has warpRows x warpColumns such warps.
struct ScanTiles {
  std::int64_t rowTiles = 1, columnTiles = 1;
  std::int64_t warpRows = 1, warpColumns = 1;
  std::int64_t producerWarps = 4, adderWarps = 4;
  std::int64_t group = 2; ///< tokens between hand-overs of partial sums
  /// Registers per thread of both kinds of warps; 0: as launched.
  std::int64_t computeRegisters = 0, helperRegisters = 0;

  std::int64_t rows() const { return 16 * rowTiles * warpRows; }
  std::int64_t columns() const { return 8 * columnTiles * warpColumns; }
  std::int64_t computeWarps() const { return warpRows * warpColumns; }
  /// Registers are shared out to groups of four warps.
  std::int64_t roleWarps() const { return (computeWarps() + 3) / 4 * 4; }
  /// Warps of the walking ones' last group that add.
  std::int64_t spareAdders() const {
    return std::min(roleWarps() - computeWarps(), adderWarps);
  }
  std::int64_t warps() const {
    return roleWarps() + producerWarps + adderWarps;
  }
  /// Columns of a matrix instruction's results, and those for one token.
  static constexpr std::int64_t resultColumns = 8;
  std::int64_t columnsPerToken() const { return resultColumns / group; }
  /// Elements of one state that a lane holds.
  std::int64_t elements() const { return 4 * rowTiles * columnTiles; }
  /// Backward, with adjoints: a walking warp's registers are full of them.
  bool hasManyElements() const { return elements() >= 24; }
};

/// Tokens that are prepared at a time.
inline constexpr std::int64_t scanUnit = 16;

/// What a block may have: of warps that walk, of bytes of shared memory.
inline constexpr std::int64_t mostWalkers = 16;
inline constexpr std::int64_t mostShared = 227 * 1024 - 1024;

/// Warps that prepare decays that are vectors.
inline constexpr std::int64_t vectorProducers = 8;

/// For matrices of `rows` x `columns`. Forward, outputs are sums over the
/// columns and a warp holds whole rows if it can; backward (`isReverse`) a
/// state and its adjoint are held, and a block has a slice of the columns.
/// Decays that are vectors take more to prepare; tiles are the same.
ScanTiles chooseScanTiles(std::int64_t rows, std::int64_t columns,
                          std::int64_t states, bool isReverse,
                          bool hasVectorDecay);

} // namespace recurra::cuda
