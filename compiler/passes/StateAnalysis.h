// What the algebra of a scan's step allows: for each state its transition and
// how outputs read it, and the form (parallel algorithm) that follows. Computed
// on demand; what `analyse-states` prints is for people, never read back.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/rec/Rec.h"

#include <string>

namespace recurra {

struct StateVerdict {
  std::string name;
  unsigned solved = 0; ///< its place in the order in which states are solved
  std::string chain;   ///< the step, segment by segment: "decay scalar, ..."
  std::string read;    ///< "linear", "pointwise", "trace" or "none"
};

struct ScanVerdict {
  llvm::SmallVector<StateVerdict> states;
  std::string form; ///< "matmul", "delta", "vector", "scan" or "walk"
  std::string why;  ///< what rules out the forms before it; may be empty
};

ScanVerdict analyseStates(rec::ScanOp scan);

/// The structural class of a form: "1", "1b", "2", "3" or "4".
std::string classOf(const std::string &form);

} // namespace recurra
