// Making a Plan: a table of rules, not a search.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/Plan.h"

#include "compiler/passes/PlanTiling.h"
#include "compiler/rec/Rec.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

using namespace mlir;
using namespace recurra;

std::string recurra::toText(const Plan &plan) {
  std::string text = "form " + plan.form;
  text += plan.why.empty() ? "" : " (no scan: " + plan.why + ")";
  if (!plan.axis.empty()) {
    text += ", lanes " + plan.axis;
    text += plan.tile ? " in tiles of " + std::to_string(plan.tile) : ", whole";
  }
  text += llvm::formatv(", states saved every {0} tokens ({1} bytes per head)",
                        plan.interval, plan.savedBytes);
  if (plan.traceBytes > 0) {
    text += llvm::formatv(" and recomputed between ({0} bytes of scratch)",
                          plan.traceBytes);
  }
  return text;
}

std::int64_t recurra::extentOf(const Spec &spec, StringRef axis) {
  auto found = spec.extents.find(axis.str());
  if (found == spec.extents.end() && axis.consume_back("_")) {
    found = spec.extents.find(axis.str());
  }
  return found == spec.extents.end() ? 0 : found->second;
}

std::vector<PlanState> recurra::statesOf(func::FuncOp function) {
  std::vector<PlanState> states;
  function.walk([&](rec::ScanOp scan) {
    if (!states.empty() || scan.getReverse()) {
      return;
    }
    for (auto [i, init] : llvm::enumerate(scan.getInits())) {
      PlanState &state = states.emplace_back();
      state.name = scan.getStateName(i);
      for (StringAttr axis : rec::axesOf(init)) {
        state.axes.push_back(axis.str());
      }
    }
  });
  return states;
}

/// Elements of a value over some axes, with `tile` entries of one of them.
static std::int64_t countElements(ArrayRef<std::string> axes, const Spec &spec,
                                  StringRef cut = "", std::int64_t tile = 0) {
  std::int64_t count = 1;
  for (const std::string &axis : axes) {
    count *= axis == cut && tile ? tile : extentOf(spec, axis);
  }
  return count;
}

static std::int64_t elementBytes(const Spec &spec) {
  return spec.computeType() == DType::F64 ? 8 : 4;
}

std::int64_t recurra::planInterval(ArrayRef<PlanState> states, const Spec &spec,
                                   const TargetDescription &target) {
  // A state tile of one vector along its longest axis bounds how far a trace
  // of `interval` tokens can be shrunk by tiling.
  std::int64_t bytes = 0;
  for (const PlanState &state : states) {
    std::int64_t longest = 1;
    for (const std::string &axis : state.axes) {
      longest = std::max(longest, extentOf(spec, axis));
    }
    bytes += countElements(state.axes, spec) / longest *
             std::min(longest, target.lanes) * elementBytes(spec);
  }
  std::int64_t interval = 64;
  while (interval > 16 && interval * bytes > target.l2Bytes) {
    interval /= 2;
  }
  return interval;
}

/// The axes of the largest state, in memory order.
static std::vector<std::string> candidates(ArrayRef<PlanState> states,
                                           const Spec &spec) {
  std::vector<std::string> axes;
  std::int64_t largest = 0;
  for (const PlanState &state : states) {
    std::int64_t size = countElements(state.axes, spec);
    if (size > largest) {
      largest = size;
      axes = state.axes;
    }
  }
  return axes;
}

/// The axis for the lanes: free, summed over least, the last of several.
static std::string chooseAxis(func::FuncOp function, ArrayRef<std::string> axes,
                              bool &isFree) {
  isFree = false;
  std::string best = axes.empty() ? "" : axes.back();
  unsigned fewest = 0;
  for (const std::string &axis : llvm::reverse(axes)) {
    PlanTiling tiling(function, axis);
    if (tiling.isLegal() && (!isFree || tiling.getSums() < fewest)) {
      best = axis;
      fewest = tiling.getSums();
      isFree = true;
    }
  }
  return best;
}

/// Tasks store parts of what is summed over the axis that is cut, one number
/// per entry of the others: least if the longest is cut.
static std::string longestFreeAxis(func::FuncOp function, const Plan &plan,
                                   const Spec &spec) {
  std::string best = plan.axis;
  if (PlanTiling(function, best).getSums() == 0) {
    return best;
  }
  for (const std::string &axis : candidates(plan.states, spec)) {
    if (extentOf(spec, axis) > extentOf(spec, best) &&
        PlanTiling(function, axis).isLegal()) {
      best = axis;
    }
  }
  return best;
}

/// Bytes of all states with `tile` entries of the axis (0: all).
static std::int64_t bytesOf(const Plan &plan, const Spec &spec,
                            std::int64_t tile) {
  std::int64_t bytes = 0;
  for (const PlanState &state : plan.states) {
    bytes +=
        countElements(state.axes, spec, plan.axis, tile) * elementBytes(spec);
  }
  return bytes;
}

/// Of matrices of the same axes, no entry knows of another: the target goes
/// through a few tokens at a time, block by block.
static bool areApart(func::FuncOp function, const Plan &plan) {
  const std::vector<std::string> &axes = plan.states.front().axes;
  return axes.size() == 2 &&
         llvm::all_of(
             plan.states,
             [&](const PlanState &state) { return state.axes == axes; }) &&
         llvm::all_of(axes, [&](const std::string &axis) {
           return PlanTiling(function, axis).isLegal();
         });
}

/// The widest tile of whole vectors whose states or (backward) trace fit a
/// cache, at most 64 entries, best a divisor of the extent; 0 if the whole axis
/// fits. The cache is half of L1 where every token walks through the states,
/// else L2.
static std::int64_t chooseTile(const Plan &plan, const Spec &spec,
                               const TargetDescription &target, bool isBackward,
                               bool isApart) {
  constexpr std::int64_t widest = 64;
  std::int64_t extent = extentOf(spec, plan.axis);
  std::int64_t lanes = target.lanes * 4 / elementBytes(spec);
  std::int64_t tokens = !isBackward ? 1
                        : isApart ? std::min(plan.interval, target.tokensOfPart)
                                  : plan.interval;
  std::int64_t budget =
      isBackward || isApart ? target.l2Bytes : target.l1Bytes / 2;
  auto fits = [&](std::int64_t tile) {
    return tokens * bytesOf(plan, spec, tile) <= budget;
  };
  if (extent <= lanes || (extent <= widest && fits(extent))) {
    return 0;
  }
  std::int64_t best = lanes;
  for (std::int64_t tile = 2 * lanes; tile <= std::min(widest, extent);
       tile += lanes) {
    if (fits(tile) && (extent % tile == 0 || extent % best != 0)) {
      best = tile;
    }
  }
  return best;
}

/// 4-byte registers per lane for `tile` entries of the plan's axis (0: all) at
/// a time: the states', each with its best axis along the lanes, and `vectors`
/// along the other axes of the largest one, which every lane holds whole.
static std::int64_t registersOf(const Plan &plan, const Spec &spec,
                                const TargetDescription &target,
                                std::int64_t tile, std::int64_t vectors) {
  std::int64_t total = 0, largest = 0, others = 0;
  for (const PlanState &state : plan.states) {
    std::int64_t count = countElements(state.axes, spec, plan.axis, tile);
    std::int64_t least = count, beside = 0;
    for (const std::string &axis : state.axes) {
      std::int64_t size =
          axis == plan.axis && tile ? tile : extentOf(spec, axis);
      std::int64_t rows = (size + target.lanes - 1) / target.lanes;
      if (count / size * rows <= least) {
        least = count / size * rows;
        beside = state.axes.size() > 1 ? count / size : 0;
      }
    }
    others = count > largest ? beside : others;
    largest = std::max(largest, count);
    total += least;
  }
  return (total + vectors * others) * elementBytes(spec) / 4;
}

/// The widest tile whose states fit the registers, at least 4 entries; 0 if the
/// whole axis fits.
static std::int64_t chooseRegisterTile(const Plan &plan, const Spec &spec,
                                       const TargetDescription &target,
                                       bool isBackward) {
  std::int64_t budget =
      isBackward ? target.registersBackward : target.registersForward;
  std::int64_t extent = extentOf(spec, plan.axis);
  std::int64_t vectors = isBackward ? 4 : 2;
  if (extent <= target.lanes &&
      registersOf(plan, spec, target, 0, vectors) <= budget) {
    return 0;
  }
  std::int64_t best = 4;
  for (std::int64_t tile = 8; tile <= target.lanes; tile *= 2) {
    if (registersOf(plan, spec, target, tile, vectors) <= budget) {
      best = tile;
    }
  }
  return extent <= best ? 0 : best;
}

static LogicalResult checkExtents(func::FuncOp function, const Spec &spec,
                                  ArrayRef<PlanState> states) {
  auto fail = [&](StringRef axis, StringRef of) {
    return function.emitError()
           << "axis '" << axis << "' of " << of << " has no size; give it one";
  };
  for (const PlanState &state : states) {
    for (const std::string &axis : state.axes) {
      if (extentOf(spec, axis) == 0) {
        return fail(axis, "state '" + state.name + "'");
      }
    }
  }
  for (BlockArgument argument : function.getArguments()) {
    for (StringAttr axis : rec::axesOf(argument)) {
      if (extentOf(spec, axis) == 0) {
        return fail(axis,
                    "argument " + std::to_string(argument.getArgNumber()));
      }
    }
  }
  return success();
}

FailureOr<Plan> recurra::makePlan(func::FuncOp function, const Spec &spec,
                                  const TargetDescription &target,
                                  ArrayRef<PlanState> states) {
  Plan plan;
  plan.states.assign(states.begin(), states.end());
  if (failed(checkExtents(function, spec, states))) {
    return failure();
  }
  bool isBackward = spec.direction == Direction::Backward;
  plan.axis = chooseAxis(function, candidates(states, spec), plan.isFree);
  if (plan.isFree && isBackward && target.registersBackward > 0) {
    plan.axis = longestFreeAxis(function, plan, spec);
  }
  plan.interval = planInterval(states, spec, target);
  if (plan.isFree) {
    plan.tile = target.registersForward > 0
                    ? chooseRegisterTile(plan, spec, target, isBackward)
                    : chooseTile(plan, spec, target, isBackward,
                                 areApart(function, plan));
  }
  plan.savedBytes = bytesOf(plan, spec, 0);
  if (isBackward) {
    plan.traceBytes = plan.interval * bytesOf(plan, spec, plan.tile);
  }
  return plan;
}

/// Forward, the rows: a free axis, summed over least. Backward, the columns:
/// the one summed over most, of several the longest.
static std::string chooseScanAxis(func::FuncOp function, const Plan &walk,
                                  const Spec &spec, bool isBackward) {
  std::string best;
  std::pair<std::int64_t, std::int64_t> most;
  for (const std::string &axis : walk.states.front().axes) {
    PlanTiling tiling(function, axis);
    std::int64_t sums = tiling.getSums();
    std::pair<std::int64_t, std::int64_t> rank(isBackward ? sums : -sums,
                                               extentOf(spec, axis));
    if (tiling.isLegal() && (best.empty() || rank > most)) {
      best = axis;
      most = rank;
    }
  }
  return best;
}

/// Parameters over a state's axes, which are kept beside the states.
static std::int64_t countMatrices(func::FuncOp function,
                                  ArrayRef<std::string> axes) {
  return llvm::count_if(function.getArguments(), [&](BlockArgument argument) {
    auto kind = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                      rec::kindAttr);
    ArrayRef<StringAttr> own = rec::axesOf(argument);
    return kind && kind == "input" && isa<rec::ValType>(argument.getType()) &&
           own.size() == axes.size() && llvm::all_of(own, [&](StringAttr axis) {
             return llvm::is_contained(axes, axis.getValue());
           });
  });
}

std::optional<Plan> recurra::makeScanPlan(func::FuncOp function,
                                          const Spec &spec,
                                          const TargetDescription &target,
                                          const Plan &walk) {
  constexpr std::int64_t shortest = 16; // of an axis, for a matrix worth tiles
  if (!target.scanTile || walk.states.empty() ||
      spec.computeType() == DType::F64) {
    return std::nullopt;
  }
  std::vector<std::string> axes = walk.states.front().axes;
  for (const PlanState &state : walk.states) {
    if (state.axes != axes || axes.size() != 2 ||
        extentOf(spec, axes[0]) < shortest ||
        extentOf(spec, axes[1]) < shortest) {
      return std::nullopt;
    }
  }
  bool isBackward = spec.direction == Direction::Backward;
  Plan plan = walk;
  plan.axis = chooseScanAxis(function, walk, spec, isBackward);
  if (plan.axis.empty()) {
    return std::nullopt;
  }
  std::int64_t own = extentOf(spec, plan.axis);
  std::int64_t other = extentOf(spec, plan.axis == axes[0] ? axes[1] : axes[0]);
  std::int64_t states = walk.states.size() + countMatrices(function, axes);
  std::int64_t tile = isBackward ? target.scanTile(other, own, states, true)
                                 : target.scanTile(own, other, states, false);
  plan.form = "scan";
  plan.isFree = true;
  plan.tile = tile < own ? tile : 0;
  plan.traceBytes =
      isBackward ? plan.interval * bytesOf(plan, spec, plan.tile) : 0;
  return plan;
}
