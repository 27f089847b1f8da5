// The recurrences that come with Recurra. To add one: its file here, and a line
// each in Entries.h and Catalogue.cpp.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dsl/Recurrence.h"

namespace recurra {

/// All entries, in a fixed order.
const std::vector<Recurrence> &catalogue();

/// The entry of that name, or null.
const Recurrence *findRecurrence(const std::string &name);

} // namespace recurra
