// A call of many heads and sequences, cut into runs of the walker.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Import.h"
#include "dsl/CallCheck.h"
#include "tests/compiler/RecWalk.h"

using namespace mlir;
using namespace recurra;
using namespace recurra::rec;

namespace {

/// An argument or a result of a function, as its attributes describe it.
struct Slot {
  Type type;
  DictionaryAttr attributes;

  std::string text(llvm::StringRef name) const {
    auto value = attributes.getAs<StringAttr>(name);
    return value ? value.str() : "";
  }
  bool isToken() const { return isa<SeqType>(type); }
  bool isState() const {
    return llvm::StringRef(text(kindAttr)).contains("State");
  }
};

/// One head of one sequence.
struct Instance {
  std::int64_t sequence, head;
  Sequence span;
};

class CallWalk {
public:
  CallWalk(func::FuncOp function, const Recurrence &recurrence,
           const Call &call, const Values &cotangents)
      : function(function), recurrence(recurrence), call(call),
        cotangents(cotangents) {
    for (auto &[axis, size] : call.extents) {
      extents[axisInIr(recurrence, axis)] = size;
    }
  }

  RecResults run();

private:
  const Array &argumentArray(const Slot &slot) const;
  Array &resultArray(const Slot &slot, RecResults &results) const;
  std::vector<std::int64_t> offsets(const Slot &slot, const RecWalk &walk,
                                    const Instance &instance) const;
  std::vector<std::int64_t> entries(const Slot &slot,
                                    const RecWalk &walk) const;

  func::FuncOp function;
  const Recurrence &recurrence;
  const Call &call;
  const Values &cotangents;
  std::map<std::string, std::int64_t> extents;
};

const Array &CallWalk::argumentArray(const Slot &slot) const {
  std::string kind = slot.text(kindAttr), name = slot.text(nameAttr);
  return kind == "input"             ? call.inputs.at(name)
         : kind == "initialState"    ? call.initialStates.at(name)
         : kind == "outputCotangent" ? cotangents.outputs.at(name)
                                     : cotangents.finalStates.at(name);
}

Array &CallWalk::resultArray(const Slot &slot, RecResults &results) const {
  std::string kind = slot.text(kindAttr), name = slot.text(nameAttr);
  Arrays &arrays = kind == "output"          ? results.values.outputs
                   : kind == "finalState"    ? results.values.finalStates
                   : kind == "inputGradient" ? results.gradients.inputs
                                             : results.gradients.initialStates;
  auto [entry, isNew] = arrays.try_emplace(name);
  if (isNew) {
    entry->second = makeArray(
        kind == "output" ? shapeOf(*recurrence.findOutput(name), call)
        : slot.isState() ? shapeOf(*recurrence.findState(name), call)
                         : shapeOf(*recurrence.findInput(name), call));
  }
  return entry->second;
}

/// Where each entry, in the sorted order of the axes, lies in the declared one.
std::vector<std::int64_t> CallWalk::entries(const Slot &slot,
                                            const RecWalk &walk) const {
  ArrayRef<StringAttr> sorted = axesOf(slot.type);
  SmallVector<StringAttr> declared(sorted);
  if (auto layout = slot.attributes.getAs<ArrayAttr>(layoutAttr)) {
    declared.assign(layout.getAsRange<StringAttr>().begin(),
                    layout.getAsRange<StringAttr>().end());
  }
  std::map<StringRef, std::int64_t> strides;
  std::int64_t size = 1;
  for (StringAttr axis : llvm::reverse(declared)) {
    strides[axis.getValue()] = size;
    size *= walk.extentOf(axis);
  }
  std::vector<std::int64_t> result{0};
  for (StringAttr axis : sorted) {
    std::vector<std::int64_t> longer;
    for (std::int64_t base : result) {
      for (std::int64_t i = 0; i < walk.extentOf(axis); ++i) {
        longer.push_back(base + i * strides[axis.getValue()]);
      }
    }
    result = longer;
  }
  return result;
}

/// Where the entries of this instance lie in the call's array, in order.
std::vector<std::int64_t> CallWalk::offsets(const Slot &slot,
                                            const RecWalk &walk,
                                            const Instance &instance) const {
  std::string share = slot.text(shareAttr);
  bool all = share == "all";
  std::int64_t group = share == "group" ? call.group : 1;
  std::int64_t heads = all ? 1 : call.heads / group;
  std::int64_t head = all ? 0 : instance.head / group;
  std::int64_t size = walk.sizeOf(slot.type);
  std::vector<std::int64_t> rows;
  if (slot.isState()) {
    rows = {instance.sequence * call.heads + instance.head};
  } else if (!slot.isToken()) {
    rows = {head};
  } else {
    for (std::int64_t t = instance.span.begin; t < instance.span.end; ++t) {
      rows.push_back((instance.span.row * call.tokens + t) * heads + head);
    }
  }
  std::vector<std::int64_t> result;
  for (std::int64_t row : rows) {
    for (std::int64_t entry : entries(slot, walk)) {
      result.push_back(row * size + entry);
    }
  }
  return result;
}

RecResults CallWalk::run() {
  std::vector<Slot> arguments, results;
  for (BlockArgument argument : function.getArguments()) {
    arguments.push_back(
        {argument.getType(), function.getArgAttrDict(argument.getArgNumber())});
  }
  for (auto [i, type] : llvm::enumerate(function.getResultTypes())) {
    results.push_back({type, function.getResultAttrDict(i)});
  }
  RecResults total;
  for (const Slot &slot : results) {
    resultArray(slot, total);
  }
  std::vector<Sequence> sequences = sequencesOf(call);
  for (std::int64_t n = 0; n < std::int64_t(sequences.size()); ++n) {
    for (std::int64_t h = 0; h < call.heads; ++h) {
      Instance instance{n, h, sequences[n]};
      RecWalk walk(extents, sequences[n].end - sequences[n].begin);
      std::vector<RecArray> given;
      for (const Slot &slot : arguments) {
        const Array &array = argumentArray(slot);
        RecArray &values = given.emplace_back();
        for (std::int64_t at : offsets(slot, walk, instance)) {
          values.values.push_back(array.values[at]);
        }
      }
      std::vector<RecArray> got = walk.run(function, given);
      for (auto [slot, values] : llvm::zip(results, got)) {
        Array &array = resultArray(slot, total);
        for (auto [i, at] : llvm::enumerate(offsets(slot, walk, instance))) {
          array.values[at] += values.values[i];
        }
      }
    }
  }
  return total;
}

} // namespace

RecResults recurra::walkCall(func::FuncOp function,
                             const Recurrence &recurrence, const Call &call,
                             const Values &cotangents) {
  return CallWalk(function, recurrence, call, cotangents).run();
}
