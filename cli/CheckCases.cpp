// CheckCases: a table of calls, filled with random inputs that keep the facts.
// SPDX-License-Identifier: Apache-2.0
#include "cli/CheckCases.h"

#include "cli/Sizes.h"
#include "runtime/Draw.h"

#include <algorithm>
#include <fmt/format.h>

namespace recurra::cli {
namespace {

struct Row {
  DType dtype;
  std::int64_t batch, tokens, heads, group, size;
  bool states, packed;
};

constexpr Row rows[] = {
    {DType::F32, 2, 37, 2, 1, 16, true, false},
    {DType::F32, 1, 1, 3, 1, 7, true, false},
    {DType::F32, 1, 150, 1, 1, 19, false, false},
    {DType::F32, 1, 53, 2, 1, 17, true, true},
    {DType::F32, 1, 21, 4, 2, 8, true, false},
    {DType::F32, 2, 9, 1, 1, 1, false, false},
    {DType::F64, 2, 37, 2, 1, 12, true, false},
    {DType::F64, 1, 70, 4, 2, 5, false, true},
    {DType::F16, 1, 40, 2, 1, 16, false, false},
    {DType::BF16, 2, 33, 2, 2, 16, true, false},
};

bool isGrouped(const Recurrence &recurrence) {
  return std::any_of(
      recurrence.inputs.begin(), recurrence.inputs.end(),
      [](const Input &input) { return input.sharing == Sharing::Group; });
}

/// Sequences of 0, 1, a few and many tokens.
std::vector<std::int64_t> offsetsOf(std::int64_t tokens) {
  return {0, 0, 1, 6, 6, tokens};
}

std::string labelOf(const Row &row, const Call &call) {
  std::string text = fmt::format("{} B={} T={} H={}", name(row.dtype),
                                 call.batch, call.tokens, call.heads);
  if (call.group > 1) {
    text += fmt::format(" group={}", call.group);
  }
  for (const auto &[axis, size] : call.extents) {
    text += fmt::format(" {}={}", axis, size);
  }
  text += row.packed ? " packed" : "";
  return text + (row.states ? " with states" : "");
}

CheckCase makeCase(const Recurrence &recurrence, const Row &row, unsigned seed,
                   const std::vector<std::string> &sizes) {
  CheckCase made;
  Call &call = made.trial.call;
  call.batch = row.batch;
  call.tokens = row.tokens;
  call.heads = row.heads;
  call.group = isGrouped(recurrence) ? row.group : 1;
  call.extents = extentsOf(recurrence, sizes, row.size);
  if (row.packed) {
    call.offsets = offsetsOf(row.tokens);
  }
  drawInputs(recurrence, call, seed, row.states);
  made.label = labelOf(row, call);
  made.trial.dtype = row.dtype;
  made.trial.cotangents = drawCotangents(recurrence, call, seed + 1);
  for (const Input &input : recurrence.inputs) {
    made.trial.gradients.push_back(input.name);
  }
  for (const auto &[state, array] : call.initialStates) {
    made.trial.gradients.push_back(state);
  }
  return made;
}

} // namespace

std::vector<CheckCase> checkCases(const Recurrence &recurrence,
                                  const std::vector<std::string> &sizes) {
  std::vector<CheckCase> cases;
  unsigned seed = 1;
  for (const Row &row : rows) {
    cases.push_back(makeCase(recurrence, row, seed, sizes));
    seed += 2;
  }
  return cases;
}

} // namespace recurra::cli
