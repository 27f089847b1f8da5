// The warps that add: partial sums of lanes and warps, in a fixed order, then
// what a token computes from them, and its stores.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/ScanAdders.h"

#include "compiler/target/cuda/ScalarPrinter.h"
#include "compiler/target/cuda/ScanSpans.h"

using namespace mlir;

namespace recurra::cuda {

using Kind = Node::Kind;

/// `thread` counts those that add.
void ScanAdders::printAdders() {
  f.text.comment("Adds up what the walking warps hand over, and stores it.");
  f.text.line("unsigned unit = 0, group = 0;");
  openTasks();
  declareTotals();
  printTargets();
  openUnits(numbered("block", "staged"));
  f.text.open(form.isReverse ? "if (run && !(flags & isTrace))" : "if (run)");
  std::string size = number(tiles.group);
  f.text.line("#pragma unroll 1");
  f.text.open("for (int done = 0; done < count; done += " + size + ")");
  f.text.line("const float *const from = sums + group % 2 * " +
              number(tiles.computeWarps() * warpSums) + ";");
  f.text.line(numbered("block", "summed"));
  printSumsOfToken();
  printTotalsOfGroup();
  printNextTargets();
  f.text.line("arrive(added + group % 2);");
  f.text.line("++group;");
  f.text.close();
  printTargetsOfUnit();
  f.text.close();
  closeUnits();
  printSpanTotals();
  printTotals();
  f.text.close();
}

/// Warps that add for one token of a group; its tokens are added side by side.
std::int64_t ScanAdders::warpsPerToken() const {
  return tiles.adderWarps / tiles.group;
}

/// The thread's first entry of its token: rows from the first warp on, columns
/// from the last one back, so that work is even.
std::string ScanAdders::entryOf(bool isRow) const {
  return isRow ? "thread % " + number(entriesPerRound())
               : "columnAdder * 32 + lane";
}

/// How far apart the entries of two rounds are.
std::int64_t ScanAdders::entriesPerRound() const {
  return 32 * warpsPerToken();
}

/// Where each thread's results go, token after token: tokens come in order, so
/// a pointer moves on with each group. Results of later rounds lie strides
/// apart.
void ScanAdders::printTargets() {
  std::string warps = number(warpsPerToken());
  f.text.line("const int adder = thread / 32, token = adder / " + warps +
              "; // of a group: the one it adds for");
  f.text.line("const int columnAdder = " + number(warpsPerToken() - 1) +
              " - adder % " + warps + ";");
  if (llvm::any_of(form.stores, [&](const Node *node) {
        return widePlace(form, node) >= 0;
      })) {
    f.text.line("const bool isWaiting = span.count > 1;");
  }
  targets.clear();
  for (const Node *node : form.stores) {
    targets[node] = printTarget(node, widePlace(form, node));
  }
}

/// What a store writes of its first token.
std::string ScanAdders::firstAddress(const Node *node) {
  auto store = cast<chunk::StoreOp>(node->op);
  std::string entry = "(" + entryOf(form.isRow(node)) + ")";
  std::string first =
      form.isReverse ? "(" + sequence().end + " - 1)" : sequence().begin;
  return addressOf(store.getBuffer(), store.getIndices(), first, entry, entry);
}

/// A store's pointer and strides. If its results may wait, as f32, where `wide`
/// says, they are two in one: those of bytes.
ScanAdders::Target ScanAdders::printTarget(const Node *node, int wide) {
  auto store = cast<chunk::StoreOp>(node->op);
  Type element = store.getBuffer().getType().getElement();
  std::string buffer = f.buffers.lookup(store.getBuffer());
  std::string bytes = number(element.getIntOrFloatBitWidth() / 8);
  Target target{f.text.name(buffer + "_to"), f.text.name(buffer + "_perToken"),
                "", wide < 0 ? "" : storedName(element)};
  auto step = [&](StringRef axis) {
    std::string stride = strideOf(store.getBuffer(), axis);
    return wide < 0 ? stride
                    : "(isWaiting ? 4 * wide" + number(wide) +
                          stride.substr(stride.rfind(".strides")) + " : " +
                          bytes + " * " + stride + ")";
  };
  f.text.line("const Index " + target.perToken + " = " +
              (form.isReverse ? "-" : "") + step("T") + ";");
  std::string type = storedName(element), first = firstAddress(node);
  std::string pointer = "&" + first;
  if (wide >= 0) {
    type = "char";
    pointer = "(isWaiting ? reinterpret_cast<char *>(&" +
              onWide(first, buffer, wide) + ") : reinterpret_cast<char *>(&" +
              first + "))";
  }
  f.text.line(type + " *" + target.name + " = " + pointer +
              toItsToken(node, target) + ";");
  if (!node->axes.empty()) {
    target.perRound =
        number(entriesPerRound()) + " * " + step(node->axes[0].name);
  }
  return target;
}

/// Whether one warp adds numbers of all tokens: totals take them in order.
bool ScanAdders::hasScalarTotal() const {
  return llvm::any_of(form.totals, [](const ScanCarry &total) {
    return total.value->axes.empty();
  });
}

/// From a group's first token to the one that the thread adds for.
std::string ScanAdders::toItsToken(const Node *node,
                                   const Target &target) const {
  bool isOwn = !node->axes.empty() || !hasScalarTotal();
  return isOwn ? " + token * " + target.perToken : "";
}

/// The pointers go on to the next group's tokens.
void ScanAdders::printNextTargets() {
  for (const Node *node : form.stores) {
    const Target &target = targets[node];
    f.text.line(target.name + " += " + number(tiles.group) + " * " +
                target.perToken + ";");
  }
}

/// Behind a unit's last group, which may have fewer tokens.
void ScanAdders::printTargetsOfUnit() {
  if (tiles.group == 1) {
    return;
  }
  std::string size = number(tiles.group);
  f.text.open("if (count % " + size + " != 0)");
  for (const Node *node : form.stores) {
    const Target &target = targets[node];
    f.text.line(target.name + " -= (" + size + " - count % " + size + ") * " +
                target.perToken + ";");
  }
  f.text.close();
}

//===----------------------------------------------------------------------===//
// Sums of an entry
//===----------------------------------------------------------------------===//

/// What finds a part of the sum: those side by side by fours lie at one place
/// but for constants.
std::string ScanAdders::partOf(const ScanSum &sum) const {
  std::int64_t entries = sum.kind == ScanSum::OverRows ? 2 * tiles.columnTiles
                         : sum.kind == ScanSum::OverColumns ? 2 * tiles.rowTiles
                                                            : 1;
  return sum.slot + entries <= parts / 4 * 4 ? "partOfFour"
                                             : "partAt<" + number(parts) + ">";
}

std::string ScanAdders::nameOfSum(const Node *node) {
  return f.text.name(hints.contains(node) ? hints.lookup(node)
                                          : std::string("total"));
}

/// Adds all partial sums of `sum` for entry `index`; the name of the result.
std::string ScanAdders::sumText(const ScanSum &sum, StringRef index) {
  if (sum.kind == ScanSum::OverColumns && usesMatrix) {
    return rowSumText(sum, index.str());
  }
  std::string name = nameOfSum(sum.reduce);
  std::string parts = number(matrixFloats()) + " + p * " +
                      number(partFloats()) + " + " + partOf(sum) + "(" +
                      number(sum.slot);
  if (sum.kind == ScanSum::OverColumns) {
    printSumOverColumns(name, index.str(), parts);
  } else if (sum.kind == ScanSum::OverRows) {
    printSumOverRows(name, index.str(), parts);
  } else {
    printSumOverBoth(sum, name, parts);
  }
  return name;
}

/// Which warp of the w-th column of warps has row i.
std::string ScanAdders::warpOfRow(const std::string &i) const {
  return "(w * " + number(tiles.warpRows) + " + " + i + " / " +
         number(16 * tiles.rowTiles) + ") * " + number(warpSums);
}

/// Where a token's sums of a row lie among a tile's: neither those who write
/// nor those who read meet on a bank.
std::string ScanAdders::rowSumsAt(const std::string &token,
                                  const std::string &row) const {
  std::string columns = number(tiles.columnsPerToken());
  return tiles.group == 1
             ? row + " * " + columns
             : token + " * " + number(16 * tiles.columnsPerToken()) + " + (" +
                   row + " ^ " + token + " * 4) * " + columns;
}

/// Of every warp beside each other what its matrix instructions summed: up to
/// four sums of a row at a time. The name of this one's.
std::string ScanAdders::rowSumText(const ScanSum &sum, const std::string &i) {
  std::string name = f.text.name("rowSums");
  std::int64_t first = sum.slot / 4 * 4;
  f.text.line("float " + name + "[4];");
  unrolled("w", tiles.warpColumns);
  f.text.line("const Four four = *reinterpret_cast<const Four *>(from + " +
              warpOfRow(i) + " + " + i + " / 16 % " + number(tiles.rowTiles) +
              " * 128 + " + rowSumsAt("p", i + " % 16") + " + " +
              number(first) + ");");
  unrolled("s", 4);
  f.text.line(name + "[s] = w == 0 ? four.x[s] : " + name + "[s] + four.x[s];");
  f.text.close();
  f.text.close();
  auto at = [&](std::int64_t slot) {
    return name + "[" + number(slot % 4) + "]";
  };
  for (const ScanSum &other : values.sums) {
    if (other.kind == ScanSum::OverColumns && other.slot / 4 * 4 == first) {
      sumNames[other.reduce] = at(other.slot);
    }
  }
  return at(sum.slot);
}

/// Of every warp beside each other what four lanes summed.
void ScanAdders::printSumOverColumns(const std::string &name,
                                     const std::string &i,
                                     const std::string &parts) {
  f.text.line("float " + name + " = 0;");
  unrolled("w", tiles.warpColumns);
  unrolled("c", 4);
  f.text.line(name + " += from[" + warpOfRow(i) + " + " + parts + " + 2 * (" +
              i + " / 16 % " + number(tiles.rowTiles) + ") + " + i +
              " / 8 % 2, " + i + " % 8 * 4 + c)];");
  f.text.close();
  f.text.close();
}

/// Of all warps what all lanes summed: by fours where they lie side by side.
void ScanAdders::printSumOverBoth(const ScanSum &sum, const std::string &name,
                                  const std::string &of) {
  std::int64_t warps = tiles.computeWarps();
  f.text.line("float " + name + " = 0;");
  if (sum.slot + 1 == parts && parts % 2 == 1) {
    f.text.line("#pragma unroll");
    f.text.open("for (int x = lane; x < " + number(8 * warps) + "; x += 32)");
    f.text.line("const Four four = *reinterpret_cast<const Four *>(from + x / "
                "8 * " +
                number(warpSums) + " + " + of + ", x % 8 * 4));");
    f.text.line("const float ofFour = (four.x[0] + four.x[1]) + (four.x[2] + "
                "four.x[3]);");
    f.text.line(name + " = x == lane ? ofFour : " + name + " + ofFour;");
  } else {
    unrolled("w", warps);
    f.text.line(name + " += from[w * " + number(warpSums) + " + " + of +
                ", lane)];");
  }
  f.text.close();
  f.text.line("overLanes<false>(" + name + ", lane);");
}

/// Of every warp above each other what eight lanes summed: four additions at a
/// time depend on no other.
void ScanAdders::printSumOverRows(const std::string &name, const std::string &i,
                                  const std::string &parts) {
  f.text.line("float " + name + "_four[4] = {};");
  unrolled("w", tiles.warpRows);
  unrolled("g", 8);
  f.text.line(name + "_four[g % 4] += from[(" + i + " / " +
              number(8 * tiles.columnTiles) + " * " + number(tiles.warpRows) +
              " + w) * " + number(warpSums) + " + " + parts + " + " + i +
              " / 8 % " + number(tiles.columnTiles) + " * 2 + " + i +
              " % 2, g * 4 + " + i + " % 8 / 2)];");
  f.text.close();
  f.text.close();
  auto at = [&](int chain) {
    return name + "_four[" + std::to_string(chain) + "]";
  };
  f.text.line("const float " + name + " = (" + at(0) + " + " + at(1) + ") + (" +
              at(2) + " + " + at(3) + ");");
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
  std::string name = sumNames.lookup(node);
  if (name.empty()) {
    name = sumText(sum, index);
    sumNames[node] = name;
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
  name = nameOfSum(node);
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

/// From a store's pointer to the result of round `x`.
std::string ScanAdders::offsetOf(const Node *node, std::int64_t x) {
  const Target &target = targets[node];
  if (toItsToken(node, target).empty()) {
    return "p * " + target.perToken;
  }
  return x > 0 ? number(x) + " * " + target.perRound : "0";
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
    std::string at = offsetOf(node, x);
    condition = condition.empty() ? "" : "if (" + condition + ") ";
    if (target.element.empty()) {
      f.text.line(condition + "narrow(" + target.name + "[" + at + "], " +
                  value + ");");
    } else {
      f.text.line(condition + "narrowOrWait<" + target.element + ">(" +
                  target.name + " + " + at + ", " + value + ", isWaiting);");
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
  ColumnFours fours = isRow ? ColumnFours() : columnFours();
  bool isByAll = hasWholes || fours.shares > 0; // all lanes of a warp
  for (std::int64_t x = 0; hasStore && x * entriesPerRound() < width; ++x) {
    sumNames.clear();
    std::string entry = number(x * entriesPerRound()) + " + " + entryOf(isRow);
    f.text.open("if (const int i = " + entry + "; i " +
                (isByAll ? "- lane < " : "< ") + end + ")");
    f.text.line("const int place = " + placeOf(isRow) + ";");
    printWholes(kind);
    if (fours.shares > 0) {
      printColumnFours(fours);
    }
    if (isByAll) {
      f.text.open("if (i < " + end + ")");
    }
    printStores(isRow ? ScanSum::OverColumns : ScanSum::OverRows, x);
    if (isByAll) {
      f.text.close();
    }
    f.text.close();
  }
}

/// Whether all sums of a token come under one test for it, so that loads of one
/// go ahead of what another waits for: not beside adjoints that begin with a
/// cotangent, unless there are registers for both.
bool ScanAdders::areTogether() {
  constexpr std::int64_t many = 96;
  return tiles.helperRegisters >= many ||
         llvm::all_of(form.adjoints, [&](const ScanCarry &adjoint) {
           return beginsAtZero(adjoint);
         });
}

/// All that a thread adds up for its token.
void ScanAdders::printSumsOfToken() {
  auto printApart = [&] {
    if (!areTogether()) {
      f.text.close();
      openToken();
    }
  };
  f.text.line("const int p = token;");
  openToken();
  printVectorSums(true);
  printApart();
  printVectorSums(false);
  if (hasScalarStore() && !hasScalarTotal()) {
    printApart();
    f.text.open("if (columnAdder == 0)");
    printScalarSums();
    f.text.close();
  }
  f.text.close();
}

/// Totals take tokens in order; so do numbers, then, by one warp.
void ScanAdders::printTotalsOfGroup() {
  addVectorTotals(true);
  addVectorTotals(false);
  if (hasScalarTotal()) {
    f.text.open("if (adder == " + number(scalarAdder()) + ")");
    openGroup();
    printScalarSums();
    addTotals();
    closeGroup();
    f.text.close();
  }
}

bool ScanAdders::hasScalarStore() const {
  return llvm::any_of(form.stores,
                      [](const Node *node) { return node->axes.empty(); });
}

/// Numbers of the whole matrix: a warp adds them.
void ScanAdders::printScalarSums() {
  sumNames.clear();
  printWholes(ScanOperand::Scalar);
  printStores(ScanSum::OverBoth, 0);
}

} // namespace recurra::cuda
