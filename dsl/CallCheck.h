// A call of the oracle, checked: its sequences, and the shapes of its arrays.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dsl/Evaluate.h"

namespace recurra {

/// Tokens begin .. end of batch row `row`.
struct Sequence {
  std::int64_t row, begin, end;
};

std::vector<Sequence> sequencesOf(const Call &call);

/// [B, T, H', axes..], [H', axes..] or [], as Call says.
std::vector<std::int64_t> shapeOf(const Input &input, const Call &call);
std::vector<std::int64_t> shapeOf(const Output &output, const Call &call);
std::vector<std::int64_t> shapeOf(const State &state, const Call &call);

/// The first size that breaks a rule of the recurrence (each axis has one, a
/// fixed one is kept, named entries exist, renamed axes agree), as a message;
/// empty if none does.
std::string findSizeMistake(const Recurrence &recurrence,
                            const std::map<std::string, std::int64_t> &extents);

/// Throws UserError where an array is missing, unknown or of the wrong shape.
void checkCall(const Recurrence &recurrence, const Call &call);
void checkValues(const Recurrence &recurrence, const Call &call,
                 const Values &values);

/// Zeros.
Array makeArray(const std::vector<std::int64_t> &sizes);

} // namespace recurra
