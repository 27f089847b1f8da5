// The warps that add: partial sums of lanes and warps, in a fixed order, then
// what a token computes from them, and its stores.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/ScanAdders.h"

#include "compiler/target/cuda/ScalarPrinter.h"
#include "compiler/target/cuda/ScanSpans.h"

using namespace mlir;

namespace recurra::cuda {

using Kind = Node::Kind;

void ScanAdders::printAdders() {
  f.text.comment("Adds up what the walking warps hand over, and stores it.");
  f.text.line("const int thread = threadIdx.x - " +
              number(32 * (tiles.roleWarps() + tiles.producerWarps)) + ";");
  f.text.line("unsigned unit = 0, group = 0;");
  openTasks();
  declareTotals();
  printTargets();
  openUnits(numbered("block", "staged"));
  f.text.open(form.isReverse ? "if (run && !(flags & isTrace))" : "if (run)");
  f.text.open("auto add = [&](int done, auto isFull, auto isWaiting)");
  f.text.line("const float *const from = sums + group % 2 * " +
              number(tiles.computeWarps() * warpSums) + ";");
  f.text.line(numbered("block", "summed"));
  printVectorSums(true);
  printVectorSums(false);
  printScalarSums();
  printNextTargets();
  f.text.line("arrive(added + group % 2, lane);");
  f.text.line("++group;");
  f.text.close("};");
  printAllAdded();
  f.text.close();
  closeUnits();
  printSpanTotals();
  printTotals();
  f.text.close();
}

/// All groups of a unit. Whether results wait is known for all of a task.
void ScanAdders::printAllAdded() {
  std::string group = number(tiles.group);
  f.text.open("auto addAll = [&](auto isWaiting)");
  f.text.line("int done = 0;");
  f.text.line("for (; done + " + group + " <= count; done += " + group +
              ") add(done, Choice<true>(), isWaiting);");
  f.text.line("if (done < count) add(done, Choice<false>(), isWaiting);");
  f.text.close("};");
  bool canWait = llvm::any_of(form.stores, [&](const Node *node) {
    return !targets[node].element.empty();
  });
  f.text.line(canWait ? "if (span.count > 1) addAll(Choice<true>()); else "
                        "addAll(Choice<false>());"
                      : "addAll(Choice<false>());");
}

/// The thread's first entry: rows from the first warp on, columns from the last
/// one back, so that work is even.
std::string ScanAdders::entryOf(bool isRow) const {
  return isRow ? "thread" : "columnAdder * 32 + lane";
}

/// How far apart the entries of two rounds are.
std::int64_t ScanAdders::entriesPerRound() const {
  return 32 * tiles.adderWarps;
}

/// Where each thread's results go, token after token: tokens come in order, so
/// a pointer moves on with each group. Results of later rounds lie strides
/// apart.
void ScanAdders::printTargets() {
  f.text.line("const int adder = thread / 32, columnAdder = " +
              number(tiles.adderWarps - 1) + " - adder;");
  const std::string &length = sequence().end;
  std::string first =
      form.isReverse ? "(" + length + " - 1)" : sequence().begin;
  targets.clear();
  for (const Node *node : form.stores) {
    auto store = cast<chunk::StoreOp>(node->op);
    auto type = store.getBuffer().getType();
    std::string buffer = f.buffers.lookup(store.getBuffer());
    Target target{f.text.name(buffer + "_to"),
                  f.text.name(buffer + "_perToken"), ""};
    std::string entry = "(" + entryOf(form.isRow(node)) + ")";
    f.text.line(
        storedName(type.getElement()) + " *" + target.name + " = &" +
        addressOf(store.getBuffer(), store.getIndices(), first, entry, entry) +
        ";");
    f.text.line("const Index " + target.perToken + " = " +
                (form.isReverse ? "-" : "") + strideOf(store.getBuffer(), "T") +
                ";");
    if (!node->axes.empty()) {
      target.perRound = number(entriesPerRound()) + " * " +
                        strideOf(store.getBuffer(), node->axes[0].name);
    }
    targets[node] = target;
    if (int wide = form.spanTokens > 0 ? widePlace(form, node) : -1;
        wide >= 0) {
      widen(node, wide, target, first);
    }
  }
}

/// Two results in one: if the span is not alone, f32 that waits. The pointer
/// and the strides are those of bytes.
void ScanAdders::widen(const Node *node, int wide, const Target &narrow,
                       const std::string &first) {
  auto store = cast<chunk::StoreOp>(node->op);
  auto type = store.getBuffer().getType();
  std::string buffer = f.buffers.lookup(store.getBuffer());
  std::string bytes = number(type.getElement().getIntOrFloatBitWidth() / 8);
  std::string entry = "(" + entryOf(form.isRow(node)) + ")";
  Target target{f.text.name(buffer + "_place"), f.text.name(buffer + "_step"),
                ""};
  f.text.line("char *" + target.name +
              " = span.count > 1 ? reinterpret_cast<char *>(&" +
              onWide(addressOf(store.getBuffer(), store.getIndices(), first,
                               entry, entry),
                     buffer, wide) +
              ") : reinterpret_cast<char *>(" + narrow.name + ");");
  auto step = [&](StringRef axis) {
    std::string stride = strideOf(store.getBuffer(), axis);
    return "(span.count > 1 ? 4 * wide" + number(wide) +
           stride.substr(stride.rfind(".strides")) + " : " + bytes + " * " +
           stride + ")";
  };
  f.text.line("const Index " + target.perToken + " = " +
              (form.isReverse ? "-" : "") + step("T") + ";");
  if (!node->axes.empty()) {
    target.perRound =
        number(entriesPerRound()) + " * " + step(node->axes[0].name);
  }
  target.element = storedName(type.getElement());
  targets[node] = target;
}

/// The pointers go on to the next group's tokens.
void ScanAdders::printNextTargets() {
  for (const Node *node : form.stores) {
    const Target &target = targets[node];
    f.text.line(target.name + " += (isFull.value ? " + number(tiles.group) +
                " : count - done) * " + target.perToken + ";");
  }
}

//===----------------------------------------------------------------------===//
// Sums of an entry
//===----------------------------------------------------------------------===//

/// Adds all partial sums of `sum` for entry `index`; the name of the result.
std::string ScanAdders::sumText(const ScanSum &sum, StringRef index) {
  std::int64_t rows = 16 * tiles.rowTiles, columns = 8 * tiles.columnTiles;
  std::string base = number(matrixFloats()) + " + p * " + number(partFloats());
  std::string part = "partAt<" + number(parts) + ">";
  std::string name =
      f.text.name(hints.contains(sum.reduce) ? hints.lookup(sum.reduce)
                                             : std::string("total"));
  f.text.line("float " + name + " = 0;");
  std::string i = index.str();
  auto add = [&](const std::string &at) {
    f.text.line(name + " += from[" + at + "];");
  };
  if (sum.kind == ScanSum::OverColumns) {
    std::string warp = "(w * " + number(tiles.warpRows) + " + " + i + " / " +
                       number(rows) + ") * " + number(warpSums);
    std::string tile = i + " / 16 % " + number(tiles.rowTiles);
    unrolled("w", tiles.warpColumns);
    if (usesMatrix) {
      std::string slot =
          "(p * " + number(slots) + " + " + number(sum.slot) + ")";
      add(warp + " + " + tile + " * 128 + (" + slot + " / 2 * 8 + (" + i +
          " + " + slot + " / 2 * 2) % 8) * 4 + " + i + " / 8 % 2 * 2 + " +
          slot + " % 2");
    } else {
      unrolled("c", 4);
      add(warp + " + " + base + " + " + part + "(" + number(sum.slot) +
          " + 2 * (" + tile + ") + " + i + " / 8 % 2, " + i + " % 8 * 4 + c)");
      f.text.close();
    }
    f.text.close();
  } else if (sum.kind == ScanSum::OverRows) {
    f.text.line("float " + name + "_odd = 0;");
    unrolled("w", tiles.warpRows);
    unrolled("g", 8);
    // Two chains of additions, half as long.
    f.text.line("(g % 2 ? " + name + "_odd : " + name + ") += from[(" + i +
                " / " + number(columns) + " * " + number(tiles.warpRows) +
                " + w) * " + number(warpSums) + " + " + base + " + " + part +
                "(" + number(sum.slot) + " + " + i + " / 8 % " +
                number(tiles.columnTiles) + " * 2 + " + i + " % 2, g * 4 + " +
                i + " % 8 / 2)];");
    f.text.close();
    f.text.close();
    f.text.line(name + " += " + name + "_odd;");
  } else {
    unrolled("w", tiles.computeWarps());
    add("w * " + number(warpSums) + " + " + base + " + " + part + "(" +
        number(sum.slot) + ", lane)");
    f.text.close();
    f.text.line("overLanes<false>(" + name + ", lane);");
  }
  return name;
}

/// A total's or a parameter's name; empty for other nodes.
std::string ScanAdders::knownName(const Node *node) {
  for (auto [total, name] : llvm::zip(form.totals, totalNames)) {
    if (total.carry == node->value) {
      return name;
    }
  }
  bool isParameter = node->axes.empty() && form.isPrepared(node);
  return isParameter ? boundary(form.top->find(node->value), "", "") : "";
}

/// A sum of matrices, once per entry, at degree 0.
std::string ScanAdders::addedSum(const Node *node, StringRef index) {
  const ScanSum &sum = *llvm::find_if(
      values.sums, [&](const ScanSum &sum) { return sum.reduce == node; });
  std::string &name = sumNames[node];
  if (name.empty()) {
    name = sumText(sum, index);
  }
  if (form.hasVectorDecay()) {
    return timesDecay(name, sum.degree);
  }
  return sum.degree == 0 ? name
                         : "(" + name + " * now[" +
                               number(values.power(sum.degree).offset) + "])";
}

/// A sum over the values before the token lacks the decay: a product with it.
std::string ScanAdders::addedDecay(const Node *node, StringRef index) {
  for (unsigned i = 0; i < 2 && opOf(node) == "arith.mulf"; ++i) {
    const Node *other = node->operands[1 - i];
    auto rest = values.withoutDecay(node->operands[i]);
    if (rest && values.pending(other) == -1) {
      std::string value = added(other, index);
      return *rest ? "(" + value + " * " + added(*rest, index) + ")" : value;
    }
  }
  return "";
}

/// What a token computes from its sums, at one entry of their axis.
std::string ScanAdders::added(const Node *node, StringRef index) {
  node = peel(node);
  if (node->kind == Kind::Known && node->axes.empty()) {
    return knownName(node);
  }
  if (node->kind == Kind::Constant) {
    return printNumber(node->attributes.get("value"));
  }
  if (form.isPrepared(node)) {
    if (std::string value = addedScaled(node); !value.empty()) {
      return value;
    }
    ScanOperand &operand = values.operand(node, 0);
    std::string at = "now[" + number(operand.offset);
    return at + (operand.kind == ScanOperand::Scalar ? "]" : " + place]");
  }
  if (const Node *both = values.mergedSum(node)) {
    return added(both, index);
  }
  if (node->kind == Kind::Reduce) {
    return form.isMatrix(node->operands[0]) ? addedSum(node, index)
                                            : sumOfVector(node);
  }
  if (std::string decayed = addedDecay(node, index); !decayed.empty()) {
    return decayed;
  }
  SmallVector<std::string> operands;
  for (const Node *operand : node->operands) {
    operands.push_back(added(operand, index));
  }
  return printScalar(*node, operands);
}

/// A sum over a vector: by the lanes of one warp.
std::string ScanAdders::sumOfVector(const Node *node) {
  const Node *source = node->operands[0];
  bool isRow = form.isRow(source);
  std::string &name = sumNames[node];
  if (!name.empty()) {
    return name;
  }
  name = f.text.name(hints.contains(node) ? hints.lookup(node)
                                          : std::string("total"));
  f.text.line("float " + name + " = 0;");
  f.text.open("for (int i = lane; i < " + (isRow ? rowsHere() : columnsHere()) +
              "; i += 32)");
  f.text.line("const int place = " + placeOf(isRow) + ";");
  // What the loop adds up for its own entries is not known outside.
  llvm::DenseMap<const Node *, std::string> outside = sumNames;
  std::string value = added(source, "i");
  std::string sum = outside[node];
  sumNames = outside;
  f.text.line(sum + " += " + value + ";");
  f.text.close();
  f.text.line("overLanes<false>(" + sum + ", lane);");
  return sum;
}

/// All values come first: the compiler cannot tell what is stored from what is
/// read.
void ScanAdders::printStores(ScanSum::Kind kind, std::int64_t x) {
  SmallVector<std::pair<const Node *, std::string>> values;
  for (const Node *node : form.stores) {
    bool isRow = form.isRow(node), isColumn = form.isColumn(node);
    bool fits = kind == ScanSum::OverColumns ? isRow
                : kind == ScanSum::OverRows  ? isColumn
                                             : !isRow && !isColumn;
    if (fits) {
      values.emplace_back(node, added(node->operands[0], "i"));
    }
  }
  for (auto &[node, value] : values) {
    auto store = cast<chunk::StoreOp>(node->op);
    std::string condition = kind == ScanSum::OverBoth ? "lane == 0" : "";
    if (store.getFirst()) {
      condition += (condition.empty() ? "" : " && ") +
                   (f.spans[store.getFirst()].origin + " == 0");
    }
    const Target &target = targets[node];
    std::string at = "p * " + target.perToken;
    if (x > 0) {
      at += " + " + number(x) + " * " + target.perRound;
    }
    condition = condition.empty() ? "" : "if (" + condition + ") ";
    if (target.element.empty()) {
      f.text.line(condition + "narrow(" + target.name + "[" + at + "], " +
                  value + ");");
    } else {
      f.text.line(condition + "narrowOrWait<" + target.element + ">(" +
                  target.name + " + " + at + ", " + value +
                  ", isWaiting.value);");
    }
  }
}

/// Sums of entries along one axis, and what is stored of them.
void ScanAdders::printVectorSums(bool isRow) {
  bool hasStore = llvm::any_of(form.stores, [&](const Node *node) {
    return isRow ? form.isRow(node) : form.isColumn(node);
  });
  std::int64_t width = isRow ? tiles.rows() : tiles.columns();
  std::string end = isRow ? rowsHere() : columnsHere();
  auto kind = isRow ? ScanOperand::Row : ScanOperand::Column;
  bool hasWholes = !wholesOf(kind).empty();
  for (std::int64_t x = 0; hasStore && x * entriesPerRound() < width; ++x) {
    sumNames.clear();
    std::string entry = number(x * entriesPerRound()) + " + " + entryOf(isRow);
    f.text.open("if (const int i = " + entry + "; i " +
                (hasWholes ? "- lane < " : "< ") + end + ")");
    f.text.line("const int place = " + placeOf(isRow) + ";");
    openGroup();
    if (hasWholes) {
      printWholes(kind);
      f.text.open("if (i < " + end + ")");
    }
    printStores(isRow ? ScanSum::OverColumns : ScanSum::OverRows, x);
    if (hasWholes) {
      f.text.close();
    }
    closeGroup();
    f.text.close();
  }
}

/// Numbers of the whole matrix: one warp adds them.
void ScanAdders::printScalarSums() {
  addVectorTotals(true);
  addVectorTotals(false);
  bool hasScalar = llvm::any_of(
      form.stores, [](const Node *node) { return node->axes.empty(); });
  bool hasTotal = llvm::any_of(form.totals, [](const ScanCarry &total) {
    return total.value->axes.empty();
  });
  if (!hasScalar && !hasTotal) {
    return;
  }
  sumNames.clear();
  f.text.open("if (adder == " + number(scalarAdder()) + ")");
  openGroup();
  printWholes(ScanOperand::Scalar);
  printStores(ScanSum::OverBoth, 0);
  addTotals();
  closeGroup();
  f.text.close();
}

} // namespace recurra::cuda
