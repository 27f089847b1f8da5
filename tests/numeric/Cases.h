// The numeric suite's trials: every entry of the catalogue at given sizes,
// through the C door against the oracle, forward and all gradients.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dsl/Recurrence.h"
#include "runtime/Trial.h"

#include <gtest/gtest.h>

namespace recurra {

/// What differs from one case to the next.
struct Sizes {
  std::int64_t batch = 2, tokens = 33, heads = 3, group = 1;
  std::int64_t keys = 48, values = 96;
  std::vector<std::int64_t> offsets = {};
};

/// Inputs and initial states drawn, every output and final state with a
/// cotangent, every gradient wanted.
Trial makeTrial(const Recurrence &recurrence, const Sizes &sizes,
                DType dtype = DType::F32, unsigned seed = 42);

/// Kernels equal the oracle: outputs, final states, gradients; on two threads,
/// with memory full of NaN.
void expectOracle(const Trial &trial);

/// The bytes of everything that the kernels give.
bool sameBits(const TrialResult &a, const TrialResult &b);

/// Whether RECURRA_TEST_ALL asks for whole products of cases.
bool wholeProduct();

/// `all` if the whole product is wanted, else `sample`.
template <typename T>
std::vector<T> sampled(std::vector<T> sample, std::vector<T> all) {
  return wholeProduct() ? all : sample;
}

/// A test over every entry; GetParam() is its name.
class Entry : public testing::TestWithParam<std::string> {
protected:
  const Recurrence &recurrence() const;
};

/// Names of all entries, for INSTANTIATE_TEST_SUITE_P.
std::vector<std::string> entryNames();

} // namespace recurra
