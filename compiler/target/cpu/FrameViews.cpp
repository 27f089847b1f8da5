// From a load's or store's indices to addresses and strides.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cpu/Frame.h"

using namespace mlir;

namespace recurra::cpu {

Value Frame::position(Value span, int64_t window) {
  // The offset within the enclosing span of the window's capacity.
  Value outer = chunk::getWindowSpan(span, window);
  if (!outer || outer == span) {
    return outer ? integer(0) : spans[span].origin;
  }
  return sub(spans[span].origin, spans[outer].origin);
}

Value Frame::slotOfTokens(Value span, int64_t per) {
  Value root = span;
  while (Value parent = chunk::getParent(root)) {
    root = parent;
  }
  Value firstSlot =
      add(divide(sequenceOf[root].first, per), spans[root].origin);
  return add(firstSlot, divide(spans[span].origin, per));
}

namespace {

/// The root of a span of T: its point of N.
Value sequencePoint(Value span) {
  while (Value parent = chunk::getParent(span)) {
    span = parent;
  }
  return span;
}

/// The axis that a load keeps, if it keeps one.
std::optional<Axis> keptAxis(StringAttr name, int64_t window, int64_t per,
                             Value span, Operation *source) {
  if (span) {
    int64_t capacity = cast<chunk::SpanType>(span.getType()).getCapacity();
    if (capacity == 1 || (per > 1 && capacity <= per)) {
      return std::nullopt;
    }
    return Axis{name, ceilDiv(capacity, per)};
  }
  int64_t size = window ? window : chunk::getExtent(source, name);
  return Axis{name, ceilDiv(size, per)};
}

} // namespace

UserView Frame::viewOf(Value buffer, OperandRange indices, const Axes &axes) {
  auto type = cast<chunk::BufferType>(buffer.getType());
  const Buffer &memory = buffers[buffer];
  UserView view;
  view.element = type.getElement();
  Value offset = integer(0);
  unsigned dimension = 0;
  for (auto [name, window, per] :
       llvm::zip(type.getNames(), type.getWindows(), type.getPers())) {
    Value span = chunk::findIndex(indices, name);
    Value stride = memory.strides[dimension++];
    if (span) {
      Value index;
      if (window) {
        index = divide(position(span, window), per);
      } else if (name == "T" && per > 1) {
        index = slotOfTokens(span, per);
      } else if (name == "T") {
        const SequenceInfo &sequence = sequenceOf[sequencePoint(span)];
        offset = add(offset, mul(sequence.row, stride));
        stride = memory.strides[dimension++];
        index = add(sequence.start, spans[span].origin);
      } else {
        index = divide(spans[span].origin, per);
      }
      offset = add(offset, mul(index, stride));
    }
    if (auto axis = keptAxis(name, window, per, span, source)) {
      Value valid = span ? spans[span].valid : Value();
      view.steps.push_back(
          {*axis, stride, valid ? divideUp(valid, per) : Value()});
    }
  }
  llvm::sort(view.steps, [&](const auto &a, const auto &b) {
    auto rank = [&](StringAttr name) {
      return llvm::find_if(
                 axes, [&](const Axis &axis) { return axis.name == name; }) -
             axes.begin();
    };
    return rank(a.axis.name) < rank(b.axis.name);
  });
  view.base = pointer(memory.data, view.element, offset);
  return view;
}

/// Windows of tokens outermost, the lane axis innermost and padded.
const View &Frame::scratchBuffer(Value buffer) {
  View &view = scratchBuffers[buffer];
  if (view.isSet()) {
    return view;
  }
  auto type = cast<chunk::BufferType>(buffer.getType());
  Axes tokens, axes;
  for (auto [name, window, per] :
       llvm::zip(type.getNames(), type.getWindows(), type.getPers())) {
    int64_t size = window ? window : chunk::getExtent(source, name);
    bool isToken = name == "T" || name == "U";
    // One slot more, for the value behind the last token of a trace.
    (isToken ? tokens : axes)
        .push_back({name, ceilDiv(size, per) + (isToken ? 1 : 0)});
  }
  order.sort(axes);
  axes.insert(axes.begin(), tokens.begin(), tokens.end());
  return view = allocate(axes);
}

View Frame::scratchViewOf(Value buffer, OperandRange indices) {
  auto type = cast<chunk::BufferType>(buffer.getType());
  const View &memory = scratchBuffer(buffer);
  View view;
  Value offset = integer(0);
  for (auto [name, window, per] :
       llvm::zip(type.getNames(), type.getWindows(), type.getPers())) {
    Value span = chunk::findIndex(indices, name);
    int64_t stride = memory.stride(name);
    if (span) {
      Value index = window ? position(span, window) : spans[span].origin;
      offset = add(offset, mul(divide(index, per), integer(stride)));
    }
    if (auto axis = keptAxis(name, window, per, span, source)) {
      view.steps.push_back({axis->name, stride});
    }
  }
  view.base = pointer(basePointer(memory), element, offset);
  return view;
}

} // namespace recurra::cpu
