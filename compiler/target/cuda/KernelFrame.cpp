// Tiles as arrays of a lane, and loops over them.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/KernelFrame.h"

using namespace mlir;

namespace recurra::cuda {

std::string KernelFrame::typeName(Type element) const {
  return element.isF64() ? "double" : "float";
}

std::string KernelFrame::dimensions(const Home &home) const {
  std::string text;
  for (const Home::Step &step : home.steps) {
    std::int64_t rows = layout.rowsOf(step.axis);
    if (!layout.isLane(step.axis.name) || rows > 1) {
      text += "[" + std::to_string(rows) + "]";
    }
  }
  return text;
}

Home KernelFrame::makeHome(StringRef hint, const Axes &axes) {
  Home home;
  home.name = text.name(hint.empty() ? "x" : hint);
  for (const Axis &axis : axes) {
    home.steps.push_back({axis});
  }
  return home;
}

void KernelFrame::declare(const Home &home, Type element, StringRef start) {
  std::string line = typeName(element) + " " + home.name;
  std::string dimension = dimensions(home);
  if (start.empty() || (!dimension.empty() && start == "0")) {
    text.line(line + dimension + (start.empty() ? ";" : " = {};"));
    return;
  }
  if (dimension.empty()) {
    text.line(line + " = " + start + ";");
    return;
  }
  text.line(line + dimension + ";");
  Axes axes;
  for (const Home::Step &step : home.steps) {
    axes.push_back(step.axis);
  }
  Point point;
  openLoops(axes, point);
  text.line(at(home, point) + " = " + start + ";");
  closeLoops(axes);
}

static std::string indexOf(const Point &point, StringAttr axis) {
  for (const auto &[name, index] : point) {
    if (name == axis) {
      return index;
    }
  }
  return "0";
}

std::string KernelFrame::at(const Home &home, const Point &point) const {
  std::string result = home.name;
  for (const Home::Step &step : home.steps) {
    if (step.fixed >= 0) {
      result += "[" + std::to_string(step.fixed) + "]";
    } else if (!layout.isLane(step.axis.name) || layout.rowsOf(step.axis) > 1) {
      result += "[" + indexOf(point, step.axis.name) + "]";
    }
  }
  return result;
}

void KernelFrame::copy(const Home &from, const Home &to, const Axes &axes) {
  Point point;
  openLoops(axes, point);
  text.line(at(to, point) + " = " + at(from, point) + ";");
  closeLoops(axes);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

void KernelFrame::openLoops(const Axes &axes, Point &point) {
  bool unroll = layout.elementsPerLane(axes) <= layout.maxUnrolled;
  for (const Axis &axis : axes) {
    std::int64_t rows = layout.rowsOf(axis);
    if (rows == 1) {
      point.push_back({axis.name, "0"});
      continue;
    }
    // Loops of one kernel may share their variables' names: none is nested in
    // another over the same axis.
    std::string index = ("i" + axis.name.getValue()).str();
    point.push_back({axis.name, index});
    text.line(unroll ? "#pragma unroll" : "#pragma unroll 1");
    text.open("for (int " + index + " = 0; " + index + " < " +
              std::to_string(rows) + "; ++" + index + ")");
  }
}

void KernelFrame::closeLoops(const Axes &axes) {
  for (const Axis &axis : axes) {
    if (layout.rowsOf(axis) > 1) {
      text.close();
    }
  }
}

/// Points: the position of the first entry of the vector with entry `index`.
std::string KernelFrame::vectorOf(const Axis &axis,
                                  const std::string &index) const {
  std::int64_t width = layout.width;
  if (layout.rowsOf(axis) == width) {
    return layout.first;
  }
  return layout.first + " + " + index +
         (width == 1 ? "" : " / " + std::to_string(width)) + " * " +
         std::to_string(layout.lanes * width);
}

std::string KernelFrame::entry(const Axis &axis, const Point &point) const {
  std::string index = indexOf(point, axis.name);
  if (!layout.isLane(axis.name)) {
    return index;
  }
  std::int64_t rows = layout.rowsOf(axis);
  if (layout.first.empty()) {
    return rows == 1 ? "lane" : "lane + 32 * " + index;
  }
  std::string vector = vectorOf(axis, index);
  return layout.width == 1 ? vector
         : rows > layout.width
             ? vector + " + " + index + " % " + std::to_string(layout.width)
             : vector + " + " + index;
}

std::string KernelFrame::isInside(const Axis &axis, const Point &point) const {
  std::int64_t together = layout.lanes * layout.width * layout.cuts;
  if (!layout.isLane(axis.name) || axis.size % together == 0) {
    return "";
  }
  std::string position = layout.first.empty()
                             ? entry(axis, point)
                             : vectorOf(axis, indexOf(point, axis.name));
  return position + " < " + std::to_string(axis.size);
}

} // namespace recurra::cuda
