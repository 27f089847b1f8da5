// The recurrence under construction, shared by the handles into it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dsl/Rules.h"

namespace recurra::dsl {

struct Draft {
  Recurrence recurrence;
  std::vector<NodeRef> latest; ///< of each state; null before its first update
};

} // namespace recurra::dsl
