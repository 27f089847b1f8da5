// The cases of scan-form kernels that are run by emulation.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/dsl/RandomCall.h"

#include <ostream>

namespace recurra {

struct ScanCase {
  // NOLINTNEXTLINE(readability-identifier-naming): GoogleTest's name
  friend void PrintTo(const ScanCase &given, std::ostream *os) {
    *os << given.entry << given.name;
  }
  std::string entry, name;
  Sizes sizes;
  std::int64_t k = 16, v = 16;
  std::int64_t tile = 0; ///< of V
  double decay = 1;      ///< times the log gates
  double gate = 0;       ///< if not zero, every log gate
  bool isHalf = false;   ///< vectors are bf16
  bool isMixed = false;  ///< mild, strong and closed log gates in one token
  std::int64_t span = 0; ///< tokens that a task walks, if not the usual number
};

std::vector<ScanCase> scanCases();
std::vector<ScanCase> vectorCases(); ///< decays that are vectors
std::vector<ScanCase> matrixCases(); ///< decays that are matrices
std::vector<ScanCase> spanCases();   ///< sequences of several spans
std::vector<ScanCase> partsCases();  ///< walked in parts, and not
std::vector<ScanCase> lossCases();   ///< that read one kind of result

} // namespace recurra
