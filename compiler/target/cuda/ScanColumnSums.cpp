// Sums over rows, of which lanes left partial sums by fours: a warp's lanes
// load four columns at a time, share the additions out, and hand each lane the
// sums of its own column.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/ScanAdders.h"

using namespace mlir;

namespace recurra::cuda {

static constexpr std::int64_t lanes = 32;

/// The sums over rows as they lie: their first slot, how many there are, and
/// lanes that share each four columns of them. None if they are not so many as
/// share a warp evenly, or do not lie by fours.
ScanAdders::ColumnFours ScanAdders::columnFours() const {
  ColumnFours fours;
  std::int64_t perSum = 2 * tiles.columnTiles, end = 0;
  fours.firstSlot = parts;
  for (const ScanSum &sum : values.sums) {
    if (sum.kind == ScanSum::OverRows) {
      fours.firstSlot = std::min(fours.firstSlot, sum.slot);
      end = std::max(end, sum.slot + perSum);
      ++fours.sums;
    }
  }
  bool areTogether = end - fours.firstSlot == fours.sums * perSum;
  bool areFours = fours.firstSlot % 4 == 0 && end % 4 == 0;
  bool areEven = (fours.sums == 1 || fours.sums == 2) &&
                 lanes % (8 * tiles.columnTiles) == 0;
  if (areTogether && areFours && areEven) {
    fours.shares = 4 / fours.sums;
    fours.perLane = (end - fours.firstSlot) / 4;
  }
  return fours;
}

/// Where a lane's share of its four columns begins. Lanes are numbered by
/// column, then by four, then by warp beside each other, then by share.
std::string ScanAdders::placeOfShare(const ColumnFours &fours) const {
  std::string four = fours.perLane > 1
                         ? "lane / 4 % " + number(fours.perLane) + " * 144 + "
                         : "";
  std::string warp = "(i - lane) / " + number(8 * tiles.columnTiles) +
                     " + lane % " + number(lanes / fours.shares) + " / " +
                     number(4 * fours.perLane);
  if (tiles.columns() % lanes != 0) { // some lanes have no column
    warp = "(" + warp + ") % " + number(tiles.warpColumns);
  }
  std::string share = "lane / " + number(lanes / fours.shares) + " * ";
  return "((" + warp + ") * " + number(tiles.warpRows) +
         (fours.sharesRows(tiles)
              ? " + " + share + number(tiles.warpRows / fours.shares)
              : "") +
         ") * " + number(warpSums) + " + " + number(matrixFloats()) +
         " + p * " + number(partFloats()) + " + " +
         number(fours.firstSlot / 4 * 144) + " + " + four + "lane % 4 * 4" +
         (fours.sharesRows(tiles)
              ? ""
              : " + " + share + number(8 / fours.shares * 16));
}

/// All lanes of a warp take part. Lanes 4 g + c of a walking warp left its
/// columns 2 c and 2 c + 1 of each tile.
void ScanAdders::printColumnFours(const ColumnFours &fours) {
  bool isByRows = fours.sharesRows(tiles);
  f.text.line("const float *const fours = from + " + placeOfShare(fours) + ";");
  // Few registers: no more than four loads at a time.
  bool isRoomy = areTogether();
  f.text.line(isRoomy ? "Four sum, other;" : "Four sum = {}, other = {};");
  std::string isFirst = isRoomy ? ", w + g == 0);" : ", false);";
  unrolled("w", isByRows ? tiles.warpRows / fours.shares : tiles.warpRows);
  f.text.line(isRoomy ? "#pragma unroll" : "#pragma unroll 2");
  f.text.open("for (int g = 0; g < " + number(isByRows ? 8 : 8 / fours.shares) +
              "; g += 2)");
  std::string at = "fours + w * " + number(warpSums) + " + g * 16";
  f.text.line("addFour(sum, " + at + isFirst);
  f.text.line("addFour(other, " + at + " + 16" + isFirst);
  f.text.close();
  f.text.close();
  f.text.line("addShares<" + number(fours.shares) + ">(sum, other, lane);");
  for (const ScanSum &sum : values.sums) {
    if (sum.kind == ScanSum::OverRows) {
      sumNames[sum.reduce] = ownedSum(fours, sum);
    }
  }
}

/// The lane's own column of a sum; the name of it.
std::string ScanAdders::ownedSum(const ColumnFours &fours, const ScanSum &sum) {
  std::string name = nameOfSum(sum.reduce);
  std::string slot = number(sum.slot - fours.firstSlot) + " + lane / 8 % " +
                     number(tiles.columnTiles) + " * 2 + lane % 2";
  std::string holder = "lane / " + number(8 * tiles.columnTiles) + " * " +
                       number(4 * fours.perLane) + " + (" + slot +
                       ") / 4 * 4 + lane % 8 / 2";
  f.text.line("const float " + name + " = shareOf<" + number(fours.shares) +
              ">(sum, " + holder + ", (" + slot + ") % 4);");
  return name;
}

} // namespace recurra::cuda
