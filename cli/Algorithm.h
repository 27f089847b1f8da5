// What the compiler finds in a recurrence, and what it runs for it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dsl/Recurrence.h"

namespace recurra::cli {

struct Algorithm {
  std::string structuralClass;   ///< "1", "1b", "2", "3" or "4"
  std::string form;              ///< that the algebra allows
  std::string forward, backward; ///< forms that run now; "none": refused
};

/// Throws UserError if the compiler cannot read the recurrence.
Algorithm algorithmOf(const Recurrence &recurrence);

} // namespace recurra::cli
