// Spans at run time: how many there are, where each starts, how long it is.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/KernelFrame.h"

using namespace mlir;

namespace recurra::cuda {

static chunk::SpanType typeOf(Value span) {
  return cast<chunk::SpanType>(span.getType());
}

std::string spanCut(std::int64_t tokens, bool hasParts) {
  return hasParts ? "PartCut{(int)shape.partBits}"
                  : "SpanCut<" + std::to_string(tokens) + ">{}";
}

/// A span of T cut from a point of N, not from another span of T.
static bool isWholeSequence(Value span) {
  Value parent = chunk::getParent(span);
  return parent && typeOf(parent).getAxis() != typeOf(span).getAxis();
}

/// Where the iterations over a span start, and how far they reach.
std::string KernelFrame::totalOf(Value span) {
  StringRef axis = typeOf(span).getAxis().getValue();
  Value parent = chunk::getParent(span);
  if (isWholeSequence(span)) {
    return sequences[parent].length;
  }
  if (parent) {
    const SpanText &outer = spans[parent];
    return outer.valid.empty() ? std::to_string(outer.capacity) : outer.valid;
  }
  if (axis == "N") {
    return "shape.sequences";
  }
  if (axis == "H") {
    return "shape.heads";
  }
  return std::to_string(chunk::getExtent(source, axis));
}

std::string KernelFrame::beginOf(Value span) {
  Value parent = chunk::getParent(span);
  return parent && !isWholeSequence(span) ? spans[parent].origin : "0";
}

std::string KernelFrame::countOf(Value span) {
  std::int64_t step = typeOf(span).getCapacity();
  StringRef axis = typeOf(span).getAxis().getValue();
  if (std::int64_t extent = chunk::getExtent(source, axis)) {
    return std::to_string(ceilDiv(extent, step));
  }
  std::string total = totalOf(span);
  return step == 1 ? total
                   : "(" + total + " + " + std::to_string(step - 1) + ") / " +
                         std::to_string(step);
}

/// Row n from its first token, or, packed, a part of row 0.
void KernelFrame::enterSequence(Value span) {
  std::string n = spans[span].origin;
  SequenceText sequence{text.name("row"), text.name("start"),
                        text.name("length"), text.name("firstToken")};
  std::string packed = text.name("isPacked");
  text.line("const bool " + packed + " = shape.offsets != nullptr;");
  text.line("const Index " + sequence.row + " = " + packed + " ? 0 : " + n +
            ";");
  text.line("const Index " + sequence.start + " = " + packed +
            " ? shape.offsets[" + n + "] : 0;");
  text.line("const Index " + sequence.length + " = " + packed +
            " ? shape.offsets[" + n + " + 1] - " + sequence.start +
            " : shape.tokens;");
  text.line("const Index " + sequence.first + " = " + packed + " ? " +
            sequence.start + " : " + n + " * shape.tokens;");
  sequence.end = sequence.length;
  if (hasSlots()) {
    std::string tokens = hasParts ? spanCut(spanTokens, true) + ".size()"
                                  : std::to_string(spanTokens);
    sequence.begin = text.name("begin");
    sequence.end = text.name("end");
    text.line("const Index " + sequence.begin + " = (Index)" +
              (hasParts ? "part" : "span") + ".number * " + tokens + ", " +
              sequence.end + " = " + sequence.length + " - " + sequence.begin +
              " < " + tokens + " ? " + sequence.length + " : " +
              sequence.begin + " + " + tokens + ";");
  }
  sequences[span] = sequence;
}

/// What is left of the task's number is a slot, of a span or a part; tasks of
/// empty ones end here. Returns what its sequence is called.
std::string KernelFrame::enterSlot() {
  std::string spans = spanCut(spanTokens, false);
  if (!hasParts) {
    text.line("const " + taskType + " slot = rest;");
    text.line("const TokenSpan span = findSpan(" + spans + ", shape, slot);");
    text.line("if (span.number >= span.count) continue;");
    return "span.sequence";
  }
  text.line("const " + taskType + " partSlot = rest;");
  text.line("const TokenSpan part = findSpan(" + spanCut(spanTokens, true) +
            ", shape, partSlot);");
  text.line("if (part.number >= part.count) continue;");
  if (spanTokens == 0) {
    return "part.sequence";
  }
  text.line("const TokenSpan span = spanAround<" +
            std::to_string(llvm::Log2_64(spanTokens)) + ">(" +
            spanCut(spanTokens, true) + ", part);");
  text.line("const " + taskType + " slot = firstSlot(" + spans +
            ", shape, span.sequence) + span.number;");
  return "span.sequence";
}

void KernelFrame::enterSpan(Value span, StringRef origin) {
  SpanText info{typeOf(span).getAxis(), typeOf(span).getCapacity(),
                origin.str(), ""};
  if (!cpu::isAlwaysFull(span)) {
    std::string capacity = std::to_string(info.capacity);
    Value parent = chunk::getParent(span);
    bool isPart = parent && !isWholeSequence(span);
    std::string end = totalOf(span);
    if (isPart) {
      end = spans[parent].origin + " + " + end;
    }
    info.valid = text.name((origin + "_length").str());
    text.line("const Index " + info.valid + " = " + end + " - " + origin +
              " < " + capacity + " ? " + end + " - " + origin + " : " +
              capacity + ";");
  }
  spans[span] = info;
  if (info.axis == "N") {
    enterSequence(span);
  }
}

void KernelFrame::enterTask() {
  unsigned count = source.getNumIterators();
  SmallVector<std::string> origins(count);
  // A slow head's spans come to different blocks: heads turn with the slots.
  SmallVector<std::string> heads;
  if (count > 0) {
    text.line(taskType + " rest = " + taskText + ";");
  }
  if (!layout.first.empty()) {
    std::string vectors = std::to_string(layout.cuts);
    text.line("const int " + layout.first + " = rest % " + vectors + " * " +
              std::to_string(layout.width) + ";");
    text.line("rest /= " + vectors + ";");
  }
  if (pieces > 1) {
    std::string number = std::to_string(pieces);
    text.line("const int piece = rest % " + number + ";");
    text.line("rest /= " + number + ";");
  }
  if (tokenParts > 1) {
    std::string parts = std::to_string(tokenParts);
    text.line("const Index part = rest % " + parts + ";");
    text.line("rest /= " + parts + ";");
  }
  for (unsigned i = count; i-- > 0;) {
    StringRef axis = source.getAxis(i);
    std::int64_t step = source.getSteps()[i];
    std::string name = axis == "N"   ? "sequence"
                       : axis == "H" ? "head"
                                     : "first" + axis.str();
    std::string number =
        "(" + taskType + ")(" + countOf(source.getSpan(i)) + ")";
    origins[i] = text.name(name);
    std::string whole = i == 0 ? "rest" : "rest % " + number;
    std::string scale = step == 1 ? "" : " * " + std::to_string(step);
    if (i == 0 && hasSlots()) {
      whole = enterSlot();
    }
    if (axis == "H" && hasSlots()) {
      std::string turned = text.name("turned");
      text.line("const " + taskType + " " + turned + " = " + whole + ";");
      heads.push_back("const Index " + origins[i] + " = (" + turned + " + " +
                      slotName() + ") % " + number + scale + ";");
    } else {
      text.line("const Index " + origins[i] + " = (Index)(" + whole + ")" +
                scale + ";");
    }
    if (i > 0) {
      text.line("rest /= " + number + ";");
    }
  }
  for (const std::string &line : heads) {
    text.line(line);
  }
  for (unsigned i = 0; i < count; ++i) {
    enterSpan(source.getSpan(i), origins[i]);
  }
}

static StringRef nameFor(chunk::SpanType type) {
  StringRef axis = type.getAxis().getValue();
  bool isPoint = type.getCapacity() == 1;
  return axis == "T"   ? isPoint ? "token" : "chunk"
         : axis == "N" ? "sequence"
         : axis == "H" ? "head"
                       : axis;
}

void KernelFrame::openSpanLoop(Value span, bool isReverse) {
  std::string origin = text.name((nameFor(typeOf(span)) + "").str());
  std::string step = std::to_string(typeOf(span).getCapacity());
  std::string begin = beginOf(span), total = totalOf(span);
  std::string end = begin == "0" ? total : begin + " + " + total;
  if (tokenParts > 1 && isWholeSequence(span)) {
    begin = "part";
    step = std::to_string(tokenParts);
    text.line("#pragma unroll 3");
  }
  if (isReverse) {
    std::string last = step == "1"
                           ? end + " - 1"
                           : begin + " + (" + total + " - 1 + " + step +
                                 ") / " + step + " * " + step + " - " + step;
    text.open("for (Index " + origin + " = " + last + "; " + origin +
              " >= " + begin + "; " + origin + " -= " + step + ")");
  } else {
    text.open("for (Index " + origin + " = " + begin + "; " + origin + " < " +
              end + "; " + origin + " += " + step + ")");
  }
  enterSpan(span, origin);
}

} // namespace recurra::cuda
