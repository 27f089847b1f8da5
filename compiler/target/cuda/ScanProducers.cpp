// The warps that prepare: they cut runs of tokens into segments, copy the
// tokens' vectors, and scale them by the decay since the segment's first token.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/ScalarPrinter.h"
#include "compiler/target/cuda/ScanPrinter.h"

using namespace mlir;

namespace recurra::cuda {

using Kind = Node::Kind;

/// Forward, the range of f32 bounds the decay within a segment; states that
/// are walked back by subtraction lose this many of their digits as well.
static const char *limitOf(const ScanForm &form) {
  return form.isReverse ? "7.0f" : "24.0f";
}

void ScanPrinter::printProducers() {
  f.text.comment("Prepares tokens, one unit ahead of those who read them.");
  f.text.line("const int thread = threadIdx.x - " +
              std::to_string(32 * tiles.roleWarps()) + ";");
  f.text.line("unsigned unit = 0;");
  openTasks();
  std::string length =
      f.sequences[form.forall->getRegion(0).front().getArgument(0)].length;
  std::string step = std::to_string(form.interval);
  if (form.isReverse) {
    f.text.open("for (Index chunk = (" + length + " - 1 + " + step + ") / " +
                step + " * " + step + " - " + step + "; chunk >= 0; chunk -= " +
                step + ")");
  } else {
    f.text.open("for (Index chunk = 0; chunk < " + length + "; chunk += " +
                step + ")");
  }
  f.text.line("const int run = " + length + " - chunk < " + step +
              " ? (int)(" + length + " - chunk) : " + step + ";");
  printSegments();
  if (form.isReverse) {
    f.text.comment("States of a cut run, and of the last one, come from its "
                   "start: walk it forward first.");
    f.text.line("const bool heldRun = segments->count > 1 || chunk + " + step +
                " >= " + length + ";");
  }
  f.text.line("const int units = (run + " + std::to_string(scanUnit - 1) +
              ") / " + std::to_string(scanUnit) + ";");
  if (form.isReverse) {
    f.text.open("for (int pass = heldRun ? 0 : 1; pass < 2; ++pass)");
  } else {
    f.text.line("const int pass = 1;");
  }
  f.text.open("for (int u = 0; u < units; ++u)");
  printUnit();
  f.text.close();
  if (form.isReverse) {
    f.text.close();
  }
  f.text.close();
  f.text.line("waitFor(released + unit % 2, unit / 2 % 2 ^ 1);");
  f.text.line("if (thread == 0) reinterpret_cast<int *>(stages + unit % 2 * " +
              std::to_string(stageFloats) + ")[3] = isStop;");
  f.text.line("arrive(staged + unit % 2, lane);");
  f.text.line("++unit;");
  f.text.close();
}

/// The log of each token's decay, and from it the segments of the run.
void ScanPrinter::printSegments() {
  std::string threads = std::to_string(32 * tiles.producerWarps);
  std::string sync = "syncRole<1, " + threads + ">();";
  f.text.line(sync);
  f.text.open("for (int t = thread; t < run; t += " + threads + ")");
  std::string log = "0.0f";
  if (form.decay) {
    sequenceName = "chunk + t";
    log = prepared(ScanForm::peel(form.decay)->operands[0], "");
    sequenceName.clear();
  }
  f.text.line("logDecay[t] = " + log + ";");
  f.text.close();
  f.text.line(sync);
  f.text.line(std::string("if (thread == 0) findSegments(logDecay, logScale, "
                          "run, ") +
              limitOf(form) + ", *segments);");
  f.text.line(sync);
  f.text.line("const unsigned long long first = segments->first;");
}

void ScanPrinter::printUnit() {
  std::string unit = std::to_string(scanUnit);
  std::string sync =
      "syncRole<1, " + std::to_string(32 * tiles.producerWarps) + ">();";
  f.text.line("const int at = " + unit + " * " +
              (form.isReverse ? "(pass == 1 ? units - 1 - u : u)" : "u") + ";");
  f.text.line("const int count = run - at < " + unit + " ? run - at : " + unit +
              ";");
  f.text.line("float *const stage = stages + unit % 2 * " +
              std::to_string(stageFloats) + ";");
  f.text.line(sync);
  printCopies();
  f.text.line("waitFor(released + unit % 2, unit / 2 % 2 ^ 1);");
  f.text.open("if (thread < count)");
  printScalars();
  f.text.close();
  printHeader();
  f.text.line("waitForCopies();");
  f.text.line(sync);
  printVectors(ScanOperand::Row);
  printVectors(ScanOperand::Column);
  f.text.line("arrive(staged + unit % 2, lane);");
  f.text.line("++unit;");
}

void ScanPrinter::printCopies() {
  for (const Raw &raw : raws) {
    auto load = cast<chunk::LoadOp>(raw.load->op);
    auto type = load.getBuffer().getType();
    std::string name = f.buffers.lookup(load.getBuffer());
    std::string first = addressOf(load.getBuffer(), load.getIndices(),
                                  "chunk + at", "0", "0");
    // Of a token: after the batch row. Of an entry: the axis that is kept.
    unsigned tokens = type.findAxis("T") + 1, entries = 0, dimension = 0;
    for (StringAttr axis : type.getNames()) {
      dimension += axis == "T" ? 2 : 1;
      if (axis == raw.load->axes[0].name) {
        entries = dimension - 1;
      }
    }
    std::string extent = form.isRow(raw.load) ? rowsHere() : columnsHere();
    f.text.line("copyTokens(" + raw.name + ", " + std::to_string(raw.pitch) +
                ", &" + first + ", " + name + ".strides[" +
                std::to_string(tokens) + "], " + name + ".strides[" +
                std::to_string(entries) + "], count, " + extent +
                ", thread, " + std::to_string(32 * tiles.producerWarps) + ");");
  }
}

/// One thread per token.
void ScanPrinter::printScalars() {
  std::string base = "stage[16 + thread * " + std::to_string(tokenFloats) +
                     " + ";
  auto put = [&](std::int64_t offset, const std::string &value) {
    f.text.line(base + std::to_string(offset) + "] = " + value + ";");
  };
  std::int64_t special =
      tiles.rows() * llvm::count_if(values.operands,
                                    [](auto &operand) {
                                      return operand->kind == ScanOperand::Row;
                                    }) +
      tiles.columns() *
          llvm::count_if(values.operands, [](auto &operand) {
            return operand->kind == ScanOperand::Column;
          });
  f.text.line("const int t = at + thread;");
  f.text.line("const bool isFirst = first >> t & 1;");
  f.text.line("const bool isLast = t + 1 == run || (first >> (t + 1) & 1);");
  f.text.comment("entering a segment from the one before, leaving it for it");
  put(special, "isFirst ? expf((t == 0 ? 0 : logScale[t - 1]) + logDecay[t]) "
               ": 1");
  put(special + 1, "isLast ? expf(logScale[t] + (t + 1 == run ? 0 : logDecay[t "
                   "+ 1])) : 1");
  sequenceName = "chunk + t";
  for (std::unique_ptr<ScanOperand> &operand : values.operands) {
    if (operand->kind != ScanOperand::Scalar) {
      continue;
    }
    std::string scale =
        operand->degree == 0
            ? ""
            : "expf(" + std::to_string(-operand->degree) +
                  ".0f * logScale[t])";
    std::string value = operand->node ? prepared(operand->node, "") : "";
    put(operand->offset, value.empty() || scale.empty()
                             ? (value + scale).empty() ? "1" : value + scale
                             : value + " * " + scale);
  }
  sequenceName.clear();
}

void ScanPrinter::printHeader() {
  f.text.open("if (thread == 0)");
  f.text.comment("Cuts within the unit: tokens that start a segment, tokens "
                 "that end one; not those of the run itself.");
  f.text.line("const unsigned long long mask = (1ull << count) - 1;");
  f.text.line("const unsigned starts = (unsigned)((first & ~1ull) >> at & "
              "mask);");
  f.text.line("const unsigned ends = (unsigned)((first & ~1ull) >> 1 >> at & "
              "mask);");
  f.text.line("int *const header = reinterpret_cast<int *>(stage);");
  f.text.line("header[0] = count;");
  f.text.line("header[1] = (int)starts;");
  f.text.line("header[2] = (int)ends;");
  f.text.line("header[4] = at;");
  f.text.line("header[5] = (int)chunk;");
  std::string held = form.isReverse ? " | (heldRun ? isHeld : 0) | (pass == 0 "
                                      "? isTrace : 0)"
                                    : "";
  f.text.line("header[3] = (u == 0 ? isFirstUnit : 0) | (u == units - 1 ? "
              "isLastUnit : 0) | (" +
              std::string(form.isReverse ? "ends" : "starts") +
              " ? isCut : 0)" + held + ";");
  f.text.close();
}

/// All operands along one axis, entry by entry of the unit's tokens.
void ScanPrinter::printVectors(ScanOperand::Kind kind) {
  bool isRow = kind == ScanOperand::Row;
  std::int64_t width = isRow ? tiles.rows() : tiles.columns();
  if (llvm::none_of(values.operands,
                    [&](auto &operand) { return operand->kind == kind; })) {
    return;
  }
  auto number = [](std::int64_t x) { return std::to_string(x); };
  f.text.open("for (int at = thread; at < count * " + number(width) +
              "; at += " + number(32 * tiles.producerWarps) + ")");
  f.text.line("const int t = at / " + number(width) + ", i = at % " +
              number(width) + ";");
  f.text.line("float *const now = stage + 16 + t * " + number(tokenFloats) +
              ";");
  f.text.line("const int place = " + placeOf(isRow) + ";");
  bool padded = isPadded(isRow ? form.rows : form.columns, width);
  if (padded) {
    f.text.line("const bool isEntry = i < " +
                (isRow ? rowsHere() : columnsHere()) + ";");
  }
  for (std::unique_ptr<ScanOperand> &operand : values.operands) {
    if (operand->kind != kind) {
      continue;
    }
    std::string value = prepared(operand->node, "i");
    if (operand->degree != 0) {
      value += " * now[" + number(values.power(-operand->degree).offset) + "]";
    }
    f.text.line("now[" + number(operand->offset) + " + place] = " +
                (padded ? "isEntry ? " + value + " : 0" : value) + ";");
  }
  f.text.close();
}

/// A prepared value: with `index`, of an entry of token t, from the copies;
/// else of the token `sequenceName`, from memory.
std::string ScanPrinter::prepared(const Node *node, StringRef index) {
  node = ScanForm::peel(node);
  if (node->kind == Kind::Known) {
    return boundary(form.body == nullptr ? node : form.top->find(node->value),
                    index, index);
  }
  if (node->kind == Kind::Constant) {
    return printNumber(node->attributes.get("value"));
  }
  if (!index.empty() && node->axes.empty()) {
    return "now[" + std::to_string(values.operand(node, 0).offset) + "]";
  }
  if (node->kind == Kind::CopyIn && node->axes.empty()) {
    auto load = cast<chunk::LoadOp>(node->op);
    return "widen(" +
           addressOf(load.getBuffer(), load.getIndices(), sequenceName, "",
                     "") +
           ")";
  }
  if (node->kind == Kind::CopyIn) {
    for (const Raw &raw : raws) {
      if (isSame(raw.load, node)) {
        return "widen(" + raw.name + "[t * " + std::to_string(raw.pitch) +
               " + " + index.str() + "])";
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
