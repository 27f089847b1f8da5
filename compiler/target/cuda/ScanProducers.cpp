// The warps that prepare: they cut runs of tokens into segments, copy the
// tokens' vectors, and scale them by the decay since the segment's first token.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/ScanProducers.h"

#include "compiler/target/cuda/ScalarPrinter.h"

using namespace mlir;

namespace recurra::cuda {

using Kind = Node::Kind;

/// Forward, the range of f32 bounds the decay within a segment; states that
/// are walked back by subtraction lose this many of their digits as well, which
/// matters less to vectors of 16 bits.
const char *ScanProducers::limitOf() const {
  return !form.isReverse ? "24.0f" : isExact ? "5.0f" : "7.0f";
}

void ScanProducers::printProducers() {
  std::string sync = syncProducers();
  f.text.comment(std::string("Prepares tokens") +
                 (stageCount == 1 ? ""
                                  : ", one unit ahead of those who read "
                                    "them") +
                 "; their vectors are on the way one unit earlier.");
  f.text.line("const int thread = threadIdx.x - " +
              std::to_string(32 * tiles.roleWarps()) +
              ", producer = thread / 32;");
  f.text.line("unsigned unit = 0, step = ~0u;");
  openTasks();
  printRuns();
  printCopies();
  f.text.comment("The first round has nothing to prepare yet.");
  f.text.line("Place here{" + beforeFirstChunk() +
              ", 0, 0, -1, 1, 1, false, 0, 0};");
  f.text.open("do");
  f.text.line(sync);
  f.text.line("const Place after = next(here);");
  f.text.line("copy(after, (step + 1) % 2);");
  f.text.open("if (here.end > 0)");
  printUnit();
  f.text.close();
  f.text.line("++step;");
  f.text.line("here = after;");
  f.text.close("} while (here.end > 0);");
  printReleased();
  f.text.line("if (thread == 0) reinterpret_cast<int *>(" + stageOfUnit() +
              ")[3] = isStop;");
  printStaged();
  f.text.line("++unit;");
  f.text.line("waitForCopies<0>();");
  f.text.close();
}

/// The tokens of one step. Each has a stage of its own, but for those of a walk
/// to the segments' ends, which share one as far as there is room.
void ScanProducers::printUnit() {
  bool areShared = fragments.areUsed();
  f.text.line("const int run = here.run, at = here.at, count = here.count;");
  if (!form.hasVectorDecay()) {
    f.text.line("const float *const logDecay = logs + here.half * " +
                number(2 * form.interval) + ", *const logScale = logDecay + " +
                number(form.interval) + ";");
  }
  f.text.line("const unsigned long long first = segments[here.half].first;");
  f.text.line("float *const stage = " + stageOfUnit() + ";");
  if (areShared) {
    f.text.open("if (here.pass == 1 || here.u % " + number(fragments.blocks) +
                " == 0)");
  }
  printReleased();
  printHeader();
  if (areShared) {
    f.text.close();
  }
  f.text.open(std::string("if (") + (areShared ? "here.pass == 1 && " : "") +
              "thread < count)");
  printScalars();
  f.text.close();
  f.text.line("waitForCopies<1>();");
  f.text.line(syncProducers());
  printPreparedSums();
  if (form.isReverse) {
    f.text.open("if (here.pass == 0)");
    printTracedVectors();
    f.text.close();
    f.text.open("else");
  }
  printVectors(false);
  if (form.isReverse) {
    f.text.close();
  }
  if (areShared) {
    f.text.open("if (here.pass == 1 || here.u % " + number(fragments.blocks) +
                " == " + number(fragments.blocks - 1) +
                " || here.u == here.units() - 1)");
  }
  printStaged();
  f.text.line("++unit;");
  if (areShared) {
    f.text.close();
  }
}

/// Nobody reads the unit any more that the stage had before.
void ScanProducers::printReleased() {
  f.text.line(
      "if (unit >= " + number(stageCount) + ") " +
      numbered("block", "released", stageCount == 1 ? "(unit - 1)" : "unit"));
}

/// What the walk to the segments' ends needs.
void ScanProducers::printTracedVectors() {
  if (!fragments.areUsed()) {
    printVectors(true);
    return;
  }
  printFragmentScales();
  printFragments(/*isRow=*/true);
  printFragments(/*isRow=*/false);
}

/// A unit is ready: for the warps that walk, and for those that add.
void ScanProducers::printStaged() {
  f.text.line("arrive(staged + unit % 2);");
  if (tiles.adderWarps > 0) {
    f.text.line(numbered("arrive", "staged"));
  }
}

/// Backward, and where the warps that prepare have few registers, pointers to
/// tokens are made anew for each unit.
bool ScanProducers::keepsPointers() const {
  constexpr std::int64_t few = 72;
  return !form.isReverse && tiles.helperRegisters >= few;
}

/// Starts to copy the vectors of a unit's tokens. Those that lie alike in
/// memory share one text: a text each takes the compiler long.
void ScanProducers::printCopiesOf(const ScanCopies &copies) {
  std::vector<std::pair<std::string, SmallVector<const ScanVector *>>> groups;
  for (auto [i, raw] : llvm::enumerate(raws)) {
    std::string text = copyText(i, copies);
    auto group = llvm::find_if(
        groups, [&](const auto &group) { return group.first == text; });
    if (group == groups.end()) {
      group = groups.insert(groups.end(), {text, {}});
    }
    group->second.push_back(&raw);
  }
  for (auto &[text, vectors] : groups) {
    llvm::stable_sort(vectors, [](const ScanVector *a, const ScanVector *b) {
      return a->isTraced > b->isTraced;
    });
    openCopies(vectors, copies.untracedIf);
    f.text.line(text);
    f.text.close();
  }
}

/// The copy of a vector of `from` to `to`.
std::string ScanProducers::copyText(std::size_t i, const ScanCopies &copies) {
  const ScanVector &raw = raws[i];
  auto load = cast<chunk::LoadOp>(raw.load->op);
  Value buffer = load.getBuffer();
  std::string name = std::exchange(f.buffers[buffer], "from");
  std::string perToken = strideOf(buffer, "T");
  std::string first =
      copies.firsts.empty()
          ? "&" + addressOf(buffer, load.getIndices(), copies.token, "0", "0")
          : copies.firsts[i] + " + (" + copies.token + ") * " + perToken;
  std::string text =
      "copyTokens(to + " + copies.half + " * " + number(raw.pitch * scanUnit) +
      ", " + number(raw.pitch) + ", " + first + ", " + perToken + ", " +
      strideOf(buffer, raw.load->axes[0].name) + ", " + copies.count + ", " +
      (form.isRow(raw.load) ? rowsHere() : columnsHere()) + ", thread, " +
      copies.threads + ");";
  f.buffers[buffer] = name;
  return text;
}

/// A loop over vectors that are copied alike, or what stands for it where there
/// is one; those that are traced come first.
void ScanProducers::openCopies(ArrayRef<const ScanVector *> vectors,
                               const std::string &untracedIf) {
  std::string from, to;
  std::size_t traced = 0;
  for (auto [i, raw] : llvm::enumerate(vectors)) {
    auto load = cast<chunk::LoadOp>(raw->load->op);
    bool isLast = i + 1 == vectors.size();
    std::string choice = isLast ? "" : "x == " + std::to_string(i) + " ? ";
    std::string rest = isLast ? "" : " : ";
    from += choice + f.buffers.lookup(load.getBuffer()) + rest;
    to += choice + raw->name + rest;
    traced += raw->isTraced || untracedIf.empty();
  }
  if (vectors.size() > 1) {
    std::string count = number(vectors.size());
    f.text.line("#pragma unroll 1");
    f.text.open("for (int x = 0; x < " +
                (traced == vectors.size() ? count
                                          : "(" + untracedIf + " ? " + count +
                                                " : " + number(traced) + ")") +
                "; ++x)");
  } else {
    f.text.open(traced > 0 ? "" : "if (" + untracedIf + ")");
  }
  f.text.line("const Buffer &from = " + from + ";");
  f.text.line("auto *const to = " + to + ";");
}

/// Where a vector of a sequence's first token lies.
std::string ScanProducers::printFirstOfTask(const ScanVector &raw) {
  auto load = cast<chunk::LoadOp>(raw.load->op);
  std::string name = f.text.name(raw.name + "_first");
  f.text.line("const auto *const " + name + " = &" +
              addressOf(load.getBuffer(), load.getIndices(), "0", "0", "0") +
              ";");
  return name;
}

/// A lambda that starts to copy the vectors of a unit's tokens.
void ScanProducers::printCopies() {
  ScanCopies copies{"half",
                    "p.chunk + p.at",
                    "p.count",
                    number(32 * tiles.producerWarps),
                    form.isReverse ? "p.pass == 1" : "",
                    {}};
  for (const ScanVector &raw : raws) {
    if (keepsPointers()) {
      copies.firsts.push_back(printFirstOfTask(raw));
    }
  }
  f.text.open("auto copy = [&](const Place &p, unsigned half)");
  f.text.open("if (p.end > 0)");
  printCopiesOf(copies);
  f.text.close();
  f.text.line("commitCopies();");
  f.text.close("};");
}

/// One thread per token.
void ScanProducers::printScalars() {
  std::string base =
      "stage[16 + thread * " + std::to_string(tokenFloats) + " + ";
  auto put = [&](std::int64_t offset, const std::string &value) {
    f.text.line(base + std::to_string(offset) + "] = " + value + ";");
  };
  f.text.line("const int t = at + thread;");
  if (!form.hasVectorDecay()) {
    std::int64_t special = specialOffset();
    f.text.line("const bool isFirst = first >> t & 1;");
    f.text.line("const bool isLast = t + 1 == run || (first >> (t + 1) & 1);");
    f.text.comment("entering a segment from the one before, leaving it for it");
    put(special, "isFirst ? expf((t == 0 ? 0 : logScale[t - 1]) + "
                 "logDecay[t]) : 1");
    put(special + 1, "isLast ? expf(logScale[t] + (t + 1 == run ? 0 : "
                     "logDecay[t + 1])) : 1");
  }
  sequenceName = "here.chunk + t";
  for (std::unique_ptr<ScanOperand> &operand : values.operands) {
    if (operand->kind == ScanOperand::Scalar &&
        !(operand->node && hasSum(operand->node))) {
      put(operand->offset, scalarText(*operand));
    }
  }
  sequenceName.clear();
}

/// A number of token t, scaled.
std::string ScanProducers::scalarText(const ScanOperand &operand) {
  std::string value = operand.node ? prepared(operand.node, "") : "";
  if (operand.degree == 0) {
    return value.empty() ? "1" : value;
  }
  std::string scale =
      "expf(" + std::to_string(-operand.degree) + ".0f * logScale[t])";
  return value.empty() ? scale : value + " * " + scale;
}

/// A token's sum over a vector, by one warp.
void ScanProducers::printPreparedSum(const ScanOperand &sum) {
  const Node *source = sum.node->operands[0];
  std::string name = f.text.name("total");
  f.text.line("float " + name + " = 0;");
  f.text.line("for (int i = lane; i < " +
              (form.isRow(source) ? rowsHere() : columnsHere()) +
              "; i += 32) " + name + " += " + prepared(source, "i") + ";");
  f.text.line("overLanes<false>(" + name + ", lane);");
  f.text.line("now[" + number(sum.offset) + "] = " + name + ";");
}

/// Numbers that hold sums over vectors: a warp adds up a token's, then has the
/// numbers made of them.
void ScanProducers::printPreparedSums() {
  SmallVector<const ScanOperand *> sums, numbers;
  for (std::unique_ptr<ScanOperand> &operand : values.operands) {
    if (operand->kind == ScanOperand::Scalar && operand->node &&
        hasSum(operand->node)) {
      bool isSum = operand->node->kind == Kind::Reduce && operand->degree == 0;
      (isSum ? sums : numbers).push_back(operand.get());
    }
  }
  if (sums.empty()) {
    return;
  }
  f.text.open("for (int t = producer; t < count; t += " +
              number(tiles.producerWarps) + ")");
  f.text.line("float *const now = stage + 16 + t * " + number(tokenFloats) +
              ";");
  for (const ScanOperand *sum : sums) {
    printPreparedSum(*sum);
  }
  f.text.line("__syncwarp();");
  if (!form.hasVectorDecay()) {
    f.text.line("const float *const logScale = logs + here.half * " +
                number(2 * form.interval) + " + " + number(form.interval) +
                " + at;");
  }
  sequenceName = "here.chunk + at + t";
  for (const ScanOperand *operand : numbers) {
    f.text.line("now[" + number(operand->offset) +
                "] = " + scalarText(*operand) + ";");
  }
  sequenceName.clear();
  f.text.close();
  f.text.line(syncProducers());
}

/// How many tokens the stage holds that begins with this step's.
std::string ScanProducers::tokensOfStage() {
  std::string most = number(fragments.blocks * scanUnit);
  return fragments.areUsed() ? "here.pass == 1 ? count : here.end - at < " +
                                   most + " ? here.end - at : " + most
                             : "count";
}

void ScanProducers::printHeader() {
  // The first warp has the tokens' numbers to prepare.
  f.text.open("if (thread == " + number(32 * (tiles.producerWarps - 1)) + ")");
  f.text.comment("Cuts within the unit: tokens that start a segment, tokens "
                 "that end one; of the run's own only a start by strong decay, "
                 "backward.");
  f.text.line("const unsigned long long mask = (1ull << count) - 1;");
  f.text.line(std::string("const unsigned long long own = ") +
              (form.isReverse ? "here.pass == 1 && segments[here.half].isStrong"
                              : "0") +
              ";");
  f.text.line(
      "const unsigned starts = (unsigned)(((first & ~1ull) | own) >> at "
      "& mask);");
  f.text.line("const unsigned ends = (unsigned)((first & ~1ull) >> 1 >> at & "
              "mask);");
  f.text.line("int *const header = reinterpret_cast<int *>(stage);");
  f.text.line("header[0] = " + tokensOfStage() + ";");
  f.text.line("header[1] = (int)starts;");
  f.text.line("header[2] = (int)ends;");
  f.text.line("header[4] = at;");
  f.text.line("header[5] = (int)here.chunk;");
  f.text.line("header[6] = here.half;");
  if (form.isReverse) {
    printSavedPlaces();
  }
  std::string held = form.isReverse ? " | (here.isHeld ? isHeld : 0) | "
                                      "(here.pass == 0 ? isTrace : 0)"
                                    : "";
  f.text.line("header[3] = (here.u == 0 ? isFirstUnit : 0) | (here.u == "
              "here.units() - 1 ? isLastUnit : 0) | ("
              "starts ? isCut : 0)" +
              held + ";");
  f.text.close();
}

/// All vectors, or those of the walk to the segments' ends. Each warp prepares
/// some tokens.
void ScanProducers::printVectors(bool isTraced) {
  if (form.hasVectorDecay()) {
    printVectorsByEntry(isTraced);
    return;
  }
  std::string own = number(ceilDiv(scanUnit, tiles.producerWarps));
  f.text.line("const int from = producer * " + own + ", to = count < from + " +
              own + " ? count : from + " + own + ";");
  for (bool isRow : {true, false}) {
    f.text.line("#pragma unroll 1");
    f.text.open("for (int i = lane; i < " +
                number(isRow ? tiles.rows() : tiles.columns()) + "; i += 32)");
    printEntry(isRow, isTraced, "from", "to");
    f.text.close();
  }
}

/// A thread has the same entries of every token, whose decays it adds up: rows
/// from the first warp on, columns those warps that rows leave, from the last
/// one back.
void ScanProducers::printVectorsByEntry(bool isTraced) {
  std::int64_t warps = tiles.producerWarps;
  std::int64_t ofRows = ceilDiv(tiles.rows(), 32);
  std::int64_t ofColumns = ofRows < warps ? warps - ofRows : warps;
  for (std::int64_t x = 0; x < tiles.rows(); x += 32 * warps) {
    f.text.open("if (const int i = " + number(x) + " + thread; i < " +
                number(tiles.rows()) + ")");
    printEntry(true, isTraced, "0", "count");
    f.text.close();
  }
  for (std::int64_t x = 0; x < tiles.columns(); x += 32 * ofColumns) {
    std::string back = "(" + number(warps - 1) + " - producer)";
    f.text.open("if (const int i = " + number(x) + " + " + back +
                " * 32 + lane; " +
                (ofColumns < warps ? back + " < " + number(ofColumns) + " && "
                                   : std::string()) +
                "i < " + number(tiles.columns()) + ")");
    printEntry(false, isTraced, "0", "count");
    f.text.close();
  }
}

/// Entry i of the vectors of some tokens along one axis. What is read comes
/// first: the compiler cannot tell it from what is written.
void ScanProducers::printEntry(bool isRow, bool isTraced,
                               const std::string &from, const std::string &to) {
  bool padded = isPadded(isRow ? form.rows : form.columns);
  f.text.line("const int place = " + placeOf(isRow) + ";");
  if (padded) {
    f.text.line("const bool isEntry = i < " +
                (isRow ? rowsHere() : columnsHere()) + ";");
  }
  if (isDecayAxis(isRow)) {
    printDecayStart();
  }
  f.text.line("float *now = stage + 16" +
              (from == "0" ? "" : " + " + from + " * " + number(tokenFloats)) +
              ";");
  f.text.line("#pragma unroll 4");
  f.text.open("for (int t = " + from + "; t < " + to + "; ++t)");
  KernelText kept = f.text;
  readNames.clear();
  printEntryStores(isRow, isTraced, padded);
  f.text = kept;
  for (auto &[expression, name] : readNames) {
    name = f.text.name("read");
    f.text.line("const float " + name + " = " + expression + ";");
  }
  printEntryStores(isRow, isTraced, padded);
  readNames.clear();
  f.text.line("now += " + number(tokenFloats) + ";");
  f.text.close();
}

void ScanProducers::printEntryStores(bool isRow, bool isTraced, bool padded) {
  if (isDecayAxis(isRow)) {
    printDecayStep(padded);
  }
  for (std::unique_ptr<ScanOperand> &operand : values.operands) {
    if (operand->kind != (isRow ? ScanOperand::Row : ScanOperand::Column) ||
        (isTraced && !operand->isTraced)) {
      continue;
    }
    f.text.line("now[" + number(operand->offset) + " + place] = " +
                (operand->node
                     ? factorText(operand->node, operand->degree, padded)
                     : decayPower(operand->degree)) +
                ";");
  }
  if (!values.products.list.empty()) {
    isRow ? printRowWords(isTraced, padded)
          : printColumnWords(isTraced, padded);
  }
}

/// What is read of shared memory: by the name of the value, once it has one.
std::string ScanProducers::read(const std::string &expression) {
  std::string &name = readNames[expression];
  return name.empty() ? expression : name;
}

/// A prepared value: of the token `sequenceName`, from memory; if that is
/// empty, entry `index` of token t, from the copies.
std::string ScanProducers::prepared(const Node *node, StringRef index) {
  node = peel(node);
  if (node->kind == Kind::Known) {
    return boundary(form.top->find(node->value), index, index);
  }
  if (node->kind == Kind::Constant) {
    return printNumber(node->attributes.get("value"));
  }
  bool isFromMemory = !sequenceName.empty();
  if (node->axes.empty() &&
      ((!index.empty() && !isFromMemory) || node->kind == Kind::Reduce)) {
    return read("now[" + number(values.operand(node, 0).offset) + "]");
  }
  if (node->kind == Kind::CopyIn && (node->axes.empty() || isFromMemory)) {
    auto load = cast<chunk::LoadOp>(node->op);
    return "widen(" +
           addressOf(load.getBuffer(), load.getIndices(), sequenceName, index,
                     index) +
           ")";
  }
  if (node->kind == Kind::CopyIn) {
    for (const ScanVector &raw : raws) {
      if (isSame(raw.load, node)) {
        return read("widen(" + raw.name + "[(step % 2 * " + number(scanUnit) +
                    " + t) * " + number(raw.pitch) + " + " + index.str() +
                    "])");
      }
    }
    return "0"; // while operands are collected
  }
  SmallVector<std::string> operands;
  for (const Node *operand : node->operands) {
    operands.push_back(prepared(operand, index));
  }
  return printScalar(*node, operands);
}

} // namespace recurra::cuda
