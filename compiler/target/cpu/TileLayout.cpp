// The order of axes and dense layouts.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cpu/TileLayout.h"

using namespace mlir;

namespace recurra::cpu {

bool hasAxis(ArrayRef<Axis> axes, StringAttr name) {
  return llvm::any_of(axes,
                      [&](const Axis &axis) { return axis.name == name; });
}

AxisOrder::AxisOrder(Operation *root, int64_t lanes) : lanes(lanes) {
  root->walk([&](Operation *op) {
    for (Type type : op->getResultTypes()) {
      if (auto tile = dyn_cast<chunk::TileType>(type)) {
        for (auto [name, size] : llvm::zip(tile.getNames(), tile.getSizes())) {
          int64_t &known = sizes[name.getValue()];
          known = std::max(known, size);
        }
      }
    }
    if (auto schedule = op->getAttrOfType<DictionaryAttr>("schedule")) {
      if (auto name = schedule.getAs<StringAttr>("cpu.lanes")) {
        preferred = name;
      }
    }
  });
}

std::tuple<bool, bool, bool, StringRef> AxisOrder::rank(StringAttr name) const {
  auto found = sizes.find(name.getValue());
  bool isLong = found != sizes.end() && found->second >= lanes;
  bool isToken = name.getValue() == "T" || name.getValue() == "U";
  return {isLong, !isToken, name == preferred, name.getValue()};
}

void AxisOrder::sort(Axes &axes) const {
  llvm::sort(axes, [&](const Axis &a, const Axis &b) {
    return rank(a.name) < rank(b.name);
  });
}

Axes AxisOrder::sorted(chunk::TileType type) const {
  Axes axes;
  for (auto [name, size] : llvm::zip(type.getNames(), type.getSizes())) {
    axes.push_back({name, size});
  }
  sort(axes);
  return axes;
}

int64_t View::stride(StringAttr axis) const {
  for (const Step &step : steps) {
    if (step.axis == axis) {
      return step.stride;
    }
  }
  return 0;
}

View makeDenseView(ArrayRef<Axis> axes, int64_t lanes) {
  View view;
  int64_t stride = 1;
  for (const Axis &axis : llvm::reverse(axes)) {
    view.steps.insert(view.steps.begin(), {axis.name, stride});
    bool isLane = stride == 1 && &axis == &axes.back();
    stride *= isLane ? ceilDiv(axis.size, lanes) * lanes : axis.size;
  }
  return view;
}

int64_t paddedElements(ArrayRef<Axis> axes, int64_t lanes) {
  int64_t product = lanes;
  for (const Axis &axis : axes) {
    bool isLane = &axis == &axes.back();
    product *= isLane ? ceilDiv(axis.size, lanes) : axis.size;
  }
  return product;
}

} // namespace recurra::cpu
