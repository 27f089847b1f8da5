// Cases: trials over the catalogue, and what a test expects of them.
// SPDX-License-Identifier: Apache-2.0
#include "Cases.h"

#include "ops/catalogue/Catalogue.h"
#include "runtime/Draw.h"
#include "runtime/ThreadHost.h"

#include <cstdlib>
#include <cstring>

namespace recurra {
namespace {

/// Sizes of the axes by the letters of the papers.
std::int64_t extentOf(const Axis &axis, const Sizes &sizes) {
  if (axis.size != 0) {
    return axis.size;
  }
  if (axis.name == "N") {
    return 16;
  }
  return axis.name == "V" ? sizes.values : sizes.keys;
}

bool sameArrays(const Arrays &a, const Arrays &b) {
  if (a.size() != b.size()) {
    return false;
  }
  for (const auto &[name, array] : a) {
    auto other = b.find(name);
    if (other == b.end() || other->second.sizes != array.sizes ||
        std::memcmp(other->second.values.data(), array.values.data(),
                    array.values.size() * sizeof(double)) != 0) {
      return false;
    }
  }
  return true;
}

} // namespace

Trial makeTrial(const Recurrence &recurrence, const Sizes &sizes, DType dtype,
                unsigned seed) {
  Trial trial;
  trial.recurrence = &recurrence;
  trial.dtype = dtype;
  Call &call = trial.call;
  call.batch = sizes.batch;
  call.tokens = sizes.tokens;
  call.heads = sizes.heads;
  call.group = sizes.group;
  call.offsets = sizes.offsets;
  for (const Axis &axis : recurrence.axes) {
    call.extents[axis.name] = extentOf(axis, sizes);
  }
  drawInputs(recurrence, call, seed);
  trial.cotangents = drawCotangents(recurrence, call, seed + 1);
  for (const Input &input : recurrence.inputs) {
    trial.gradients.push_back(input.name);
  }
  for (const State &state : recurrence.states) {
    trial.gradients.push_back(state.name);
  }
  return trial;
}

void expectOracle(const Trial &trial) {
  ThreadHost threads(2, true);
  recurra_host host = threads.host();
  std::vector<Comparison> comparisons =
      compare(trial, runKernels(trial, &host), runOracle(trial));
  EXPECT_FALSE(comparisons.empty());
  for (const Comparison &comparison : comparisons) {
    EXPECT_TRUE(comparison.passed()) << toText(comparison);
  }
}

bool sameBits(const TrialResult &a, const TrialResult &b) {
  return sameArrays(a.values.outputs, b.values.outputs) &&
         sameArrays(a.values.finalStates, b.values.finalStates) &&
         sameArrays(a.gradients.inputs, b.gradients.inputs) &&
         sameArrays(a.gradients.initialStates, b.gradients.initialStates);
}

bool wholeProduct() { return std::getenv("RECURRA_TEST_ALL") != nullptr; }

const Recurrence &Entry::recurrence() const {
  return *findRecurrence(GetParam());
}

std::vector<std::string> entryNames() {
  std::vector<std::string> names;
  for (const Recurrence &recurrence : catalogue()) {
    names.push_back(recurrence.name);
  }
  return names;
}

} // namespace recurra
