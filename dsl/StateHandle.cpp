// Reading and updating a carried value.
// SPDX-License-Identifier: Apache-2.0
#include "dsl/StateHandle.h"

#include "dsl/Draft.h"

namespace recurra::dsl {
namespace {

void checkUpdate(const Draft &draft, const recurra::State &state,
                 const Operand &value) {
  if (!value.value.node) {
    throw UserError(value.location,
                    "state '" + state.name +
                        "' is updated with an empty Expr; a value must be "
                        "defined before it is used; assign to it first");
  }
  if (value.value.draft && value.value.draft.get() != &draft) {
    throw UserError(value.location,
                    "state '" + state.name + "' is updated with a value of " +
                        "recurrence '" + value.value.draft->recurrence.name +
                        "'; a recurrence reads its own values only; declare "
                        "the value in this one");
  }
  checkUpdateAxes(state, value.value.node, value.location);
}

} // namespace

State::operator Expr() const {
  const NodeRef &latest = draft->latest[index];
  if (latest) {
    return {latest, draft};
  }
  return atStart(draft->recurrence.states[index].location);
}

Expr State::atStart(const SourceLocation &location) const {
  return {readState(draft->recurrence.states[index], location), draft};
}

Expr State::at(const Axis &axis, int entry, const char *file, int line) const {
  return Expr(*this).at(axis, entry, file, line);
}

State &State::operator=(Arg value) & {
  checkUpdate(*draft, draft->recurrence.states[index], value);
  draft->latest[index] = value.value.node;
  return *this;
}

State &State::combine(Op op, const Operand &value) & {
  Operand current(Expr(*this), value.location);
  return *this = Operand(apply(op, {current, value}), value.location);
}

State &State::operator+=(Arg value) & { return combine(Op::Add, value); }
State &State::operator-=(Arg value) & { return combine(Op::Sub, value); }
State &State::operator*=(Arg value) & { return combine(Op::Mul, value); }
State &State::operator/=(Arg value) & { return combine(Op::Div, value); }

} // namespace recurra::dsl
