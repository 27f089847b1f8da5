// The kernel that finds what each span alone adds up to: matrix products over
// its tokens, 16 at a time from the last to the first, scaled by the decay that
// is left to the span's end. No readout, no order within a unit.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/KernelPrinter.h"
#include "compiler/target/cuda/ScanSpanKernels.h"

using namespace mlir;

namespace recurra::cuda {

std::string SpanLocals::print(func::FuncOp function) {
  findProducts();
  printHead(function);
  openTasks();
  f.text.line("if (span.number + 1 == span.count) continue;");
  printNumbers();
  printDecay();
  printCopy(sequence().begin + " + " + number(form.spanTokens - scanUnit) +
            " - unit * 16");
  printUnits();
  printLocals();
  f.text.close();
  f.text.close();
  finishNest("_locals", sharedBytes());
  return f.text.str();
}

void SpanLocals::printHead(func::FuncOp function) {
  f.text.line("");
  f.text.comment("One block for each span that another one follows. What its " +
                 number(form.spanTokens) +
                 " tokens add to states that start at zero.");
  f.text.line("extern \"C\" __global__ void __launch_bounds__(" + threads() +
              ", 1)");
  f.text.open(nest.entry +
              "_locals(const __grid_constant__ Buffers buffers,\n        const "
              "__grid_constant__ Shape shape, Index tasks, char *scratch)");
  printBuffers(function, f);
  printSpanBuffers(function, f, form);
  layOut();
  printRole();
  f.text.comment("Shared memory: the numbers of all tokens, two units of words "
                 "and of vectors as they lie in memory.");
  f.text.line("char *const shared = sharedMemory();");
  f.text.line("float *const numbers = reinterpret_cast<float *>(shared);");
  f.text.line("float *const words = numbers + " +
              number(form.spanTokens * tokenNumbers) + ";");
  if (form.hasVectorDecay()) {
    f.text.line("float *const factors = words + " + number(2 * unitWords) +
                ";");
  }
  printRaws(sharedBytes() - rawBytes);
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// Before units are walked; of a vector decay, what each thread's entries need.
void SpanLocals::printDecay() {
  if (form.hasVectorDecay()) {
    std::int64_t entries = ceilDiv(decayWidth(), 32 * tiles.computeWarps());
    f.text.line("float logSum[" + number(entries) + "] = {};");
    return;
  }
  f.text.open("if (warp == 0)");
  printDecayToEnd("*(" + spanPlace(f, form, "remaining", "slot") + ")");
  f.text.close();
}

/// What is left of each entry after each token of a unit, from its last one.
void SpanLocals::printVectorDecay() {
  std::int64_t width = decayWidth();
  std::string all = form.isRow(form.decay) ? rowsHere() : columnsHere();
  for (std::int64_t x = 0; x * 32 * tiles.computeWarps() < width; ++x) {
    f.text.open("if (const int i = " + number(x * 32 * tiles.computeWarps()) +
                " + thread; i < " + number(width) + ")");
    f.text.line("const bool isEntry = i < " + all + ";");
    f.text.line("#pragma unroll 4");
    f.text.open("for (int t = 15; t >= 0; --t)");
    f.text.line("const float *const now = numbers + (at + t) * " +
                number(tokenNumbers) + ";");
    f.text.line("factors[t * " + number(width) + " + i] = expf(logSum[" +
                number(x) + "]);");
    f.text.line("logSum[" + number(x) + "] += isEntry ? " + logOf("i") +
                " : 0;");
    f.text.close();
    f.text.close();
  }
}

//===----------------------------------------------------------------------===//
// Units
//===----------------------------------------------------------------------===//

/// A unit's vectors are on the way while the one before becomes words, and the
/// one before that is multiplied.
void SpanLocals::printUnits() {
  stateNames.clear();
  for (const ScanState &state : form.states) {
    std::string hint = nameOf(state.carry);
    stateNames.push_back(f.text.name(hint.empty() ? "state" : hint));
    f.text.line("float " + stateNames.back() + "[" + number(tiles.rowTiles) +
                "][" + number(tiles.columnTiles) + "][4] = {};");
  }
  printFirstReached();
  f.text.line("const int units = (" + number(form.spanTokens) +
              " - firstReached) / 16;");
  f.text.line("if (units > 0) copy(0);");
  f.text.line("#pragma unroll 1");
  f.text.open("for (int unit = 0; unit <= units; ++unit)");
  f.text.line("const int at = " + number(form.spanTokens - scanUnit) +
              " - unit * 16;");
  f.text.line("const int step = unit; // of the copies");
  f.text.line("waitForCopies<0>();");
  f.text.line("syncBlock();");
  f.text.line("if (unit + 1 < units) copy(unit + 1);");
  f.text.open("if (unit < units)");
  if (form.hasVectorDecay()) {
    printVectorDecay();
    f.text.line("syncBlock();");
  }
  printFactors();
  f.text.close();
  f.text.open("if (unit > 0)");
  printMultiply();
  f.text.close();
  f.text.close();
}

void SpanLocals::printFactors() {
  f.text.line("float *const to = words + unit % 2 * " + number(unitWords) +
              ";");
  for (const SpanFactor &factor : factors) {
    printFactor(factor);
  }
}

/// Entry i of token t; where `layOut` collects, of no token.
std::string SpanLocals::valueOf(const SpanFactor &factor) {
  std::string value = factor.isNegative ? "-1.0f" : "";
  auto multiply = [&](const std::string &by) {
    value += (value.empty() ? "" : " * ") + by;
  };
  for (const Node *vector : factor.vectors) {
    multiply(prepared(vector, "i"));
  }
  for (const Node *scalar : factor.numbers) {
    multiply(prepared(scalar, "i"));
  }
  if (factor.isScaled && form.hasVectorDecay()) {
    multiply("factors[t * " + number(decayWidth()) + " + i]");
  } else if (factor.isScaled && form.decay) {
    multiply("now[0]");
  }
  return value.empty() ? "1.0f" : value;
}

/// Each thread makes the words that one lane takes: rows g and g + 8, or column
/// g, of tokens 2 c, 2 c + 1, 2 c + 8 and 2 c + 9.
void SpanLocals::printFactor(const SpanFactor &factor) {
  bool isRow = factor.isRow;
  std::string count = number(tilesOf(factor) * 32);
  std::int64_t perLane = isRow ? 4 : 2;
  f.text.line("#pragma unroll 1");
  f.text.open("for (int word = thread; word < " + count +
              "; word += " + threads() + ")");
  f.text.line("float piece[" + number(factor.parts) + "][" + number(perLane) +
              "];");
  unrolled("p", perLane);
  f.text.line("const int i = word / 32 * " + number(isRow ? 16 : 8) +
              " + word % 32 / 4" + (isRow ? " + p % 2 * 8" : "") + ";");
  bool padded = isPadded(isRow ? form.rows : form.columns);
  if (padded) {
    f.text.line("const bool isEntry = i < " +
                (isRow ? rowsHere() : columnsHere()) + ";");
  }
  f.text.line("float pair[2];");
  unrolled("e", 2);
  f.text.line(std::string("const int t = word % 4 * 2 + ") +
              (isRow ? "p / 2" : "p") + " * 8 + e;");
  f.text.line("const float *const now = numbers + (at + t) * " +
              number(tokenNumbers) + ";");
  std::string value = valueOf(factor);
  f.text.line("pair[e] = " + (padded ? "isEntry ? " + value + " : 0" : value) +
              ";");
  f.text.close();
  for (std::int64_t k = 0; k < factor.parts; ++k) {
    f.text.open("");
    f.text.line("const unsigned low = takePart(pair[0]), high = "
                "takePart(pair[1]);");
    f.text.line("piece[" + number(k) + "][p] = pairOf(low, high);");
    f.text.close();
  }
  f.text.close();
  for (std::int64_t k = 0; k < factor.parts; ++k) {
    std::string at = "piece[" + number(k) + "][";
    std::string all = at + "0], " + at + "1]";
    if (isRow) {
      all += ", " + at + "2], " + at + "3]";
    }
    std::string type = isRow ? "Four" : "Two";
    std::int64_t offset = factor.offset + k * tilesOf(factor) * 32 * perLane;
    f.text.line("*reinterpret_cast<" + type + " *>(to + " + number(offset) +
                " + word * " + number(perLane) + ") = " + type + "{{" + all +
                "}};");
  }
  f.text.close();
}

void SpanLocals::printMultiply() {
  f.text.line("const float *const from = words + (unit - 1) % 2 * " +
              number(unitWords) + ";");
  for (const Product &product : products) {
    printMultiply(product);
  }
}

/// Parts times parts, but for those below what f32 keeps.
void SpanLocals::printMultiply(const Product &product) {
  constexpr std::int64_t kept = 3;
  const SpanFactor &row = factors[product.row];
  const SpanFactor &column = factors[product.column];
  std::string a = number(tiles.rowTiles), n = number(tiles.columnTiles);
  f.text.open("");
  f.text.line("float left[" + number(row.parts) + "][" + a + "][4];");
  unrolled("p", row.parts);
  unrolled("a", tiles.rowTiles);
  f.text.line("fetch(left[p][a], from + " + number(row.offset) + " + ((p * " +
              number(tilesOf(row)) + " + warpRow * " + a +
              " + a) * 32 + lane) * 4);");
  f.text.close();
  f.text.close();
  unrolled("n", tiles.columnTiles);
  f.text.line("float right[" + number(column.parts) + "][2];");
  unrolled("p", column.parts);
  f.text.line("fetch(right[p], from + " + number(column.offset) + " + ((p * " +
              number(tilesOf(column)) + " + warpColumn * " + n +
              " + n) * 32 + lane) * 2);");
  f.text.close();
  for (std::int64_t i = 0; i < row.parts; ++i) {
    for (std::int64_t j = 0; j < column.parts && i + j < kept; ++j) {
      unrolled("a", tiles.rowTiles);
      f.text.line("multiplyDeep(" + stateNames[product.state] +
                  "[a][n], left[" + number(i) + "][a], right[" + number(j) +
                  "]);");
      f.text.close();
    }
  }
  f.text.close();
  f.text.close();
}

void SpanLocals::printLocals() {
  f.text.line("Four *const own = reinterpret_cast<Four *>(" +
              spanPlace(f, form, "carries", "slot") + ") + thread;");
  unrolled("n", tiles.columnTiles);
  unrolled("a", tiles.rowTiles);
  for (auto [i, state] : llvm::enumerate(stateNames)) {
    std::string four = state + "[a][n]";
    f.text.line("own[(" + number(i * tiles.rowTiles * tiles.columnTiles) +
                " + a * " + number(tiles.columnTiles) + " + n) * " + threads() +
                "] = Four{{" + four + "[0], " + four + "[1], " + four +
                "[2], " + four + "[3]}};");
  }
  f.text.close();
  f.text.close();
  if (form.hasVectorDecay()) {
    for (std::int64_t x = 0; x * 32 * tiles.computeWarps() < decayWidth();
         ++x) {
      std::string entry = number(x * 32 * tiles.computeWarps()) + " + thread";
      f.text.line("if (" + entry + " < " + number(decayWidth()) + ") (" +
                  spanPlace(f, form, "remaining", "slot") + ")[" + entry +
                  "] = expf(logSum[" + number(x) + "]);");
    }
  }
}

} // namespace recurra::cuda
