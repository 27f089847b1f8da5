// Rules that are checked statement by statement, shared by the builder, the
// parser and `validate`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dsl/Recurrence.h"

namespace recurra {

/// Throws if `name` is no identifier, a word of the language, or taken.
void checkName(const Recurrence &recurrence, const std::string &name,
               const SourceLocation &location);

/// Throws if the axis has a fixed size below 1; call it for those alone.
void checkAxisSize(const Axis &axis);

/// Throws: the state's dtype, as its author spelt it, is none that it may have.
[[noreturn]] void failStateType(const std::string &state,
                                std::string_view spelling,
                                const SourceLocation &location);

/// Throws unless the update has exactly the axes of the state.
void checkUpdateAxes(const State &state, const NodeRef &update,
                     const SourceLocation &location);

/// Whether the value varies from token to token.
bool variesByToken(const Recurrence &recurrence, const NodeRef &value);

/// The leaf that reads a state at the start of a token.
NodeRef readState(const State &state, const SourceLocation &location);

/// The leaf that reads an input.
NodeRef readInput(const Input &input, const SourceLocation &location);

/// Inputs of which the step reads some entries of an axis by number and no
/// other, where calls may have more, as "file:line: ..".
std::vector<std::string> unreadEntries(const Recurrence &recurrence);

/// Divisions (and rsqrt) of the step whose divisor no fact keeps from zero, as
/// "file:line: ..".
std::vector<std::string> unprotectedDivisions(const Recurrence &recurrence);

} // namespace recurra
