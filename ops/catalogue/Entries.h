// The functions that define the entries, one file each. Their namespace stands
// beside recurra so that the files read like a user's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dsl/dsl.h"

namespace recurrences {

recurra::Recurrence gatedDeltaRule();
recurra::Recurrence palimpsa();
recurra::Recurrence simpleGla();

} // namespace recurrences
