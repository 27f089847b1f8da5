// A total over whole matrices that is carried from token to token, where its
// balance is known: each lane has a share, whatever it holds of the matrices.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/ScanWalkers.h"

using namespace mlir;

namespace recurra::cuda {

/// A vector that is f32 in memory.
static bool isWide(const Node *node) {
  return dependsOn(node, [](const Node *part) {
    return part->kind == Node::Kind::CopyIn && !part->axes.empty() &&
           cast<chunk::LoadOp>(part->op)
               .getBuffer()
               .getType()
               .getElement()
               .isF32();
  });
}

/// What instructions round off of an adjoint's sum is little beside what the
/// tokens added to it, not beside what it began with.
bool ScanAdders::beginsAtZero(const ScanCarry &adjoint) {
  Value init = cast<chunk::ForOp>(*form.runs).getInits()[adjoint.index];
  const Node *node = peel(form.top->find(init));
  auto number = node->kind == Node::Kind::Constant
                    ? dyn_cast<FloatAttr>(node->attributes.get("value"))
                    : FloatAttr();
  return number && number.getValue().isZero();
}

/// Results of matrix instructions have to be exact enough, and one of their
/// columns to be free for each token.
void ScanWalkers::findTotalBalance() {
  balance = ScanBalance();
  const ScanSum *total = nullptr;
  unsigned wholes = 0;
  bool areWide = false;
  for (const ScanSum &sum : values.sums) {
    wholes += sum.kind == ScanSum::OverBoth;
    total = sum.kind == ScanSum::OverBoth ? &sum : total;
    areWide |= sum.weight && isWide(sum.weight);
  }
  bool areZero = llvm::all_of(form.adjoints, [&](const ScanCarry &adjoint) {
    return beginsAtZero(adjoint);
  });
  if (!isInPlace || !usesMatrix || !areZero || areWide || wholes != 1 ||
      !isReady(*total) || slots + 1 > tiles.columnsPerToken()) {
    return;
  }
  balance = findBalance(form, values, *total);
  if (balance.total) {
    values.operand(balance.factor, values.stateDegree()).isFetched = true;
    for (const ScanBalance::Spent &spent : balance.spent) {
      values.operand(spent.column, 0).isFetched = true;
    }
  }
}

/// A lane's sum of the adjoint whose change counts.
std::string ScanWalkers::adjointSum() {
  std::string name = f.text.name("whole");
  f.text.line("float " + name + "[2] = {};");
  openElements();
  f.text.line(name + "[e % 2] += " +
              guarded(adjointNames[balance.adjoint] + "[a][n][e]") + ";");
  closeElements();
  return name + "[0] + " + name + "[1]";
}

/// Before a unit's tokens: nothing is left of what earlier units rounded off.
void ScanWalkers::printBalanceStart() {
  if (balance.total) {
    f.text.line("float running = " + readySum(*balance.total) + ";");
    f.text.line("float sumBefore = " + adjointSum() + ";");
  }
}

/// Where the states are replaced the total is made of the matrices.
void ScanWalkers::printBalanceOfToken() {
  f.text.open("if (isCutHere.value)");
  printReadySums();
  f.text.close();
  f.text.open("else");
  f.text.line("factors[p] = " +
              values.operand(balance.factor, values.stateDegree()).name + ";");
  unrolled("i", 2 * tiles.columnTiles);
  for (const ScanBalance::Spent &spent : balance.spent) {
    f.text.line(std::string("spent[p] ") + (spent.isNegative ? "-" : "+") +
                "= parts[" + number(spent.sum->slot) + " + i] * " +
                values.operand(spent.column, 0).name + "[i];");
  }
  f.text.close();
  f.text.close();
}

/// Behind a group's tokens. A lane has the adjoint's sum over the columns of
/// some rows, or nothing.
void ScanWalkers::printBalance() {
  if (!balance.total) {
    return;
  }
  f.text.open("if (isCutHere.value)");
  f.text.line("sumBefore = " + adjointSum() + ";");
  f.text.close();
  f.text.open("else");
  unrolled("p", tiles.group);
  std::string column = "(" + columnOf(slots) + ")";
  f.text.line("float after = 0;");
  unrolled("a", tiles.rowTiles);
  f.text.line("after += columnSums[a][" + column + " % 2] + columnSums[a][" +
              column + " % 2 + 2];");
  f.text.close();
  f.text.line("after = lane % 4 == " + column + " / 2 ? after : 0;");
  f.text.line("running -= factors[p] * (after - sumBefore) + spent[p];");
  f.text.line("sumBefore = after;");
  std::int64_t last = parts - 1;
  f.text.line("to[" + number(matrixFloats()) + " + p * " +
              number(partFloats()) + " + partAt<" + number(parts) + ">(" +
              number(last) + ", lane)] = running;");
  f.text.close();
  f.text.close();
}

} // namespace recurra::cuda
