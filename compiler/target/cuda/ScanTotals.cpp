// What warps that add make of whole vectors: sums over them, and totals, the
// gradients of parameters, numbers or vectors, to which every token adds.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/ScanAdders.h"

using namespace mlir;

namespace recurra::cuda {

using Kind = Node::Kind;

ScanOperand::Kind ScanValues::kindOf(const Node *node) const {
  return form.isRow(node)      ? ScanOperand::Row
         : form.isColumn(node) ? ScanOperand::Column
                               : ScanOperand::Scalar;
}

void ScanAdders::findWholes(const Node *node,
                            SmallVectorImpl<const Node *> &found) const {
  if (form.isPrepared(node)) {
    return;
  }
  for (const Node *operand : node->operands) {
    findWholes(operand, found);
  }
  if (node->kind == Kind::Reduce && !form.isMatrix(node->operands[0]) &&
      !llvm::is_contained(found, node)) {
    found.push_back(node);
  }
}

/// Sums over vectors that stores of one kind need: they take all lanes of a
/// warp, so they come before its lanes part.
void ScanAdders::printWholes(ScanOperand::Kind kind) {
  SmallVector<const Node *> wholes = wholesOf(kind);
  for (const Node *whole : wholes) {
    sumOfVector(whole);
  }
}

SmallVector<const Node *> ScanAdders::wholesOf(ScanOperand::Kind kind) const {
  SmallVector<const Node *> wholes;
  for (const Node *store : form.stores) {
    if (values.kindOf(store) == kind) {
      findWholes(store->operands[0], wholes);
    }
  }
  for (const ScanCarry &total : form.totals) {
    if (total.value->axes.empty() && kind == ScanOperand::Scalar) {
      findWholes(total.value, wholes);
    }
  }
  return wholes;
}

/// How many entries of a total each thread keeps, and which: of all tokens.
std::int64_t ScanAdders::entriesOf(bool isRow) const {
  return ceilDiv(isRow ? tiles.rows() : tiles.columns(), 32 * tiles.adderWarps);
}

std::string ScanAdders::totalEntryOf(std::int64_t x) const {
  return number(32 * tiles.adderWarps * x) + " + thread";
}

void ScanAdders::declareTotals() {
  totalNames.clear();
  auto inits = cast<chunk::ForOp>(*form.runs).getInits();
  for (const ScanCarry &total : form.totals) {
    std::string hint = nameOf(total.carry);
    std::string name = f.text.name(hint.empty() ? "total" : hint);
    totalNames.push_back(name);
    const Node *init = form.top->find(inits[total.index]);
    if (total.value->axes.empty()) {
      f.text.line("float " + name + " = " + boundary(init, "", "") + ";");
      continue;
    }
    bool isRow = form.isRow(total.value);
    f.text.line("float " + name + "[" + number(entriesOf(isRow)) + "];");
    for (std::int64_t x = 0; x < entriesOf(isRow); ++x) {
      std::string entry = "(" + totalEntryOf(x) + ")";
      f.text.line(name + "[" + number(x) +
                  "] = " + boundary(init, entry, entry) + ";");
    }
  }
}

/// What a token adds to the totals that are numbers.
void ScanAdders::addTotals() {
  for (auto [total, name] : llvm::zip(form.totals, totalNames)) {
    if (total.value->axes.empty()) {
      f.text.line(name + (total.isNegative ? " -= " : " += ") +
                  added(total.value, "0") + ";");
    }
  }
}

/// To those along one axis: a thread adds to its own entries, token by token.
void ScanAdders::addVectorTotals(bool isRow) {
  for (auto [total, name] : llvm::zip(form.totals, totalNames)) {
    bool isIt = isRow ? form.isRow(total.value) : form.isColumn(total.value);
    for (std::int64_t x = 0; isIt && x < entriesOf(isRow); ++x) {
      sumNames.clear();
      f.text.line("if (const int i = " + totalEntryOf(x) + "; i < " +
                  (isRow ? rowsHere() : columnsHere()) + ")");
      f.text.open("");
      f.text.line("const int place = " + placeOf(isRow) + ";");
      openGroup();
      f.text.line(name + "[" + number(x) + "]" +
                  (total.isNegative ? " -= " : " += ") +
                  added(total.value, "i") + ";");
      closeGroup();
      f.text.close();
    }
  }
}

void ScanAdders::printTotals() {
  for (cpu::Nest &part : form.top->getNests()) {
    for (const Node *node : part.nodes) {
      if (node->kind == Kind::CopyOut && node->axes.empty()) {
        f.text.open("if (thread == " + number(32 * scalarAdder()) + ")");
        printTotal(node, "");
        f.text.close();
      }
    }
  }
  printVectorTotals(true);
  printVectorTotals(false);
}

void ScanAdders::printVectorTotals(bool isRow) {
  for (cpu::Nest &part : form.top->getNests()) {
    for (const Node *node : part.nodes) {
      bool isIt = node->kind == Kind::CopyOut &&
                  (isRow ? form.isRow(node) : form.isColumn(node));
      for (std::int64_t x = 0; isIt && x < entriesOf(isRow); ++x) {
        totalEntry = "[" + number(x) + "]";
        f.text.open("if (" + totalEntryOf(x) + " < " +
                    (isRow ? rowsHere() : columnsHere()) + ")");
        printTotal(node, "(" + totalEntryOf(x) + ")");
        f.text.close();
      }
    }
  }
}

/// Stores a number, or an entry of a vector.
void ScanAdders::printTotal(const Node *node, const std::string &entry) {
  auto store = cast<chunk::StoreOp>(node->op);
  std::string condition =
      store.getFirst() ? "if (" + f.spans[store.getFirst()].origin + " == 0) "
                       : "";
  f.text.line(
      condition + "narrow(" +
      addressOf(store.getBuffer(), store.getIndices(), "", entry, entry) +
      ", " + boundary(node->operands[0], entry, entry) + ");");
}

} // namespace recurra::cuda
