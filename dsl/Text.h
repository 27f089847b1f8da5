// The canonical text of a recurrence: goldens, hash, error messages, and what
// the compiler's door takes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dsl/Recurrence.h"

#include <cstdint>

namespace recurra {

enum class Locations { Omit, Keep };

/// Independent of C++ variable names and of the order of independent
/// declarations, but for its last lines, the signature. With Keep, statements
/// end in "  @ file:line".
std::string toText(const Recurrence &recurrence,
                   Locations locations = Locations::Omit);

/// The inverse of `toText`. Throws UserError with the text's own line.
Recurrence parse(const std::string &text);

/// Of the canonical text without name, signature and locations.
std::uint64_t hash(const Recurrence &recurrence);

/// One value, or one fact, as the text spells it.
std::string expressionText(const NodeRef &value);
std::string factText(const Fact &fact);

} // namespace recurra
