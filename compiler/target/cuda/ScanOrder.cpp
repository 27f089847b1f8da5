// Which task a block takes next. Heads whose states decay fast are cut into
// more segments and take longer: with a few tasks for each block, theirs come
// first, and from one round to the next blocks take turns from the other end.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/ScanProducers.h"

using namespace mlir;

namespace recurra::cuda {

/// What an item takes: how fast its states decay, at a few tokens.
void ScanProducers::printCosts() {
  std::string slices = number(form.slices());
  f.text.line("#pragma unroll 1");
  f.text.open("for (unsigned x = threadIdx.x; x < 4 * items; x += " +
              number(32 * tiles.warps()) + ")");
  f.text.line("sums[x] = 0;");
  f.text.line("const unsigned task = x / 4 * " + slices + ";");
  f.enterTask();
  const SequenceText &tokens = sequence();
  f.text.line("#pragma unroll 2");
  f.text.open("for (int j = 0; " + tokens.begin + " < " + tokens.end +
              " && j < 8; ++j)");
  f.text.line("const Index token = " + tokens.begin + " + (" + tokens.end +
              " - " + tokens.begin + ") * (x % 4 * 8 + j) / 32;");
  sequenceName = "token";
  f.text.line("sums[x] += fminf(fabsf(" + logOf("") + "), " + limitOf() + ");");
  sequenceName.clear();
  f.text.close();
  f.text.close();
}

/// Declares `taskAt`: the task that stands at a place of the order. Results do
/// not depend on it.
void ScanProducers::printOrder() {
  if (!isOrdered()) {
    return;
  }
  std::string slices = number(form.slices());
  f.text.line("const unsigned items = (unsigned)tasks / " + slices + ";");
  f.text.line(
      "const bool isOrdered = tasks > gridDim.x && items <= " +
      number(std::min(mostItems, 2 * tiles.computeWarps() * warpSums / 4)) +
      ";");
  f.text.open("if (isOrdered)");
  printCosts();
  f.text.line("syncBlock();");
  f.text.line("auto costOf = [&](unsigned i) { return (sums[4 * i] + sums[4 * "
              "i + 1]) + (sums[4 * i + 2] + sums[4 * i + 3]); };");
  f.text.line("#pragma unroll 1");
  f.text.open("for (unsigned i = threadIdx.x; i < items; i += " +
              number(32 * tiles.warps()) + ")");
  f.text.line("const float mine = costOf(i);");
  f.text.line("int rank = 0;");
  f.text.line("#pragma unroll 1");
  f.text.open("for (unsigned k = 0; k < items; ++k)");
  f.text.line("const float other = costOf(k);");
  f.text.line("rank += other > mine || (other == mine && k < i);");
  f.text.close();
  f.text.line("order[rank] = (unsigned short)i;");
  f.text.close();
  f.text.line("syncBlock();");
  f.text.close();
  f.text.open("auto taskAt = [&](unsigned task) -> unsigned");
  f.text.line("if (!isOrdered) return task;");
  f.text.line("const unsigned round = task / gridDim.x, at = task % gridDim.x, "
              "left = (unsigned)tasks - round * gridDim.x;");
  f.text.line("const unsigned size = left < gridDim.x ? left : gridDim.x;");
  f.text.line(
      "const unsigned place = round * gridDim.x + (round % 2 ? size - 1 "
      "- at : at);");
  f.text.line("return order[place / " + slices + "] * " + slices +
              " + place % " + slices + ";");
  f.text.close("};");
  f.taskText = "taskAt(task)";
}

} // namespace recurra::cuda
