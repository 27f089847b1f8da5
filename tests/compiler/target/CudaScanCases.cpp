// Sizes that no tile divides, with weak and with strong decay.
// SPDX-License-Identifier: Apache-2.0
#include "tests/compiler/target/CudaScanCases.h"

namespace recurra {

using Case = ScanCase;

std::vector<Case> scanCases() {
  return {
      {"palimpsa", "OneTile", {1, 20, 2, 1, {}, {}}, 16, 16},
      {"palimpsa", "Sliced", {1, 37, 1, 1, {}, {}}, 48, 40, 16},
      {"palimpsa", "Padded", {2, 33, 2, 2, {}, {}}, 21, 35},
      {"palimpsa", "StrongDecay", {1, 40, 1, 1, {}, {}}, 17, 16, 0, 30},
      {"palimpsa", "AllStrong", {1, 38, 1, 1, {}, {}}, 16, 16, 0, 1, -20},
      {"palimpsa", "Packed", {1, 41, 1, 1, {0, 17, 17, 18, 41}, {}}, 16, 24},
      {"palimpsa", "NoToken", {1, 0, 1, 1, {}, {}}, 16, 16},
      {"simple_gla", "Padded", {1, 19, 2, 1, {}, {}}, 20, 25},
      {"sigmoid_gate", "Sliced", {1, 35, 2, 1, {}, {}}, 18, 40, 16},
      {"unit_keys", "Padded", {1, 35, 2, 1, {}, {}}, 18, 20},
      {"linear_attention", "Sliced", {1, 34, 1, 1, {}, {}}, 16, 48, 16},
      {"palimpsa", "HalfSliced", {1, 37, 2, 1, {}, {}}, 48, 40, 16, 1, 0, true},
      {"palimpsa", "HalfPadded", {2, 50, 2, 2, {}, {}}, 37, 19, 0, 9, 0, true},
      {"palimpsa",
       "HalfStrong",
       {1, 41, 1, 1, {0, 17, 17, 18, 41}, {}},
       16,
       24,
       0,
       1,
       -20,
       true},
      {"simple_gla", "Half", {1, 35, 2, 1, {}, {}}, 40, 24, 0, 1, 0, true},
      {"sigmoid_gate", "Half", {1, 35, 2, 1, {}, {}}, 18, 40, 16, 1, 0, true},
  };
}

std::vector<Case> vectorCases() {
  return {
      {"gla", "OneTile", {1, 20, 2, 1, {}, {}}, 16, 16},
      {"gla", "Sliced", {1, 131, 1, 1, {}, {}}, 48, 40, 16},
      {"gla", "Padded", {2, 37, 2, 2, {}, {}}, 21, 35},
      {"gla", "Tall", {1, 18, 1, 1, {}, {}}, 128, 32},
      {"gla", "StrongDecay", {1, 70, 1, 1, {}, {}}, 17, 16, 0, 10},
      {"gla", "AllStrong", {1, 38, 1, 1, {}, {}}, 16, 16, 0, 1, -20},
      {"gla", "Mixed", {1, 66, 1, 1, {}, {}}, 24, 20, 0, 0.3, 0, false, true},
      {"gla", "Half", {1, 66, 1, 1, {}, {}}, 40, 24, 0, 0.3, 0, true, true},
      {"gla", "HalfSliced", {1, 70, 1, 1, {}, {}}, 24, 32, 16, 1, -8, true},
      {"gla", "OneStage", {1, 40, 1, 1, {}, {}}, 256, 16, 0, 0.1, 0, true},
      {"gla", "Packed", {1, 41, 1, 1, {0, 17, 17, 18, 41}, {}}, 16, 24},
      {"gla", "NoToken", {1, 0, 1, 1, {}, {}}, 16, 16},
      {"value_gates", "Padded", {1, 70, 2, 1, {}, {}}, 20, 37},
      {"value_gates", "Sliced", {1, 35, 1, 1, {}, {}}, 24, 40, 16},
      {"value_gates",
       "Mixed",
       {1, 40, 1, 1, {}, {}},
       16,
       40,
       0,
       1,
       0,
       false,
       true},
      {"key_forget", "Padded", {1, 35, 2, 1, {}, {}}, 18, 24},
      {"key_forget",
       "Mixed",
       {1, 40, 1, 1, {}, {}},
       24,
       17,
       0,
       1,
       0,
       false,
       true},
  };
}

std::vector<Case> matrixCases() {
  return {
      {"mamba1", "OneTile", {1, 20, 2, 1, {}, {}}, 16, 16},
      {"mamba1", "Sliced", {1, 131, 1, 1, {}, {}}, 16, 40, 16},
      {"mamba1", "Padded", {2, 37, 2, 1, {}, {}}, 18, 35},
      {"mamba1", "Packed", {1, 41, 1, 1, {0, 17, 17, 18, 41}, {}}, 16, 24},
      {"mamba1", "NoToken", {1, 0, 1, 1, {}, {}}, 16, 16},
      {"mamba1", "Half", {1, 40, 1, 1, {}, {}}, 16, 24, 0, 1, 0, true},
      {"longhorn", "Padded", {2, 37, 2, 1, {}, {}}, 18, 35},
      {"longhorn", "Sliced", {1, 35, 1, 1, {}, {}}, 16, 40, 16},
  };
}

static Sizes packedSizes() {
  return {1, 300, 1, 1, {0, 0, 129, 129, 130, 194, 258, 300, 300}, {}};
}

std::vector<Case> spanCases() {
  auto of = [](Case given, std::int64_t span, bool isHalf, bool isMixed) {
    given.span = span;
    given.isHalf = isHalf;
    given.isMixed = isMixed;
    return given;
  };
  Sizes packed = packedSizes();
  return {
      of({"palimpsa", "Spans", {1, 300, 2, 1, {}, {}}}, 64, false, false),
      of({"palimpsa", "SpansMixed", packed, 18, 40, 16}, 64, false, true),
      of({"palimpsa", "SpansHalf", packed, 16, 24}, 128, true, true),
      of({"palimpsa", "SpansGrouped", {2, 128, 2, 2, {}, {}}, 17}, 64, true,
         true),
      of({"sigmoid_gate",
          "Spans",
          {1, 150, 1, 1, {0, 140, 150}, {}},
          18,
          40,
          16},
         64, false, false),
      of({"unit_keys", "Spans", {1, 193, 1, 1, {}, {}}, 18, 20}, 64, true,
         false),
      of({"linear_attention", "Spans", {1, 130, 1, 1, {}, {}}}, 64, true,
         false),
      of({"palimpsa", "SpansStrong", {1, 150, 1, 1, {}, {}}, 16, 16, 0, 1, -20},
         64, false, false),
      of({"simple_gla",
          "SpansStrong",
          {1, 150, 1, 1, {}, {}},
          20,
          16,
          0,
          1,
          -3},
         64, true, false),
      of({"simple_gla", "SpansPaddedHalf", {1, 150, 1, 1, {}, {}}, 20, 17}, 64,
         true, false),
      of({"gla", "SpansMixed", packed, 24, 20}, 64, false, true),
      of({"value_gates", "SpansHalf", packed, 16, 37, 32}, 64, true, true),
  };
}

std::vector<Case> partsCases() {
  Sizes packed = packedSizes();
  std::vector<Case> cases = spanCases();
  cases.push_back(
      {"gla", "WholeHalf", {1, 200, 2, 1, {}, {}}, 40, 24, 0, 1, 0, true});
  cases.push_back({"mamba1", "WholeHalf", packed, 16, 24, 0, 1, 0, true});
  cases.push_back(
      {"mamba1", "WholeSliced", {2, 150, 1, 1, {}, {}}, 18, 35, 16});
  cases.push_back(
      {"longhorn", "WholeHalf", {1, 200, 2, 1, {}, {}}, 18, 35, 0, 1, 0, true});
  return cases;
}

std::vector<Case> lossCases() {
  return {
      {"palimpsa", "Loss", {1, 37, 1, 1, {}, {}}, 18, 20},
      {"gla", "Loss", {1, 37, 1, 1, {}, {}}, 18, 20},
      {"mamba1", "Loss", {1, 70, 2, 1, {}, {}}, 24, 16},
      {"longhorn", "Loss", {1, 37, 2, 1, {}, {}}, 24, 16},
  };
}

} // namespace recurra
