// The functions that define the entries, one file each. Their namespace stands
// beside recurra so that the files read like a user's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dsl/dsl.h"

namespace recurrences {

recurra::Recurrence gatedDeltaProduct();
recurra::Recurrence gatedDeltaRule();
recurra::Recurrence gla();
recurra::Recurrence hgrn();
recurra::Recurrence linearAttention();
recurra::Recurrence longhorn();
recurra::Recurrence mamba1();
recurra::Recurrence mlstm();
recurra::Recurrence palimpsa();
recurra::Recurrence palimpsaMu();
recurra::Recurrence simpleGla();
recurra::Recurrence slstm();

} // namespace recurrences
