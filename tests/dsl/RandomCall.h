// Random calls of any recurrence: values that respect the declared facts.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dsl/Evaluate.h"

#include <ostream>
#include <random>

namespace recurra {

struct Sizes {
  std::int64_t batch = 2, tokens = 5, heads = 2, group = 1;
  std::vector<std::int64_t> offsets = {};
  std::map<std::string, std::int64_t> extents =
      {}; ///< where not the small ones
};

/// Axis sizes that tell a transposed array: 3, 4, .., but fixed ones, and E as
/// D.
std::map<std::string, std::int64_t> smallExtents(const Recurrence &recurrence);

/// A generator that gives the same numbers in every run.
inline std::mt19937 seeded(unsigned seed) { return std::mt19937(seed); }

/// Every input and initial state, drawn within its facts.
Call randomCall(const Recurrence &recurrence, const Sizes &sizes,
                std::mt19937 &random);

/// Standard normal values of all outputs and final states. Those of `skip`
/// (state names) are left out.
Values randomCotangents(const Recurrence &recurrence, const Call &call,
                        std::mt19937 &random,
                        const std::vector<std::string> &skip = {});

/// Standard normal values for every array that `call` gives.
Gradients randomDirection(const Call &call, std::mt19937 &random);

/// Sum of products of arrays of equal names.
double inner(const Arrays &left, const Arrays &right);
double inner(const Values &left, const Values &right);
double inner(const Gradients &left, const Gradients &right);

/// How GoogleTest names a parameter.
// NOLINTNEXTLINE(readability-identifier-naming): GoogleTest's name
inline void PrintTo(const Recurrence &recurrence, std::ostream *out) {
  *out << recurrence.name;
}

} // namespace recurra
