// From a load's or store's indices to pointers and strides, and the copies
// between memory and a lane's arrays.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/KernelFrame.h"

using namespace mlir;

namespace recurra::cuda {

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

static std::string divided(const std::string &index, std::int64_t by) {
  return by == 1 ? index : "(" + index + ") / " + std::to_string(by);
}

/// The offset within the enclosing span of the window's capacity.
std::string KernelFrame::position(Value span, std::int64_t window) {
  Value outer = chunk::getWindowSpan(span, window);
  if (!outer || outer == span) {
    return outer ? "0" : spans[span].origin;
  }
  return "(" + spans[span].origin + " - " + spans[outer].origin + ")";
}

static Value rootOf(Value span) {
  while (Value parent = chunk::getParent(span)) {
    span = parent;
  }
  return span;
}

std::string KernelFrame::slotOfTokens(Value span, std::int64_t per) {
  Value root = rootOf(span);
  std::string by = std::to_string(per);
  return "(" + sequences[root].first + " / " + by + " + " + spans[root].origin +
         " + " + spans[span].origin + " / " + by + ")";
}

/// The axis that a load keeps, if it keeps one.
static std::optional<Axis> keptAxis(StringAttr name, std::int64_t window,
                                    std::int64_t per, Value span,
                                    Operation *source) {
  if (span) {
    std::int64_t capacity = cast<chunk::SpanType>(span.getType()).getCapacity();
    if (capacity == 1 || (per > 1 && capacity <= per)) {
      return std::nullopt;
    }
    return Axis{name, ceilDiv(capacity, per)};
  }
  std::int64_t size = window ? window : chunk::getExtent(source, name);
  return Axis{name, ceilDiv(size, per)};
}

std::string storedName(Type element) {
  return element.isBF16()  ? "bf16"
         : element.isF16() ? "f16"
         : element.isF64() ? "double"
                           : "float";
}

MemoryView KernelFrame::viewOf(Value buffer, OperandRange indices,
                               const Axes &axes, bool isStore) {
  auto type = cast<chunk::BufferType>(buffer.getType());
  bool isPrivate = cpu::isScratch(buffer);
  std::string name = isPrivate ? scratch[buffer].name : buffers[buffer];
  unsigned dimension = 0;
  auto nextStride = [&] {
    unsigned number = dimension++;
    return isPrivate ? std::to_string(scratch[buffer].strides[number])
                     : name + ".strides[" + std::to_string(number) + "]";
  };
  MemoryView view;
  std::string offset;
  auto add = [&](const std::string &index, const std::string &stride) {
    if (index != "0") {
      offset += (offset.empty() ? "" : " + ") + index + " * " + stride;
    }
  };
  for (auto [axis, window, per] :
       llvm::zip(type.getNames(), type.getWindows(), type.getPers())) {
    Value span = chunk::findIndex(indices, axis);
    std::string stride = nextStride();
    if (span && window) {
      add(divided(position(span, window), per), stride);
    } else if (span && axis == "T" && per > 1) {
      add(slotOfTokens(span, per), stride);
    } else if (span && axis == "T") {
      const SequenceText &sequence = sequences[rootOf(span)];
      add(sequence.row, stride);
      stride = nextStride();
      add("(" + sequence.start + " + " + spans[span].origin + ")", stride);
    } else if (span) {
      add(divided(spans[span].origin, per), stride);
    }
    if (auto kept = keptAxis(axis, window, per, span, source)) {
      std::string valid = span ? spans[span].valid : "";
      view.steps.push_back({*kept, stride,
                            valid.empty() || per == 1
                                ? valid
                                : "(" + valid + " + " +
                                      std::to_string(per - 1) + ") / " +
                                      std::to_string(per)});
    }
  }
  view.isReadOnly =
      !isPrivate && !isStore &&
      llvm::none_of(buffer.getUsers(), [&](Operation *user) {
        return isa<chunk::StoreOp>(user) && source->isProperAncestor(user);
      });
  view.pointer = text.name(name + (isStore ? "_to" : "_at"));
  std::string element =
      isPrivate ? typeName(type.getElement()) : storedName(type.getElement());
  std::string base =
      isPrivate ? name
                : "reinterpret_cast<" + element + " *>(" + name + ".data)";
  text.line((isStore ? "" : "const ") + element + " *" + view.pointer + " = " +
            base + (offset.empty() ? "" : " + " + offset) + ";");
  return view;
}

std::string KernelFrame::element(const MemoryView &view,
                                 const Point &point) const {
  std::string index;
  for (const MemoryView::Step &step : view.steps) {
    std::string entry = this->entry(step.axis, point);
    if (entry == "0") {
      continue;
    }
    if (step.stride != "1") {
      entry =
          (entry.find(' ') == std::string::npos ? entry : "(" + entry + ")") +
          " * " + step.stride;
    }
    index += (index.empty() ? "" : " + ") + entry;
  }
  return view.pointer + "[" + (index.empty() ? "0" : index) + "]";
}

/// That the element exists, here and in memory; empty if it always does.
std::string KernelFrame::condition(const MemoryView &view,
                                   const Point &point) const {
  std::string condition;
  for (const MemoryView::Step &step : view.steps) {
    std::string inside = step.valid.empty()
                             ? isInside(step.axis, point)
                             : entry(step.axis, point) + " < " + step.valid;
    if (!inside.empty()) {
      condition += (condition.empty() ? "" : " && ") + inside;
    }
  }
  return condition;
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

void KernelFrame::load(const MemoryView &view, const Home &home,
                       const Axes &axes, Type type) {
  Point point;
  openLoops(axes, point);
  std::string value =
      "widen(" +
      (view.isReadOnly ? "readOnly(&" + element(view, point) + ")"
                       : element(view, point)) +
      ")";
  std::string exists = condition(view, point);
  if (!exists.empty()) {
    value = exists + " ? " + value + " : 0";
  }
  text.line(at(home, point) + " = " + value + ";");
  closeLoops(axes);
}

/// A tile that every lane holds, of one axis: lane l stores entries l, l + 32,
/// so that a warp writes neighbours.
void KernelFrame::storeRow(const MemoryView &view, const Home &home,
                           const Axis &axis, Type type) {
  std::string mine = text.name("mine");
  for (std::int64_t base = 0; base < axis.size; base += warpSize) {
    text.open("");
    text.line(typeName(type) + " " + mine + " = 0;");
    std::int64_t count = std::min(warpSize, axis.size - base);
    text.line("#pragma unroll");
    text.open("for (int i = 0; i < " + std::to_string(count) + "; ++i)");
    std::string from = base == 0 ? "i" : std::to_string(base) + " + i";
    text.line(mine + " = lane == i ? " + at(home, {{axis.name, from}}) + " : " +
              mine + ";");
    text.close();
    std::string entry = base == 0 ? "lane" : std::to_string(base) + " + lane";
    std::string limit = std::to_string(axis.size);
    std::string inside = entry + " < " + limit;
    const MemoryView::Step &step = view.steps.front();
    if (!step.valid.empty()) {
      inside += " && " + entry + " < " + step.valid;
    }
    text.open("if (" + inside + ")");
    text.line("narrow(" + view.pointer + "[(" + entry + ") * " + step.stride +
              "], " + mine + ");");
    text.close();
    text.close();
  }
}

void KernelFrame::store(const MemoryView &view, const Home &home,
                        const Axes &axes, bool isPrivate, Type type) {
  bool isEverywhere = !isPrivate && !layout.hasLane(axes);
  if (isEverywhere && axes.size() == 1) {
    return storeRow(view, home, axes.front(), type);
  }
  Point point;
  openLoops(axes, point);
  std::string exists = condition(view, point);
  if (isEverywhere) {
    std::string flat;
    std::int64_t size = 1;
    for (const Axis &axis : llvm::reverse(axes)) {
      flat += (flat.empty() ? "" : " + ") + entry(axis, point) + " * " +
              std::to_string(size);
      size *= axis.size;
    }
    std::string mine =
        flat.empty() ? "lane == 0" : "lane == (" + flat + ") % 32";
    exists = exists.empty() ? mine : exists + " && " + mine;
  }
  text.line((exists.empty() ? "" : "if (" + exists + ") ") + "narrow(" +
            element(view, point) + ", " + at(home, point) + ");");
  closeLoops(axes);
}

} // namespace recurra::cuda
