// A fresh process that calls one entry of the catalogue: prints milliseconds
// until both its kernels are there, and a sum over all bits that they give.
// SPDX-License-Identifier: Apache-2.0
#include "Cases.h"
#include "ops/catalogue/Catalogue.h"
#include "runtime/Kernel.h"

#include <bit>
#include <chrono>
#include <cstdio>

using namespace recurra;

namespace {

std::uint64_t sumOfBits(const Arrays &arrays) {
  std::uint64_t sum = 0;
  for (const auto &[name, array] : arrays) {
    for (double value : array.values) {
      sum = sum * 31 + std::bit_cast<std::uint64_t>(value);
    }
  }
  return sum;
}

} // namespace

int main(int, char **arguments) {
  const Recurrence &recurrence = *findRecurrence(arguments[1]);
  Trial trial = makeTrial(recurrence, {});
  auto start = std::chrono::steady_clock::now();
  warmup(recurrence,
         {trial.spec(Direction::Forward), trial.spec(Direction::Backward)});
  std::chrono::duration<double, std::milli> spent =
      std::chrono::steady_clock::now() - start;
  TrialResult result = runKernels(trial);
  std::printf("%.1f %lx\n", spent.count(),
              sumOfBits(result.values.outputs) ^
                  sumOfBits(result.values.finalStates) ^
                  sumOfBits(result.gradients.inputs) ^
                  sumOfBits(result.gradients.initialStates));
}
