// The kernel that adds to each span's gradients what arrives at its end.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/KernelPrinter.h"
#include "compiler/target/cuda/ScanCorrections.h"

using namespace mlir;

namespace recurra::cuda {

std::string SpanCorrector::print(func::FuncOp function) {
  printHead(function);
  openTasks();
  f.text.line("if (span.count == 1) continue;");
  printTask();
  f.text.close();
  f.text.close();
  finishNest("_correct", sharedBytes());
  return f.text.str();
}

void SpanCorrector::printHead(func::FuncOp function) {
  f.text.line("");
  f.text.comment("One block for each span of a sequence that has several. What "
                 "arrives at its end, times vectors of its tokens, is added to "
                 "their gradients.");
  f.text.line("extern \"C\" __global__ void __launch_bounds__(" + threads() +
              ", 1)");
  f.text.open(nest.entry +
              "_correct(const __grid_constant__ Buffers buffers,\n        "
              "const __grid_constant__ Shape shape, Index tasks, char "
              "*scratch)");
  printBuffers(function, f);
  printSpanBuffers(function, f, form);
  layOut();
  printRole();
  f.text.line("char *const shared = sharedMemory();");
  f.text.line("float *const numbers = reinterpret_cast<float *>(shared);");
  std::int64_t ofNumbers = form.spanTokens * tokenNumbers;
  f.text.line("float *const sums = numbers + " +
              number(ceilDiv(ofNumbers, 4) * 4) + ";");
  std::int64_t count = pairs.size();
  f.text.comment("Of products of adjoints with states: changes by each token, "
                 "what they were before a unit, and parts of warps.");
  f.text.line("float *const changes = sums + " + number(contractedFloats) +
              ";");
  f.text.line("float *const before = changes + " + number(scanUnit * count) +
              ";");
  f.text.line("float *const votes = before + " + number(2 * count) + ";");
  f.text.line("float *const whole = votes + " +
              number(count * tiles.computeWarps()) + ";");
  printRaws(sharedBytes() - rawBytes);
}

static bool isShort(std::int64_t width, const std::string &end) {
  return std::to_string(width) != end;
}

/// Of the tokens that nothing arrives at, results are what the walk left.
void SpanCorrector::printPassed() {
  constexpr std::int64_t batch = 8; // loads under way
  for (const Node *store : wideStores(form)) {
    std::int64_t width = store->axes.empty() ? 1 : widthOf(form.isRow(store));
    f.text.line("#pragma unroll 1");
    f.text.open("for (int done = 0; done < passed * " + number(width) +
                "; done += " + number(batch * threadCount()) + ")");
    f.text.line("float waiting[" + number(batch) + "];");
    for (bool isLoad : {true, false}) {
      unrolled("p", batch);
      f.text.line("const int word = done + p * " + threads() +
                  " + thread, t = word / " + number(width) + ", i = word % " +
                  number(width) + ";");
      f.text.open("if (t < passed" + endCondition(store) + ")");
      Results results = resultsOf(store, "0");
      f.text.line(isLoad ? "waiting[p] = " + results.waiting + ";"
                         : results.condition + "narrow(" + results.result +
                               ", waiting[p]);");
      f.text.close();
      f.text.close();
    }
    f.text.close();
  }
}

/// Of a vector whose width is padded.
std::string SpanCorrector::endCondition(const Node *store) {
  bool isRow = form.isRow(store);
  bool isCut = !store->axes.empty() && isShort(widthOf(isRow), endOf(isRow));
  return isCut ? " && i < " + endOf(isRow) : "";
}

/// Where entry i of token t from `first` on is at last, and where the walk left
/// it.
SpanCorrector::Results SpanCorrector::resultsOf(const Node *node,
                                                const std::string &first) {
  auto store = cast<chunk::StoreOp>(node->op);
  Value buffer = store.getBuffer();
  Results results;
  results.result = "(&" +
                   addressOf(buffer, store.getIndices(),
                             sequence().begin + " + " + first, "0", "0") +
                   ")[t * " + strideOf(buffer, "T");
  results.result +=
      node->axes.empty()
          ? "]"
          : " + i * " + strideOf(buffer, node->axes[0].name) + "]";
  results.waiting = results.result;
  if (int place = widePlace(form, node); place >= 0) {
    results.waiting =
        onWide(results.result, f.buffers.lookup(store.getBuffer()), place);
  }
  if (store.getFirst()) {
    results.condition = "if (" + f.spans[store.getFirst()].origin + " == 0) ";
  }
  return results;
}

//===----------------------------------------------------------------------===//
// What arrives
//===----------------------------------------------------------------------===//

void SpanCorrector::printTask() {
  f.text.line("const bool isLast = span.number + 1 == span.count;");
  f.text.line("int passed = (int)(" + sequence().end + " - " +
              sequence().begin + "); // tokens");
  f.text.open("if (!isLast)");
  printNumbers();
  f.text.open("if (warp == 0)");
  printDecayToEnd("whole[0]");
  f.text.close();
  printFirstReached();
  f.text.line("passed = firstReached;");
  f.text.close();
  printPassed();
  f.text.line("if (isLast) continue;");
  f.text.line("const int firstUnit = passed / 16;");
  printAdjoints();
  printFirstPairs();
  printCopy(sequence().begin + " + unit * 16");
  printUnits();
}

/// As lanes hold them that walk; and, for sums over rows, turned.
void SpanCorrector::printAdjoints() {
  std::string a = number(tiles.rowTiles), n = number(tiles.columnTiles);
  std::int64_t perAdjoint =
      tiles.rowTiles * tiles.columnTiles * threadCount() * 4;
  f.text.line("const float *const entered = " +
              spanPlace(f, form, "carries", "slot + 1") + ";");
  adjointNames.clear();
  for (std::size_t i = 0; i < form.adjoints.size(); ++i) {
    std::string name = f.text.name("arriving");
    adjointNames.push_back(name);
    f.text.line("float " + name + "[" + a + "][" + n + "][4], " + name +
                "_turned[" + number(2 * tiles.rowTiles) + "][" + n + "][2];");
    unrolled("n", tiles.columnTiles);
    unrolled("a", tiles.rowTiles);
    f.text.line("float four[4];");
    f.text.line("fetch(four, entered + " + number(i * perAdjoint) +
                " + ((a * " + n + " + n) * " + threads() + " + thread) * 4);");
    unrolled("e", 4);
    f.text.line(name + "[a][n][e] = four[" + placeOfElement + "];");
    f.text.close();
    f.text.close();
    unrolled("a", 2 * tiles.rowTiles);
    unrolled("e", 2);
    f.text.line("const int r = lane % 4 * 2 + e;");
    f.text.line(name + "_turned[a][n][e] = entered[" + number(i * perAdjoint) +
                " + ((a / 2 * " + n + " + n) * " + threads() +
                " + warp * 32 + r * 4 + lane / 8) * 4 + lane / 4 % 2 * 2 + a % "
                "2];");
    f.text.close();
    f.text.close();
    f.text.close();
  }
}

/// Products with the states that enter the span, as its end sees them.
void SpanCorrector::printFirstPairs() {
  if (pairs.empty()) {
    return;
  }
  f.text.line("const int firstRow = warpRow * " + number(16 * tiles.rowTiles) +
              " + lane / 4;");
  f.text.line("const int firstColumn = warpColumn * " +
              number(8 * tiles.columnTiles) + " + lane % 4 * 2;");
  f.text.line("float inner[" + number(pairs.size()) + "] = {};");
  auto inits = cast<chunk::ForOp>(*form.trace).getInits();
  openElements();
  for (auto [k, pair] : llvm::enumerate(pairs)) {
    auto load = cast<chunk::LoadOp>(inits[pair.state].getDefiningOp());
    std::string value =
        "widen(" +
        addressOf(load.getBuffer(), load.getIndices(), sequence().begin,
                  "firstRow + 16 * a + e / 2 * 8",
                  "firstColumn + 8 * n + e % 2") +
        ")";
    f.text.line("inner[" + number(k) + "] += " + adjointNames[pair.adjoint] +
                "[a][n][e] * " + guarded(value) + ";");
  }
  closeElements();
  std::string count = number(pairs.size());
  unrolled("i", pairs.size());
  f.text.line("overLanes<false>(inner[i], lane);");
  f.text.line("if (lane == 0) votes[warp * " + count + " + i] = inner[i];");
  f.text.close();
  f.text.line("syncBlock();");
  f.text.open("if (thread < " + count + ")");
  f.text.line("float total = 0;");
  f.text.line("for (int w = 0; w < " + number(tiles.computeWarps()) +
              "; ++w) total += votes[w * " + count + " + thread];");
  f.text.line("before[firstUnit % 2 * " + count +
              " + thread] = whole[0] * total;");
  f.text.close();
}

//===----------------------------------------------------------------------===//
// Units
//===----------------------------------------------------------------------===//

void SpanCorrector::printUnits() {
  std::string units = number(form.spanTokens / scanUnit);
  f.text.line("if (firstUnit < " + units + ") copy(firstUnit);");
  f.text.line("#pragma unroll 1");
  f.text.open("for (int unit = firstUnit; unit < " + units + "; ++unit)");
  f.text.line("const int at = unit * 16, step = unit; // of the copies");
  f.text.line("waitForCopies<0>();");
  f.text.line("syncBlock();");
  f.text.line("if (unit + 1 < " + units + ") copy(unit + 1);");
  printVectors(/*isLoad=*/true);
  if (!pairs.empty()) {
    printNumberLoads();
  }
  printWeights();
  f.text.line("syncBlock();");
  printContractions();
  f.text.line("syncBlock();");
  printVectors(/*isLoad=*/false);
  if (!pairs.empty()) {
    printChanges();
    f.text.line("syncBlock();");
    printNumberStores();
  }
  f.text.close();
  f.text.line("syncBlock();");
}

/// The vectors that adjoints are summed with, scaled by what is left of them.
void SpanCorrector::printWeights() {
  for (const Contraction &contraction : contractions) {
    bool isRow = !contraction.isOverColumns;
    std::int64_t width = widthOf(isRow);
    f.text.open("for (int word = thread; word < " + number(16 * width) +
                "; word += " + threads() + ")");
    f.text.line("const int t = word / " + number(width) + ", i = word % " +
                number(width) + ";");
    f.text.line("const float *const now = numbers + (at + t) * " +
                number(tokenNumbers) + ";");
    std::string value = "now[0]";
    for (const Node *weight : contraction.weights) {
      value += " * " + prepared(weight, "i");
    }
    if (isShort(width, endOf(isRow))) {
      value = "i < " + endOf(isRow) + " ? " + value + " : 0";
    }
    f.text.line("sums[" + number(contraction.weightOffset) + " + t * " +
                number(pitchOf(width)) + " + i] = " + value + ";");
    f.text.close();
  }
}

void SpanCorrector::printContractions() {
  for (const Contraction &contraction : contractions) {
    f.text.open("");
    printContraction(contraction);
    f.text.close();
  }
}

/// Tokens by entries: each warp has its part of the sum.
void SpanCorrector::printContraction(const Contraction &contraction) {
  bool isOverColumns = contraction.isOverColumns;
  std::int64_t steps = isOverColumns ? tiles.columnTiles : 2 * tiles.rowTiles;
  std::int64_t results = isOverColumns ? 2 * tiles.rowTiles : tiles.columnTiles;
  std::string pitch = number(pitchOf(widthOf(!isOverColumns)));
  std::string partPitch = number(pitchOf(widthOf(isOverColumns)));
  std::string along = isOverColumns ? "warpColumn" : "warpRow";
  std::string across = isOverColumns ? "warpRow" : "warpColumn";
  f.text.line("float left[" + number(steps) + "][4];");
  unrolled("n", steps);
  f.text.line("const float *const from = sums + " +
              number(contraction.weightOffset) + " + lane / 4 * " + pitch +
              " + " + along + " * " + number(8 * steps) +
              " + n * 8 + lane % 4 * 2;");
  unrolled("e", 4);
  f.text.line("left[n][e] = from[e / 2 * 8 * " + pitch + " + e % 2];");
  f.text.close();
  f.text.close();
  unrolled("p", results);
  f.text.line("float result[4] = {};");
  unrolled("n", steps);
  std::string name = adjointNames[contraction.adjoint];
  f.text.line(multiplyName() + "result, left[n], " +
              (isOverColumns
                   ? name + "[p / 2][n][p % 2 * 2], " + name +
                         "[p / 2][n][p % 2 * 2 + 1]"
                   : name + "_turned[n][p][0], " + name + "_turned[n][p][1]") +
              ");");
  f.text.close();
  f.text.line("float *const to = sums + " + number(contraction.partOffset) +
              " + (" + along + " * 16 + lane / 4) * " + partPitch + " + " +
              across + " * " + number(8 * results) +
              " + p * 8 + lane % 4 * 2;");
  unrolled("half", 2);
  f.text.line("*reinterpret_cast<Two *>(to + half * 8 * " + partPitch +
              ") = Two{{result[2 * half], result[2 * half + 1]}};");
  f.text.close();
  f.text.close();
}

/// Each thread's words of a unit's vectors: what the walk left of them is on
/// its way while the sums are made.
void SpanCorrector::printWords(const Node *store, bool isLoad) {
  std::int64_t width = widthOf(form.isRow(store));
  std::int64_t words = scanUnit * width;
  std::int64_t rounds = ceilDiv(words, threadCount());
  if (isLoad) {
    waitingNames[store] = f.text.name("waiting");
    f.text.line("float " + waitingNames[store] + "[" + number(rounds) + "];");
  }
  unrolled("p", rounds);
  f.text.line("const int word = p * " + threads() + " + thread, t = word / " +
              number(width) + ", i = word % " + number(width) + ";");
  std::string inside = words % threadCount() == 0
                           ? std::string()
                           : " && word < " + number(words);
  inside += endCondition(store);
  f.text.open(inside.empty() ? "" : "if (" + inside.substr(4) + ")");
  Results results = resultsOf(store, "at");
  std::string waiting = waitingNames[store] + "[p]";
  if (isLoad) {
    f.text.line(waiting + " = " + results.waiting + ";");
  } else {
    f.text.line("const float *const now = numbers + (at + t) * " +
                number(tokenNumbers) + ";");
    f.text.line(results.condition + "narrow(" + results.result + ", " +
                waiting + " + " + delta(store->operands[0])->text + ");");
  }
  f.text.close();
  f.text.close();
}

void SpanCorrector::printVectors(bool isLoad) {
  isOfNumber = false;
  for (const Node *store : form.stores) {
    if (!store->axes.empty() && isCorrected(store->operands[0])) {
      printWords(store, isLoad);
    }
  }
}

/// Each warp has some tokens.
void SpanCorrector::printChanges() {
  std::string warps = number(tiles.computeWarps()),
              count = number(pairs.size());
  std::int64_t rounds = ceilDiv(scanUnit, tiles.computeWarps());
  f.text.line("float change[" + number(rounds * pairs.size()) + "] = {};");
  auto openTokens = [&] {
    unrolled("r", rounds);
    f.text.open("if (const int t = warp + r * " + warps + "; t < 16)");
  };
  openTokens();
  f.text.line("const float *const now = numbers + (at + t) * " +
              number(tokenNumbers) + ";");
  for (auto [k, pair] : llvm::enumerate(pairs)) {
    std::string mine = "change[r * " + count + " + " + number(k) + "]";
    f.text.line("for (int i = lane; i < " + columnsHere() + "; i += 32) " +
                mine + " = " + mine + *changeOf(pair) + ";");
  }
  f.text.close();
  f.text.close();
  f.text.line("overLanes<false>(change, lane);");
  openTokens();
  f.text.open("if (lane == 0)");
  unrolled("k", pairs.size());
  f.text.line("changes[t * " + count + " + k] = change[r * " + count +
              " + k];");
  f.text.close();
  f.text.close();
  f.text.close();
  f.text.close();
}

/// What the walk left of the numbers: on its way early, as words are.
void SpanCorrector::printNumberLoads() {
  for (const Node *store : form.stores) {
    if (store->axes.empty() && isCorrected(store->operands[0])) {
      waitingNames[store] = f.text.name("waiting");
      f.text.line("float " + waitingNames[store] + " = 0;");
      f.text.line("if (const int t = thread; t < 16) " + waitingNames[store] +
                  " = " + resultsOf(store, "at").waiting + ";");
    }
  }
}

/// The product before a token: all changes before it, none of them larger than
/// what is left of it there.
void SpanCorrector::printNumberStores() {
  std::string count = number(pairs.size());
  isOfNumber = true;
  f.text.open("if (thread <= 16)");
  f.text.line("const int t = thread, i = 0;");
  f.text.line("float inner[" + count + "];");
  unrolled("p", pairs.size());
  f.text.line("inner[p] = before[unit % 2 * " + count + " + p];");
  unrolled("w", scanUnit);
  f.text.line("inner[p] += w < t ? changes[w * " + count + " + p] : 0;");
  f.text.close();
  f.text.line("if (t == 16) before[(unit + 1) % 2 * " + count +
              " + p] = inner[p];");
  f.text.close();
  f.text.open("if (t < 16)");
  f.text.line("const float *const now = numbers + (at + t) * " +
              number(tokenNumbers) + ";");
  for (const Node *store : form.stores) {
    if (store->axes.empty() && isCorrected(store->operands[0])) {
      Results results = resultsOf(store, "at");
      f.text.line(results.condition + "narrow(" + results.result + ", " +
                  waitingNames[store] + " + " +
                  delta(store->operands[0])->text + ");");
    }
  }
  f.text.close();
  f.text.close();
}

} // namespace recurra::cuda
