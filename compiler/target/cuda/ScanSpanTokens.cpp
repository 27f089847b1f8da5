// What kernels of spans do with tokens: their numbers, sums of vectors among
// them, and copies of the vectors of 16 tokens at a time.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/ScanSpanKernels.h"

using namespace mlir;

namespace recurra::cuda {

using Kind = Node::Kind;

/// A token's vectors are copied as they lie in memory. Lanes that read pairs of
/// tokens together meet on no bank: the words between two tokens are 4 more
/// than a multiple of 8.
void SpanTokens::addVectors(const Node *node) {
  node = peel(node);
  bool isKnown = llvm::any_of(
      raws, [&](const ScanVector &raw) { return isSame(raw.load, node); });
  if (node->kind == Kind::CopyIn && node->axes.size() == 1 && !isKnown) {
    auto load = cast<chunk::LoadOp>(node->op);
    auto type = load.getBuffer().getType();
    constexpr std::int64_t piece = 16;
    std::int64_t bytes = type.getElement().getIntOrFloatBitWidth() / 8;
    std::int64_t width = form.isRow(node) ? tiles.rows() : tiles.columns();
    std::int64_t pitch = ceilDiv(width * bytes, piece) * piece;
    pitch += pitch % (2 * piece) == 0 ? piece : 0;
    raws.push_back({node,
                    f.text.name(f.buffers.lookup(load.getBuffer()) + "_tokens"),
                    pitch / bytes, rawBytes, false});
    rawBytes += ceilDiv(2 * pitch * scanUnit, 128) * 128;
    isExact |= type.getElement().isF32();
  }
  for (const Node *operand : node->operands) {
    addVectors(operand);
  }
}

/// Those that an expression of sums is made with, outside of the sums.
void SpanTokens::addFactorVectors(const Node *node) {
  node = peel(node);
  if (form.isPrepared(node)) {
    addVectors(node);
  } else if (node->kind != Kind::Reduce) {
    llvm::for_each(node->operands,
                   [&](const Node *operand) { addFactorVectors(operand); });
  } else {
    SmallVector<const Node *> open(node->operands.begin(),
                                   node->operands.end());
    while (!open.empty()) {
      const Node *factor = peel(open.pop_back_val());
      bool isProduct = opOf(factor) == "arith.mulf" && form.isMatrix(factor);
      if (isProduct) {
        open.append(factor->operands.begin(), factor->operands.end());
      } else if (form.isPrepared(factor)) {
        addVectors(factor);
      }
    }
  }
}

/// The sums of vectors within a number. False for sums within sums.
bool SpanTokens::addSums(const Node *node) {
  node = peel(node);
  if (node->kind != Kind::Reduce) {
    return llvm::all_of(node->operands,
                        [&](const Node *operand) { return addSums(operand); });
  }
  values.operand(node, 0);
  prepared(node->operands[0], "i");
  return !hasSum(node->operands[0]);
}

/// Where the numbers lie that were asked for. False for sums within sums.
bool SpanTokens::placeNumbers() {
  bool isPlain = true;
  for (std::size_t known = 0; known < values.operands.size();) {
    isPlain &= addSums(values.operands[known++]->node); // may ask for more
  }
  tokenNumbers = 1;
  for (std::unique_ptr<ScanOperand> &operand : values.operands) {
    operand->offset = tokenNumbers++;
  }
  return isPlain;
}

void SpanTokens::printRole() {
  f.text.line("const int thread = threadIdx.x, lane = threadIdx.x % 32;");
  f.text.line("const int warp = uniform(threadIdx.x / 32);");
  f.text.line("const int warpRow = warp % " + number(tiles.warpRows) +
              ", warpColumn = warp / " + number(tiles.warpRows) + ";");
}

void SpanTokens::printRaws(std::int64_t bytes) {
  for (const ScanVector &raw : raws) {
    auto type = cast<chunk::LoadOp>(raw.load->op).getBuffer().getType();
    std::string element = storedName(type.getElement());
    f.text.line(element + " *const " + raw.name + " = reinterpret_cast<" +
                element + " *>(shared + " + number(bytes + raw.offset) + ");");
  }
}

/// Of all tokens, first the logs of decays that are numbers.
void SpanTokens::printNumbers() {
  std::string tokens = number(form.spanTokens);
  sequenceName = sequence().begin + " + t";
  f.text.open("for (int t = thread; t < " + tokens + "; t += " + threads() +
              ")");
  f.text.line("float *const now = numbers + t * " + number(tokenNumbers) + ";");
  bool isNumber = form.decay && !form.hasVectorDecay();
  f.text.line("now[0] = " + (isNumber ? logOf("") : "0.0f") + ";");
  for (std::unique_ptr<ScanOperand> &operand : values.operands) {
    if (!hasSum(operand->node)) {
      f.text.line("now[" + number(operand->offset) +
                  "] = " + prepared(operand->node, "") + ";");
    }
  }
  f.text.close();
  f.text.line("syncBlock();");
  if (llvm::any_of(values.operands,
                   [](auto &operand) { return hasSum(operand->node); })) {
    printNumberSums();
  }
  sequenceName.clear();
}

/// A warp adds up a token's vectors, then makes numbers of the sums.
void SpanTokens::printNumberSums() {
  f.text.open("for (int t = warp; t < " + number(form.spanTokens) +
              "; t += " + number(tiles.computeWarps()) + ")");
  f.text.line("float *const now = numbers + t * " + number(tokenNumbers) + ";");
  auto isSum = [](const ScanOperand &operand) {
    return operand.node->kind == Kind::Reduce;
  };
  for (std::unique_ptr<ScanOperand> &operand : values.operands) {
    if (!isSum(*operand)) {
      continue;
    }
    printPreparedSum(*operand);
  }
  f.text.line("__syncwarp();");
  for (std::unique_ptr<ScanOperand> &operand : values.operands) {
    if (hasSum(operand->node) && !isSum(*operand)) {
      f.text.line("now[" + number(operand->offset) +
                  "] = " + prepared(operand->node, "") + ";");
    }
  }
  f.text.close();
  f.text.line("syncBlock();");
}

/// Names the kernel after what it does, with a task for each span of each task
/// of the walk.
void SpanTokens::finishNest(const char *suffix, std::int64_t bytes) {
  nest.entry += suffix;
  nest.tasks.front() = "P";
  nest.tasks.insert(nest.tasks.begin(), "J");
  nest.warps = tiles.computeWarps();
  nest.workersPerBlock = 1;
  nest.sharedBytes = bytes;
}

/// By one warp: what is left of each token at the span's end, and of all before
/// it, which goes to `whole`.
void SpanTokens::printDecayToEnd(const std::string &whole) {
  f.text.line("const float left = decayToEnd<" + number(form.spanTokens) +
              ", " + number(tokenNumbers) + ">(numbers, lane);");
  f.text.line("if (lane == 0) " + whole + " = left;");
}

/// Once what is left of each token is known: decays that are vectors are not.
void SpanTokens::printFirstReached() {
  std::string tokens = number(form.spanTokens);
  f.text.comment("The first token that has anything to do with the span's end, "
                 "a multiple of 16.");
  f.text.line("syncBlock();");
  f.text.line("int firstReached = " +
              (form.hasVectorDecay() ? "0" : "-" + tokens) + ";");
  if (form.hasVectorDecay()) {
    return;
  }
  f.text.line("#pragma unroll 4");
  f.text.line("for (int t = lane; t < " + tokens +
              "; t += 32) if (numbers[t * " + number(tokenNumbers) +
              "] != 0) firstReached = larger(firstReached, -t);");
  f.text.line("overLanes<true>(firstReached, lane);");
  f.text.line("firstReached = -firstReached / 16 * 16;");
}

/// `first`: the first token of `unit`.
void SpanTokens::printCopy(const std::string &first) {
  f.text.open("auto copy = [&](int unit)");
  f.text.line("const Index first = " + first + ";");
  printCopiesOf({"unit % 2", "first", "16", threads(), "", {}});
  f.text.line("commitCopies();");
  f.text.close("};");
}

} // namespace recurra::cuda
