// Decays that are vectors: each row, or each column, has a factor of its own,
// so G is a vector too. Vectors along its axis take what is missing of a
// degree, and a segment ends where the decay of any entry passes the limit.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/ScanWalkers.h"

using namespace mlir;

namespace recurra::cuda {

//===----------------------------------------------------------------------===//
// Degrees
//===----------------------------------------------------------------------===//

std::string indexOf(ScanOperand::Kind kind) {
  return kind == ScanOperand::Row      ? "[2 * a + e / 2]"
         : kind == ScanOperand::Column ? "[2 * n + e % 2]"
                                       : "";
}

ScanOperand::Kind ScanValues::powerKind() const {
  return !form.hasVectorDecay()   ? ScanOperand::Scalar
         : form.isRow(form.decay) ? ScanOperand::Row
                                  : ScanOperand::Column;
}

bool ScanValues::isAcrossDecay(const Node *node) const {
  return form.hasVectorDecay() && node->axes.size() == 1 &&
         !form.isAlongDecay(node);
}

bool ScanValues::isOverDecay(const ScanSum &sum) const {
  return form.hasVectorDecay() &&
         (sum.kind == ScanSum::OverBoth ||
          (sum.kind == ScanSum::OverRows) == form.isRow(form.decay));
}

/// A sum over entries of different G is one of whole values.
int ScanValues::matrixDegree(const ScanSum &sum) const {
  bool isWhole = isFlexible(sum.matrix) || (isOverDecay(sum) && !sum.weight);
  return isWhole ? 0 : natural(sum.matrix);
}

//===----------------------------------------------------------------------===//
// Segments
//===----------------------------------------------------------------------===//

/// The log of the decay: of a token, or of its entry `index`.
std::string ScanProducers::logOf(StringRef index) {
  const Node *decay = peel(form.decay);
  return opOf(decay) == "math.exp" ? prepared(decay->operands[0], index)
                                   : "logf(" + prepared(decay, index) + ")";
}

/// Tokens whose logs a thread holds while it looks for cuts.
static constexpr std::int64_t cutWindow = 8;

/// Within `enter`. Most runs are one segment, which takes no more than a look
/// at all units side by side.
void ScanProducers::printVectorSegments() {
  std::string floats = number(decayUnits() * decayWidth());
  f.text.line("float *const logSums = logs + half * " + floats + ";");
  f.text.line("int *const votes = reinterpret_cast<int *>(logs + 2 * " +
              floats + ");");
  f.text.line("unsigned long long starts = 1;");
  f.text.line("int begin = 0, pieces = 1, turn = 1;");
  f.text.line("bool isStrong = false, isWhole = true;");
  printWholeRun();
  f.text.open("if (!isWhole)");
  printCutRun();
  f.text.close();
  f.text.line("if (thread == 0) segments[half] = Segments{starts, begin, "
              "(short)pieces, isStrong};");
  printDecayPrefetch();
}

/// Each thread adds up the logs of an entry over a unit, then asks whether the
/// sum from the run's start passes the limit there. If none does the run is
/// whole.
void ScanProducers::printWholeRun() {
  std::int64_t width = decayWidth(), threads = 32 * tiles.producerWarps;
  std::int64_t items = decayUnits() * width, own = ceilDiv(items, threads);
  std::string inside = items % threads == 0 ? "" : "item < " + number(items);
  auto open = [&] {
    unrolled("x", own);
    f.text.line("const int item = x * " + number(threads) +
                " + thread, i = item % " + number(width) + ", at = item / " +
                number(width) + " * 16;");
  };
  f.text.line("float logTotal[" + number(own) + "], logLeast[" + number(own) +
              "], logMost[" + number(own) + "];");
  open();
  f.text.line(
      "const bool isEntry = " + (inside.empty() ? "" : inside + " && ") +
      "i < " + decayEnd() + ";");
  f.text.line("logTotal[x] = logLeast[x] = logMost[x] = 0;");
  f.text.line("#pragma unroll 8"); // loads under way
  f.text.open("for (int t = 0; t < 16; ++t)");
  printLogOfRun();
  f.text.open("if (at + t > 0)");
  f.text.line("logTotal[x] += logDecay;");
  f.text.line("logLeast[x] = fminf(logLeast[x], logTotal[x]);");
  f.text.line("logMost[x] = fmaxf(logMost[x], logTotal[x]);");
  f.text.close();
  f.text.close();
  f.text.line((inside.empty() ? "" : "if (" + inside + ") ") +
              "logSums[item] = logTotal[x];");
  f.text.close();
  f.text.line(syncProducers());
  f.text.line("float logBefore[" + number(own) + "];");
  open();
  if (!inside.empty()) {
    f.text.line("if (!(" + inside + ")) continue;");
  }
  f.text.line("float logSum = 0;");
  f.text.line("for (int u = 0; u < at / 16; ++u) logSum += logSums[u * " +
              number(width) + " + i];");
  std::string limit = limitOf();
  f.text.line("isWhole = isWhole && fabsf(logSum + logTotal[x]) <= " + limit +
              " && logSum + logLeast[x] >= -" + limit +
              " && logSum + logMost[x] <= " + limit + ";");
  f.text.line("logBefore[x] = logSum;");
  f.text.close();
  f.text.line("const int verdict = vote<" + number(tiles.producerWarps) +
              ">((isWhole ? 16 : 0) | (isStrong ? 32 : 0), votes, producer, "
              "lane);");
  f.text.line("isStrong = verdict & 32;");
  f.text.line("isWhole = (verdict & 31) == 16;");
  f.text.open("if (isWhole)");
  open();
  f.text.line((inside.empty() ? "" : "if (" + inside + ") ") +
              "logSums[item] = logBefore[x];");
  f.text.close();
  f.text.close();
}

/// The log of the decay of a run's token at + t, of entry i.
void ScanProducers::printLogOfRun() {
  sequenceName = "chunk + at + t";
  f.text.line("const float logDecay = isEntry && at + t < run ? " + logOf("i") +
              " : 0;");
  sequenceName.clear();
  f.text.line(std::string("if (at + t == 0 && !(fabsf(logDecay) <= ") +
              limitOf() + ")) isStrong = true;");
}

/// Each thread adds up the logs of its own entries, a window at a time, until
/// one passes the limit; the earliest such token of all is a cut, from where
/// sums start anew.
void ScanProducers::printCutRun() {
  std::int64_t width = decayWidth();
  std::int64_t entries = ceilDiv(width, 32 * tiles.producerWarps);
  std::string window = number(cutWindow);
  f.text.line("float logSum[" + number(entries) + "] = {};");
  f.text.open("for (int at = 0; at < run; at += " + window + ")");
  for (std::int64_t x = 0; x < entries; ++x) {
    std::string i = number(32 * tiles.producerWarps * x) + " + thread";
    f.text.line("if (at % 16 == 0 && " + i + " < " + number(width) +
                ") logSums[at / 16 * " + number(width) + " + " + i +
                "] = logSum[" + number(x) + "];");
  }
  printLogsOfWindow(entries);
  f.text.open("while (true)");
  f.text.line("int cut = 16;");
  f.text.line("float after[" + number(entries) + "];");
  for (std::int64_t x = 0; x < entries; ++x) {
    printWindow(x);
  }
  f.text.line("cut = vote<" + number(tiles.producerWarps) +
              ">(cut | (isStrong ? 32 : 0), votes + turn * " +
              number(tiles.producerWarps) + ", producer, lane);");
  f.text.line("turn ^= 1;");
  f.text.line("isStrong = cut & 32;");
  f.text.line("cut &= 31;");
  unrolled("i", entries);
  f.text.line("logSum[i] = cut == 16 ? after[i] : 0;");
  f.text.close();
  f.text.line("if (cut == 16) break;");
  f.text.line("begin = at + cut;");
  f.text.line("starts |= 1ull << begin;");
  f.text.line("++pieces;");
  f.text.close();
  f.text.close();
}

/// Has what the next run's decays read come closer: `enter` waits for it.
void ScanProducers::printDecayPrefetch() {
  constexpr std::int64_t lineBytes = 128;
  std::string ahead = form.isReverse ? "chunk - " : "chunk + ";
  ahead += number(form.interval);
  std::string end = decayEnd();
  auto isRead = [&](const ScanVector &raw) {
    return dependsOn(form.decay,
                     [&](const Node *node) { return isSame(node, raw.load); });
  };
  for (const ScanVector &raw : raws) {
    if (!form.isAlongDecay(raw.load) || !isRead(raw)) {
      continue;
    }
    auto load = cast<chunk::LoadOp>(raw.load->op);
    Type element = load.getBuffer().getType().getElement();
    std::int64_t perLine = lineBytes * 8 / element.getIntOrFloatBitWidth();
    std::string lines = "((" + end + " + " + number(perLine - 1) + ") / " +
                        number(perLine) + ")";
    f.text.open("for (int line = thread; line < " + number(form.interval) +
                " * " + lines +
                "; line += " + number(32 * tiles.producerWarps) + ")");
    f.text.line("const Index token = " + ahead + " + line / " + lines + ";");
    f.text.line("if (token >= 0 && token < " + sequence().length +
                ") prefetch(&" +
                addressOf(load.getBuffer(), load.getIndices(), "token",
                          "line % " + lines + " * " + number(perLine),
                          "line % " + lines + " * " + number(perLine)) +
                ");");
    f.text.close();
  }
}

/// Where the sums of a thread's x-th entry pass the limit in a window.
void ScanProducers::printWindow(std::int64_t x) {
  std::string logs = "logDecays[" + number(x) + "][t]";
  f.text.open("");
  f.text.line("float logNow = logSum[" + number(x) + "];");
  unrolled("t", cutWindow);
  f.text.line("if (at + t > begin) logNow += " + logs + ";");
  f.text.line(std::string("if (at + t > begin && cut > t && !(fabsf(logNow) "
                          "<= ") +
              limitOf() + ")) cut = t;");
  f.text.close();
  f.text.line("after[" + number(x) + "] = logNow;");
  f.text.close();
}

/// The logs of a thread's entries in a window.
void ScanProducers::printLogsOfWindow(std::int64_t entries) {
  f.text.line("float logDecays[" + number(entries) + "][" + number(cutWindow) +
              "];");
  unrolled("x", entries);
  f.text.line("const int i = x * " + number(32 * tiles.producerWarps) +
              " + thread;");
  f.text.line("const bool isEntry = i < " + decayEnd() + ";");
  unrolled("t", cutWindow);
  printLogOfRun();
  f.text.line("logDecays[x][t] = logDecay;");
  f.text.close();
  f.text.close();
}

//===----------------------------------------------------------------------===//
// Preparing
//===----------------------------------------------------------------------===//

/// Before the tokens of a unit: the log of G at the token before.
void ScanProducers::printDecayStart() {
  std::string width = number(decayWidth());
  f.text.line("float logSum = logs[(here.half * " +
              number(form.interval / scanUnit) + " + at / 16) * " + width +
              " + i];");
}

/// Of each token: the factor that enters its segment from the first token, else
/// G; and the log of G.
void ScanProducers::printDecayStep(bool padded) {
  f.text.line("const bool isFirst = first >> (at + t) & 1;");
  f.text.line("const float logNow = logSum + (" +
              (padded ? "isEntry ? " + logOf("i") + " : 0" : logOf("i")) +
              ");");
  f.text.line("now[" + number(specialOffset()) + " + place] = expf(logNow);");
  f.text.line("logSum = isFirst ? 0 : logNow;");
}

std::string ScanProducers::decayPower(int degree) {
  return "expf(" + number(-degree) + ".0f * logSum)";
}

//===----------------------------------------------------------------------===//
// Adding
//===----------------------------------------------------------------------===//

/// Whether a token is the first of its segment, where G is 1.
static std::string isFirst(const std::string &token) {
  return "(header[1] >> (" + token + ") & 1) || header[4] + " + token + " == 0";
}

/// A value times G^degree, at the entry of `place`. No other power of G is kept
/// in shared memory, which is scarce.
std::string ScanAdders::timesDecay(const std::string &value, int degree) {
  std::string product = value;
  if (degree == 0) {
    return value;
  }
  std::string G = "(" + isFirst("t") + " ? 1 : now[" + number(specialOffset()) +
                  " + place])";
  for (int i = 0; i < std::abs(degree); ++i) {
    product = "(" + product + (degree < 0 ? " / " : " * ") + G + ")";
  }
  return product;
}

/// A vector that only those who walk have, scaled: as it is. Else empty.
std::string ScanAdders::addedScaled(const Node *node) {
  if (!form.isAlongDecay(node) || values.find(node, 0)) {
    return "";
  }
  for (int degree : {1, -1}) {
    if (const ScanOperand *operand = values.find(node, degree)) {
      return timesDecay("now[" + number(operand->offset) + " + place]", degree);
    }
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Walking
//===----------------------------------------------------------------------===//

/// Declares what lies `offset` behind `at`: a number, or a lane's entries of a
/// vector; as element (a, n, e) reads it. At `leavingOffset`, G at the end of
/// the unit.
std::string ScanWalkers::fetchFactor(StringRef at, std::int64_t offset) {
  std::string name = f.text.name("factor");
  if (!form.hasVectorDecay()) {
    f.text.line("const float " + name + " = (" + at + ")[" + number(offset) +
                "];");
    return name;
  }
  bool isRow = form.isRow(form.decay);
  std::int64_t count = 2 * (isRow ? tiles.rowTiles : tiles.columnTiles);
  f.text.line("float " + name + "[" + number(count) + "];");
  f.text.line("fetch(" + name + ", " + at.str() + " + " +
              number(specialOffset()) + " + " + laneEntries(isRow) + ");");
  if (offset == leavingOffset()) {
    f.text.open("if (" + isFirst("count - 1") + ")");
    unrolled("i", count);
    f.text.line(name + "[i] = 1;");
    f.text.close();
    f.text.close();
  }
  return name + indexOf(values.powerKind());
}

/// By G, of the token whose operands lie at `at`.
void ScanWalkers::divideStates(StringRef at) {
  std::string factor = fetchFactor(at, leavingOffset());
  openElements();
  for (const std::string &state : stateNames) {
    f.text.line(state + "[a][n][e] /= " + factor + ";");
  }
  closeElements();
}

std::int64_t ScanWalkers::leavingOffset() {
  return form.hasVectorDecay() ? -1
         : form.isReverse      ? specialOffset() + 1
                               : values.power(1).offset;
}

/// Behind a segment's first token, with the states held before it at hand: sums
/// of products with what the token found, for each entry of the decay.
void ScanWalkers::printExactVectors() {
  for (const ScanSum &sum : values.sums) {
    if (form.hasVectorDecay() && !values.isOverDecay(sum) && !sum.weight &&
        values.pending(sum.matrix) == -1) {
      printExactVector(sum);
    }
  }
}

void ScanWalkers::printExactVector(const ScanSum &sum) {
  ScanElement element = steppedElement();
  if (!element.isReady(sum.matrix)) {
    return; // the token's other values are gone
  }
  bool isRow = form.isRow(form.decay);
  std::int64_t count = 2 * (isRow ? tiles.rowTiles : tiles.columnTiles);
  std::string factor = fetchFactor("now", specialOffset());
  std::string name = f.text.name("exact");
  f.text.line("float " + name + "[" + number(count) + "] = {};");
  openElements();
  std::string value = element.at(sum.matrix, values.natural(sum.matrix));
  f.text.line(name + indexOf(values.powerKind()) + " += " + guarded(value) +
              " * " + factor + ";");
  closeElements();
  if (sum.kind == ScanSum::OverRows || !usesMatrix) {
    unrolled("i", count);
    f.text.line("parts[" + number(sum.slot) + " + i] = " + name + "[i];");
    f.text.close();
    return;
  }
  // To the lane that has this column of the matrix instructions' results.
  std::string column = "(" + columnOf(sum.slot) + ")";
  unrolled("i", count);
  f.text.line(name + "[i] += __shfl_xor_sync(0xffffffffu, " + name +
              "[i], 1);");
  f.text.line(name + "[i] += __shfl_xor_sync(0xffffffffu, " + name +
              "[i], 2);");
  f.text.line("if (lane % 4 == " + column +
              " / 2) columnSums[i / 2][i % 2 * "
              "2 + " +
              column + " % 2] = " + name + "[i];");
  f.text.close();
}

} // namespace recurra::cuda
