// From run to run: where a sequence's runs begin, how one is cut into segments,
// in which order its units come, and the states that were saved at its ends.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/ScanProducers.h"

using namespace mlir;

namespace recurra::cuda {

/// A run's length before where those of a sequence begin to be walked.
std::string ScanProducers::beforeFirstChunk() {
  const std::string &length = sequence().end;
  std::string step = number(form.interval);
  return form.isReverse
             ? "(" + length + " - 1 + " + step + ") / " + step + " * " + step
             : sequence().begin + " - " + step;
}

/// Within `enter`: the segments of a run by decays that are numbers.
void ScanProducers::printSegments(const std::string &step) {
  f.text.line("float *const logDecay = logs + half * " +
              std::to_string(2 * form.interval) + ";");
  f.text.line("#pragma unroll 1");
  f.text.open("for (int t = thread; t < run; t += " +
              std::to_string(32 * tiles.producerWarps) + ")");
  sequenceName = "chunk + t";
  f.text.line("logDecay[t] = " + (form.decay ? logOf("") : "0.0f") + ";");
  sequenceName.clear();
  f.text.close();
  f.text.line(syncProducers());
  f.text.line(
      "if (producer == 0) " +
      std::string(form.isReverse ? "findSegmentsBack" : "findSegments") +
      "(logDecay, logDecay + " + step + ", run, " + limitOf() +
      ", segments[half], lane);");
}

/// Lambdas that go from unit to unit: `enter` a run, which finds its segments,
/// and `next`.
void ScanProducers::printRuns() {
  // Only a sequence's last run may be short: backward, its length tells.
  const std::string &length =
      form.isReverse ? sequence().length : sequence().end;
  std::string step = std::to_string(form.interval);
  f.text.open("auto enter = [&](Index chunk, int half) -> Place");
  f.text.line("if (chunk < " + sequence().begin + " || chunk >= " + length +
              ") return Place{};");
  f.text.line("const int run = " + length + " - chunk < " + step + " ? (int)(" +
              length + " - chunk) : " + step + ";");
  if (form.hasVectorDecay()) {
    printVectorSegments();
  } else {
    printSegments(step);
  }
  f.text.line(syncProducers());
  if (form.isReverse) {
    f.text.comment("The states at the ends of segments come from the run's "
                   "start, those at its own end from the next one's: only the "
                   "last run has none.");
    f.text.line("const bool isHeld = chunk + " + step + " >= " + length + ";");
    f.text.line("const Segments &found = segments[half];");
    // Of matrix decays, those at the starts of units.
    bool isByUnit = form.hasMatrixDecay;
    f.text.line(isByUnit ? "const int pass = run > 16 ? 0 : 1;"
                         : "const int pass = isHeld || found.count > 1 || "
                           "found.isStrong ? 0 : 1;");
    f.text.line(isByUnit
                    ? "const int end = pass == 1 ? run : (run - 1) / 16 * 16;"
                    : "const int end = pass == 1 || isHeld ? run : found.last "
                      "> 0 ? found.last : 1;");
    f.text.line("return Place{chunk, run, end, 0, pass, half, isHeld, 0, "
                "0}.atUnit(pass == 1);");
  } else {
    f.text.line("return Place{chunk, run, run, 0, 1, half, false, 0, "
                "0}.atUnit(false);");
  }
  f.text.close("};");
  f.text.open("auto next = [&](Place p) -> Place");
  f.text.open("if (++p.u == p.units() && p.pass == 1)");
  f.text.line("const Index chunk = p.chunk " +
              std::string(form.isReverse ? "- " : "+ ") + step + ";");
  if (form.isReverse) {
    f.text.open("if (chunk >= 0)");
    printPrefetch();
    f.text.close();
  }
  f.text.line("return enter(chunk, p.half ^ 1);");
  f.text.close();
  f.text.open("if (p.u == p.units())");
  f.text.line("p.u = 0;");
  f.text.line("p.end = p.run;");
  f.text.line("p.pass = 1;");
  f.text.close();
  f.text.line("return p.atUnit(" +
              std::string(form.isReverse ? "p.pass == 1" : "false") + ");");
  f.text.close("};");
}

/// The saved states at a run's start are read when it is traced, or when the
/// run before it is entered.
void ScanProducers::printPrefetch() {
  constexpr std::int64_t perLine = 32;
  for (Value init : cast<chunk::ForOp>(*form.trace).getInits()) {
    auto load = cast<chunk::LoadOp>(init.getDefiningOp());
    bool isByRow = load.getBuffer().getType().getNames().back() == form.columns;
    std::string all = isByRow ? rowsHere() : columnsHere();
    std::string along = isByRow ? columnsHere() : rowsHere();
    f.text.line("#pragma unroll 1");
    f.text.open("for (int line = thread; line < " + all + " * ((" + along +
                " + " + number(perLine - 1) + ") / " + number(perLine) +
                "); line += " + number(32 * tiles.producerWarps) + ")");
    std::string at = "line % (" + all + ")";
    std::string by = "line / (" + all + ") * " + number(perLine);
    f.text.line("prefetch(&" +
                addressOf(load.getBuffer(), load.getIndices(), "chunk",
                          isByRow ? at : by, isByRow ? by : at) +
                ");");
    f.text.close();
  }
}

/// Where the states lie that the warps which walk load at a run's start: those
/// saved there for the walk to the segments' ends, those of the next run's for
/// the way back. Decays that are matrices have both begin at the start.
void ScanProducers::printSavedPlaces() {
  std::string token = "here.chunk";
  if (!form.hasMatrixDecay) {
    token += " + (here.pass == 1 ? " + number(form.interval) + " : 0)";
    f.text.open("if (here.u == 0)");
  }
  for (auto [i, init] :
       llvm::enumerate(cast<chunk::ForOp>(*form.trace).getInits())) {
    auto load = cast<chunk::LoadOp>(init.getDefiningOp());
    f.text.line(
        "reinterpret_cast<const " +
        storedName(load.getBuffer().getType().getElement()) +
        " **>(header + 8)[" + number(static_cast<std::int64_t>(i)) + "] = &" +
        addressOf(load.getBuffer(), load.getIndices(), token, "0", "0") + ";");
  }
  if (!form.hasMatrixDecay) {
    f.text.close();
  }
}

} // namespace recurra::cuda
