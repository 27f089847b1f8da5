// The walk from token to token: what a group of them hands over, and what one
// does to each element of the matrices.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/ScanWalkers.h"

using namespace mlir;

namespace recurra::cuda {

void ScanWalkers::printTokens() {
  f.text.line(std::string("const int cuts = ") +
              (form.decay ? "flags & isCut ? header[1] : 0;" : "0;"));
  printBalanceStart();
  if (asksAhead()) {
    f.text.line("bool isFree = false; // the next group's room for sums");
  }
  f.text.open("auto walk = [&](int done, auto isCutHere, auto isFull)");
  printTokensOfGroup();
  f.text.close("};");
  form.isReverse ? printGroupsBack() : printGroups();
}

/// Whether a group asks for the next one's room between its tokens: as many
/// walking warps on each scheduler, which have many elements, have nothing else
/// to do while the answer is on its way. Else it costs more than it saves.
bool ScanWalkers::asksAhead() const {
  return form.isReverse && !form.isAhead && tiles.group > 1 &&
         tiles.spareAdders() == 0 && tiles.hasManyElements();
}

void ScanWalkers::openGroups(const std::string &count) {
  f.text.line("#pragma unroll 1");
  f.text.open("for (int done = 0; done < " + count +
              "; done += " + number(tiles.group) + ")");
}

static const char *const walkWhole =
    "walk(done, Choice<false>(), Choice<true>());";
static const char *const walkPart =
    "walk(done, Choice<true>(), Choice<false>());";

/// Tokens are short: a loop of its own for whole units is worth its code.
void ScanWalkers::printGroups() {
  f.text.open("if (!cuts && count == " + number(scanUnit) + ")");
  openGroups(number(scanUnit));
  f.text.line(walkWhole);
  f.text.close();
  f.text.close();
  f.text.open("else");
  openGroups("count");
  f.text.line(walkPart);
  f.text.close();
  f.text.close();
}

void ScanWalkers::printGroupsBack() {
  std::string group = number(tiles.group);
  f.text.comment("Most tokens have no branch between them.");
  openGroups("count");
  f.text.line("if (count - done < " + group + " || (cuts >> (count - done - " +
              group + ") & " + number((1 << tiles.group) - 1) + ")) " +
              walkPart);
  f.text.line(std::string("else ") + walkWhole);
  f.text.close();
}

/// One group, and what it hands over.
void ScanWalkers::printTokensOfGroup() {
  std::string floats = number(tiles.computeWarps() * warpSums);
  if (areRegistersFull()) {
    f.text.line("const int lane = laneAnew();");
    printPlaces();
  }
  if (!form.isAhead) {
    f.text.line("float *const to = sums + group % 2 * " + floats +
                " + warp * " + number(warpSums) + ";");
    f.text.line(std::string(asksAhead() ? "if (!isFree) " : "") +
                "waitFor(added + group % 2, group / 2 % 2 ^ 1);");
  }
  if (usesMatrix) {
    f.text.line("float columnSums[" + number(tiles.rowTiles) + "][4] = {};");
  }
  if (balance.total) {
    f.text.line("float factors[" + number(tiles.group) + "], spent[" +
                number(tiles.group) + "] = {};");
  }
  openGroup(/*mayBeFull=*/true);
  if (form.decay && !form.isReverse) {
    printRestart();
  }
  if (parts > 0) {
    f.text.line("float parts[" + number(parts) + "] = {};");
  }
  printToken();
  if (form.decay && form.isReverse) {
    printCut();
  } else if (form.hasMatrixDecay && form.isReverse) {
    f.text.line("const int before = t > 0 ? t - 1 : 0;");
    loadHeld("before");
  }
  if (parts > 0) {
    printPuts();
  }
  if (asksAhead()) {
    f.text.line("if (p == 0) isFree = isOver(added + (group + 1) % 2, (group + "
                "1) / 2 % 2 ^ 1);");
  }
  closeGroup();
  if (usesMatrix) {
    printSlots();
  }
  printBalance();
  if (!form.isAhead) {
    f.text.line(numbered("arrive", "summed"));
  }
  f.text.line("++group;");
}

/// Forward: a segment begins with this token.
void ScanWalkers::printRestart() {
  f.text.open("if (isCutHere.value && (cuts >> t & 1))");
  multiplyAll("now", specialOffset(), true, false);
  f.text.close();
}

/// Backward, behind a segment's first token: the segment before begins with the
/// states that were held at its end. What the token found, as it is read alone
/// by a sum, is taken from them: the difference of what the token left would
/// lose all digits under a strong decay.
void ScanWalkers::printCut() {
  f.text.open("if (isCutHere.value && (cuts >> t & 1))");
  f.text.line("const int before = header[4] + t == 0 ? " +
              number(form.interval) + " : header[4] + t - 1;");
  loadHeld("before");
  printExactVectors();
  if (!form.hasVectorDecay()) {
    f.text.line("const float entering = now[" + number(specialOffset()) + "];");
  }
  for (const ScanSum &sum : values.sums) {
    printExactSum(sum);
  }
  f.text.open("if (before != " + number(form.interval) + ")");
  multiplyAll("now", specialOffset(), false, true);
  f.text.close();
  f.text.close();
}

/// An element behind the token's step: its adjoints are made, its states are
/// those before the token.
ScanElement ScanWalkers::steppedElement() {
  ScanElement element(values, f.text, hints);
  for (auto [adjoint, name] : llvm::zip(form.adjoints, adjointNames)) {
    element.made[peel(adjoint.value)] = name + "[a][n][e]";
    element.adjoints.push_back(name + "[a][n][e]");
  }
  for (const std::string &name : stateNames) {
    element.before.push_back(name + "[a][n][e]");
    element.after.push_back(name + "[a][n][e]");
  }
  return element;
}

/// The matrices that a sum adds up.
static SmallVector<const Node *> matricesOf(const ScanSum &sum) {
  SmallVector<const Node *> matrices(sum.others.begin(), sum.others.end());
  matrices.push_back(sum.matrix);
  return matrices;
}

/// A sum over whole matrices of what is there behind the token's step.
bool ScanWalkers::isReady(const ScanSum &sum) {
  ScanElement element = steppedElement();
  return sum.kind == ScanSum::OverBoth && values.pending(sum.matrix) == -1 &&
         llvm::all_of(matricesOf(sum),
                      [&](const Node *node) { return element.isReady(node); });
}

void ScanWalkers::printExactSum(const ScanSum &sum) {
  if (isReady(sum)) { // else the token's other values are gone
    std::string exact = readySum(sum);
    f.text.line("parts[" + number(sum.slot) + "] = entering * " + exact + ";");
  }
}

/// A ready sum of a lane's elements, in two chains of additions; the total.
std::string ScanWalkers::readySum(const ScanSum &sum) {
  ScanElement element = steppedElement();
  std::string name = f.text.name("whole");
  f.text.line("float " + name + "[2] = {};");
  openElements();
  for (const Node *matrix : matricesOf(sum)) {
    std::string value = element.at(matrix, values.natural(matrix));
    f.text.line(name + "[e % 2] += " + guarded(value) + ";");
  }
  closeElements();
  return "(" + name + "[0] + " + name + "[1])";
}

void ScanWalkers::printFetches(bool isTraced) {
  for (std::unique_ptr<ScanOperand> &operand : values.operands) {
    if (isTraced ? !operand->isTraced : !operand->isFetched) {
      continue;
    }
    std::string at = "now[" + number(operand->offset) + "]";
    if (operand->kind == ScanOperand::Scalar) {
      f.text.line("const float " + operand->name + " = " + at + ";");
      continue;
    }
    bool isRow = operand->kind == ScanOperand::Row;
    std::int64_t count = 2 * (isRow ? tiles.rowTiles : tiles.columnTiles);
    f.text.line("float " + operand->name + "[" + number(count) + "];");
    f.text.line("fetch(" + operand->name + ", now + " +
                number(operand->offset) + " + " +
                (isRow ? "rowPlace" : "columnPlace") + ");");
  }
}

/// One element of a state before and after the token.
void ScanWalkers::printStateStep(unsigned i, ScanElement &element) {
  std::string at = stateNames[i] + "[a][n][e]", sum;
  std::string known = f.text.name(stateNames[i] + "_known");
  f.text.line("const float " + known + " = " + at + ";");
  if (isInPlace) {
    element.before.push_back("");
    element.after.push_back(known);
    return;
  }
  for (const AffineStep::Term &term : form.states[i].step.terms) {
    sum += element.addition(term) ? "" : element.term(term, form.isReverse);
  }
  const std::string &next = additionNames[i];
  std::string made = f.text.name(stateNames[i] + "_made");
  f.text.line("const float " + made + " = " +
              (next.empty() ? known : next + "[e]") + sum + ";");
  f.text.line(at + " = " + made + ";");
  element.before.push_back(form.isReverse ? made : known);
  element.after.push_back(form.isReverse ? known : made);
}

/// One element: the states before and after the token, and the adjoints.
void ScanWalkers::printStep(ScanElement &element) {
  prepareElement(element);
  for (auto [i, state] : llvm::enumerate(form.states)) {
    form.hasMatrixDecay ? printElementStep(state, stateNames[i], element)
                        : printStateStep(i, element);
  }
  // Sums may read what an adjoint was before its step.
  for (const std::string &name : adjointNames) {
    element.adjoints.push_back(f.text.name(name + "_known"));
    f.text.line("const float " + element.adjoints.back() + " = " + name +
                "[a][n][e];");
  }
  SmallVector<std::string> next;
  for (const ScanCarry &adjoint : form.adjoints) {
    next.push_back(element.at(adjoint.value, -values.stateDegree()));
  }
  for (const ScanSum &sum : values.sums) {
    if (isInPlace && isReady(sum)) {
      continue;
    }
    if (!values.isFlexible(sum.matrix)) {
      element.at(sum.matrix, sum.matrixDegree);
    }
    for (const Node *other : sum.others) {
      element.at(other, sum.matrixDegree);
    }
  }
  for (auto [name, value] : llvm::zip(adjointNames, next)) {
    f.text.line(name + "[a][n][e] = " + value + ";");
  }
}

/// Adds one element to a sum; inside the element loops.
void ScanWalkers::printSum(const ScanSum &sum, ScanElement &element) {
  std::string value = element.at(sum.matrix, sum.matrixDegree);
  if (sum.kind == ScanSum::OverColumns && usesMatrix) {
    f.text.line("left" + number(sum.slot) + "[e] = " + guarded(value) + ";");
    return;
  }
  std::string weight;
  if (sum.weight) {
    ScanOperand &operand = values.operand(sum.weight, sum.weightDegree);
    operand.isFetched = true;
    weight = " * " + operand.name + indexOf(operand.kind);
  }
  std::string index = number(sum.slot);
  index += sum.kind == ScanSum::OverColumns ? " + 2 * a + e / 2"
           : sum.kind == ScanSum::OverRows  ? " + 2 * n + e % 2"
                                            : "";
  f.text.line("parts[" + index + "] += " + guarded(value) + weight + ";");
  for (const Node *other : sum.others) {
    f.text.line("parts[" + index +
                "] += " + guarded(element.at(other, sum.matrixDegree)) + ";");
  }
}

/// The sums' weights, each for the lanes of its own result column; the others
/// read zeros, from as far behind their start.
void ScanWalkers::printRights() {
  std::int64_t first = weightSpan().first;
  for (const ScanSum &sum : values.sums) {
    if (sum.kind != ScanSum::OverColumns) {
      continue;
    }
    std::string slot = number(sum.slot);
    std::string mine = "lane / 4 == " + columnOf(sum.slot);
    std::string from = "(" + mine + " ? ones : zeros)";
    if (sum.weight) {
      ScanOperand &operand = values.operand(sum.weight, sum.weightDegree);
      std::int64_t behind = operand.offset - first;
      std::string others = "zeros";
      if (&sum == balance.ofMatrix) { // its sum itself, in a column of its own
        others = "lane / 4 == " + columnOf(slots) + " ? ones - " +
                 number(behind) + " : zeros";
      }
      from = "(" + mine + " ? now + columnPlace + " + number(first) + " : " +
             others + ") + " + number(behind);
    }
    f.text.line("float right" + slot + "[" + number(2 * tiles.columnTiles) +
                "];");
    f.text.line("fetch(right" + slot + ", " + from + ");");
  }
}

/// The states' step back after all that reads them, so that an instruction can
/// work in place.
void ScanWalkers::printStepBack() {
  ScanElement element = steppedElement();
  for (auto [state, name] : llvm::zip(form.states, stateNames)) {
    for (const AffineStep::Term &term : state.step.terms) {
      printMultiply(*element.addition(term), name + "[a][n]");
    }
  }
}

/// Sums of what is there behind the step of all elements.
void ScanWalkers::printReadySums() {
  for (const ScanSum &sum : values.sums) {
    if (isReady(sum)) {
      std::string total = readySum(sum);
      f.text.line("parts[" + number(sum.slot) + "] = " + total + ";");
    }
  }
}

void ScanWalkers::printToken() {
  printFetches(false);
  printProductFetches(false);
  if (usesMatrix) {
    printRights();
  }
  unrolled("n", tiles.columnTiles);
  unrolled("a", tiles.rowTiles);
  for (std::int64_t slot = 0; usesMatrix && slot < slots; ++slot) {
    f.text.line("float left" + number(slot) + "[4];");
  }
  ScanElement element(values, f.text, hints);
  printProducts(element);
  unrolled("e", 4);
  printStep(element);
  for (const ScanSum &sum : values.sums) {
    if (!isInPlace || !isReady(sum)) {
      printSum(sum, element);
    }
  }
  f.text.close();
  if (isInPlace) {
    printStepBack();
  }
  for (std::int64_t slot = 0; usesMatrix && slot < slots; ++slot) {
    std::string name = number(slot);
    f.text.line((isExact ? "multiplyExactly" : "multiply") +
                std::string("(columnSums[a], left") + name + ", right" + name +
                "[2 * n], right" + name + "[2 * n + 1]);");
  }
  f.text.close();
  f.text.close();
  if (balance.total) {
    printBalanceOfToken();
  } else if (isInPlace) {
    printReadySums();
  }
}

/// Where the total is made of the matrices, it goes on from there; behind a
/// run's first token it does not go on.
void ScanWalkers::printPuts() {
  if (balance.total) {
    f.text.line("if (isCutHere.value) running = parts[" +
                number(balance.total->slot) + "];");
  }
  f.text.line("putParts(to + " + number(matrixFloats()) + " + p * " +
              number(partFloats()) + ", parts, lane" +
              (balance.total ? ", isCutHere.value" : "") + ");");
}

/// The column of the matrix instructions' results that has a token's sum.
std::string ScanWalkers::columnOf(std::int64_t slot) const {
  return "p * " + number(tiles.columnsPerToken()) + " + " + number(slot);
}

/// The results of the matrix instructions, a token's of a row side by side: two
/// of the lane's row, two of that eight rows below.
void ScanWalkers::printSlots() {
  std::string token = "lane % 4 / " + number(tiles.columnsPerToken() / 2);
  std::string place = rowSumsAt(token, "lane / 4") + " + lane % " +
                      number(tiles.columnsPerToken() / 2) + " * 2";
  f.text.line("float *const slotsTo = to + " + place + ";");
  unrolled("a", tiles.rowTiles);
  unrolled("half", 2);
  f.text.line("*reinterpret_cast<Two *>(slotsTo + a * 128 + half * " +
              number(8 * tiles.columnsPerToken()) +
              ") = Two{{columnSums[a][half * 2], columnSums[a][half * 2 + "
              "1]}};");
  f.text.close();
  f.text.close();
}

} // namespace recurra::cuda
