// The way forward through a run where sixteen tokens at a time are added to the
// states: operands that lanes take as they lie, and the instructions.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/ScanWalkers.h"

namespace recurra::cuda {

//===----------------------------------------------------------------------===//
// Warps that prepare
//===----------------------------------------------------------------------===//

/// Declares `name`: a vector's entry i of those of the unit's tokens that a
/// lane holds of each of `halves` rows or columns.
void ScanProducers::printFragmentValues(const std::string &name,
                                        const Node *node, int degree,
                                        std::int64_t halves, bool padded) {
  bool isRow = halves == 2;
  f.text.line("float " + name + "[" + number(halves) + "][4];");
  unrolled("half", halves);
  unrolled("j", 4);
  f.text.line("const int i = tile * " + std::string(isRow ? "16" : "8") +
              " + lane / 4 + half * 8, t = lane % 4 * 2 + j % 2 + j / 2 * 8;");
  if (padded) {
    f.text.line("const bool isEntry = i < " +
                (isRow ? rowsHere() : columnsHere()) + ";");
  }
  std::string value = "(" + prepared(node, "i");
  if (degree != 0) {
    value += " * " + fragmentScales.lookup(degree) + "[j]";
  }
  f.text.line(name + "[half][j] = t < count" +
              std::string(padded ? " && isEntry" : "") + " ? " + value +
              ") : 0;");
  f.text.close();
  f.text.close();
}

/// Declares powers of the decay that additions' operands are scaled by, of the
/// tokens that a lane holds.
void ScanProducers::printFragmentScales() {
  fragmentScales.clear();
  for (const ScanProduct &product : values.products.list) {
    for (int degree : {product.rowDegree, product.columnDegree}) {
      if (!product.isAddition || degree == 0 ||
          fragmentScales.contains(degree)) {
        continue;
      }
      std::string name = f.text.name("scales");
      f.text.line("float " + name + "[4];");
      unrolled("j", 4);
      f.text.line("const int t = lane % 4 * 2 + j % 2 + j / 2 * 8;");
      f.text.line(name + "[j] = t < count ? expf(" + number(-degree) +
                  ".0f * logScale[at + t]) : 0;");
      f.text.close();
      fragmentScales[degree] = name;
    }
  }
}

/// The leading part of each of those, two tokens to a word; the rest stays.
void ScanProducers::printFragment(const std::string &name, std::int64_t halves,
                                  const std::string &at) {
  std::string words;
  for (std::int64_t word = 0; word < 2 * halves; ++word) {
    std::string first = name + "[" + number(word % halves) + "][";
    std::int64_t even = word / halves * 2;
    words += (word > 0 ? ", " : "") + ("pairOf(takePart(" + first) +
             number(even) + "]), takePart(" + first + number(even + 1) + "]))";
  }
  const char *type = halves == 2 ? "Four" : "Two";
  f.text.line(std::string("*reinterpret_cast<") + type + " *>(" + at +
              " + lane * " + number(2 * halves) + ") = " + type + "{{" + words +
              "}};");
}

/// The additions' operands of a unit's tokens, a tile for a warp.
void ScanProducers::printFragments(bool isRow) {
  const char *first = isRow ? "producer" : " - producer";
  std::int64_t tilesOfAll = isRow ? tiles.rows() / 16 : tiles.columns() / 8;
  bool padded = isPadded(isRow ? form.rows : form.columns);
  f.text.line("#pragma unroll 1");
  f.text.open("for (int tile = " +
              (isRow ? std::string() : number(tiles.producerWarps - 1)) +
              first + "; tile < " + number(tilesOfAll) +
              "; tile += " + number(tiles.producerWarps) + ")");
  std::string block = "here.u % " + number(fragments.blocks);
  std::int64_t index = 0;
  for (const ScanProduct &product : values.products.list) {
    if (!product.isAddition) {
      continue;
    }
    std::string name = f.text.name("rest");
    if (!isRow) {
      printFragmentValues(name, product.column, product.columnDegree, 1,
                          padded);
      printFragment(name, 1, fragments.columnsAt(block, "tile", index++));
      continue;
    }
    printFragmentValues(name, product.row, product.rowDegree, 2, padded);
    for (std::int64_t i = 0; i < product.rowParts; ++i) {
      printFragment(name, 2, fragments.rowsAt(block, "tile", index++));
    }
  }
  f.text.close();
}

//===----------------------------------------------------------------------===//
// Warps that walk
//===----------------------------------------------------------------------===//

/// Adds one product of the tokens that are not masked to a state.
void ScanWalkers::printFragmentStep(const ScanProduct &product,
                                    const std::string &name) {
  std::int64_t row = 0, column = 0;
  for (const ScanProduct &other : values.products.list) {
    if (&other == &product) {
      break;
    }
    row += other.isAddition ? other.rowParts : 0;
    column += other.isAddition ? 1 : 0;
  }
  f.text.line("float " + product.right + "[" + number(tiles.columnTiles) +
              "][2];");
  unrolled("n", tiles.columnTiles);
  std::string tile = "warpColumn * " + number(tiles.columnTiles) + " + n";
  f.text.line("fetch(" + product.right + "[n], " +
              fragments.columnsAt("block", tile, column) + " + lane * 2);");
  f.text.line("keep(" + product.right + "[n], tokens);");
  f.text.close();
  tile = "warpRow * " + number(tiles.rowTiles) + " + a";
  for (std::int64_t part = 0; part < product.rowParts; ++part) {
    unrolled("a", tiles.rowTiles);
    f.text.line("float left[4];");
    f.text.line("fetch(left, " + fragments.rowsAt("block", tile, row + part) +
                " + lane * 4);");
    unrolled("n", tiles.columnTiles);
    f.text.line("multiplyDeep(" + name + "[a][n], left, " + product.right +
                "[n]);");
    f.text.close();
    f.text.close();
  }
}

/// Tokens of one segment and one block of sixteen after the other.
void ScanWalkers::printFragmentTrace() {
  std::string interval = number(form.interval);
  f.text.line("const int lane = laneAnew();");
  f.text.line("const unsigned long long first = segments[header[6]].first;");
  f.text.line("const float *const logDecay = logs + header[6] * " +
              number(2 * form.interval) + ", *const logScale = logDecay + " +
              interval + ";");
  f.text.line("const int end = header[4] + count;");
  f.text.line("#pragma unroll 1");
  f.text.open("for (int from = header[4], to; from < end; from = to)");
  f.text.open("if (first >> from & 1)");
  f.text.line("const float factor = expf((from > 0 ? logScale[from - 1] : 0) + "
              "logDecay[from]);");
  multiplyBy("factor", /*ofStates=*/true, /*ofAdjoints=*/false);
  f.text.close();
  f.text.line("const int block = (from - header[4]) / 16, start = from / 16 * "
              "16;");
  f.text.line("to = segmentEnd(first, from, start + 16 < end ? start + 16 : "
              "end);");
  f.text.line("const unsigned tokens = ((1u << (to - start)) - (1u << (from - "
              "start))) >> lane % 4 * 2;");
  ScanElement element(values, f.text, hints);
  for (auto [state, name] : llvm::zip(form.states, stateNames)) {
    for (const AffineStep::Term &term : state.step.terms) {
      printFragmentStep(*element.addition(term), name);
    }
  }
  f.text.open("if (to < " + interval + " && (first >> to & 1))");
  copyHeld("to - 1");
  f.text.close();
  f.text.close();
}

} // namespace recurra::cuda
