// A recurrence as data: everything that printing, hashing, the oracle and the
// compiler read. `define` (dsl.h) builds one; `parse` (Text.h) reads one back.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dsl/DType.h"
#include "dsl/Expr.h"

#include <cstdint>
#include <optional>

namespace recurra {

/// How an input varies: a value per token, per head (a parameter), or one.
enum class Role { Token, Head, Scalar };

/// Which heads own a copy of an input: each its own ([.., H, ..]), one per
/// group of value heads ([.., H / group, ..]), or one for all (no head axis).
enum class Sharing { Head, Group, All };

/// A promise about an input's or an initial state's values.
struct Fact {
  enum Kind { Positive, NonNegative, NonPositive, Range, Unit } kind = Positive;
  double low = 0, high = 0; ///< Range
  std::string axis;         ///< Unit: l2 norm 1 over this axis
  bool operator==(const Fact &) const = default;
};

struct Axis {
  std::string name;
  SourceLocation location;
  std::int64_t size = 0; ///< what every call must have; 0: any
};

struct Input {
  std::string name;
  Role role = Role::Token;
  Sharing sharing = Sharing::Head;
  std::vector<std::string> axes; ///< declared order = memory order
  std::vector<Fact> facts;
  NodeRef fallback; ///< the default when the caller passes nothing; may be null
  SourceLocation location;
};

/// A value carried over tokens. `next` is its value after the token, written
/// over inputs and over states at the start of the token (Op::State).
struct State {
  std::string name;
  std::vector<std::string> axes; ///< declared order = memory order
  std::vector<Fact> facts;
  NodeRef initial; ///< used when the caller passes no initial state; over
                   ///< constants, head and scalar inputs; never null
  NodeRef next;
  SourceLocation location;
  DType dtype =
      DType::F32; ///< F32, F16 or BF16; the arithmetic's is the call's

  /// Of the tensors that hold its initial and final values, and of their
  /// gradients, in a call that computes in `arithmetic`, F32 or F64.
  DType tensorType(DType arithmetic) const;
};

struct Output {
  std::string name;
  std::vector<std::string> axes; ///< declared order = memory order
  NodeRef value;
  bool optional = false; ///< computed only when the call asks for it
  SourceLocation location;
};

/// Arguments, states and outputs stand in declaration order: it is the call's
/// signature. `hash` (Text.h) does not depend on it.
struct Recurrence {
  std::string name;
  std::vector<Axis> axes;
  std::vector<Input> inputs;
  std::vector<State> states;
  std::vector<Output> outputs;
  std::vector<std::string> warnings; ///< "file:line: ..", from validation

  const Input *findInput(const std::string &name) const;
  const State *findState(const std::string &name) const;
  const Output *findOutput(const std::string &name) const;
};

/// Makes equal subexpressions one node, so that the text of a recurrence does
/// not depend on how its author shared them.
void shareNodes(Recurrence &recurrence);

/// Throws UserError at the first broken rule; fills `warnings`.
void validate(Recurrence &recurrence);

} // namespace recurra
