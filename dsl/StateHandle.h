// The State handle of the notation: reading and updating a carried value.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dsl/Operators.h"

namespace recurra::dsl {

/// A carried value. Reading it gives its latest value; assigning to it, also
/// from another state, is an update. It cannot be copied: `Expr old = S;` keeps
/// a value.
class State {
public:
  State(std::shared_ptr<Draft> draft, std::size_t index)
      : draft(std::move(draft)), index(index) {}
  State(const State &) = delete;
  // Viable on temporaries only, so that `S = R` takes the update below, which
  // knows the user's line.
  State &operator=(const State &) && = delete;

  State &operator=(Arg value) &;
  State &operator+=(Arg value) &;
  State &operator-=(Arg value) &;
  State &operator*=(Arg value) &;
  State &operator/=(Arg value) &;

  operator Expr() const; ///< the latest value
  Expr at(const Axis &axis, int index, const char *file = __builtin_FILE(),
          int line = __builtin_LINE()) const;
  /// The value at the start of the token.
  Expr atStart(const SourceLocation &location) const;

private:
  State &combine(Op op, const Operand &value) &;

  std::shared_ptr<Draft> draft;
  std::size_t index;
};

} // namespace recurra::dsl
