// Declarations and statements of the notation: what `define` hands the user.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dsl/StateHandle.h"

#include <functional>
#include <variant>

namespace recurra::dsl {

/// The name of a declaration, and the line that it stands on.
struct Name {
  Name(const char *text, const char *file = __builtin_FILE(),
       int line = __builtin_LINE())
      : text(text), location{file, line} {}
  Name(std::string text, const char *file = __builtin_FILE(),
       int line = __builtin_LINE())
      : text(std::move(text)), location{file, line} {}
  std::string text;
  SourceLocation location;
};

struct OrElse {
  Expr value;
};
struct Initial {
  Expr value;
};
struct Optional {};
/// A DType is that of a state's tensors; token inputs come in any.
using Option = std::variant<Fact, Sharing, OrElse, Initial, DType>;

// Facts: promises about an input's, or an initial state's, values.
inline const Fact positive{Fact::Positive, 0, 0, ""};
inline const Fact nonNegative{Fact::NonNegative, 0, 0, ""};
inline const Fact nonPositive{Fact::NonPositive, 0, 0, ""};
inline Fact range(double low, double high) {
  return {Fact::Range, low, high, ""};
}
inline Fact unit(const Axis &axis) { return {Fact::Unit, 0, 0, axis.name}; }

// Sharing: one copy per group of value heads, or one for all heads.
inline constexpr Sharing perGroup = Sharing::Group;
inline constexpr Sharing sharedByAllHeads = Sharing::All;

/// The value of an input that the caller leaves out.
inline OrElse orElse(Arg value) { return {value.value}; }
/// The value of a state before the first token, unless the caller gives one.
inline Initial initial(Arg value) { return {value.value}; }
/// An output that is computed only when the call asks for it.
inline constexpr Optional optional{};

class Builder {
public:
  explicit Builder(const Name &name);

  Axis axis(const Name &name);
  /// An axis whose size the definition fixes: one whose entries it names.
  Axis axis(const Name &name, std::int64_t size);
  /// One value per token and head.
  template <typename... Options>
  Expr token(const Name &name, const std::vector<Axis> &axes,
             const Options &...options) {
    return input(Role::Token, name, axes, {Option(options)...});
  }
  /// A parameter: one value per head.
  template <typename... Options>
  Expr head(const Name &name, const std::vector<Axis> &axes,
            const Options &...options) {
    return input(Role::Head, name, axes, {Option(options)...});
  }
  /// One number.
  template <typename... Options>
  Expr scalar(const Name &name, const Options &...options) {
    return input(Role::Scalar, name, {}, {Option(options)...});
  }
  template <typename... Options>
  State state(const Name &name, const std::vector<Axis> &axes,
              const Options &...options) {
    return carry(name, axes, {Option(options)...});
  }
  /// Axes in the order in which they were declared, or as listed.
  void output(const Name &name, Arg value);
  void output(const Name &name, Arg value, Optional);
  void output(const Name &name, const std::vector<Axis> &axes, Arg value);
  void output(const Name &name, const std::vector<Axis> &axes, Arg value,
              Optional);

  /// `body` n times, 1 to 16; body() or body(0), body(1), ..
  void repeat(int n, const std::function<void(int)> &body,
              const char *file = __builtin_FILE(), int line = __builtin_LINE());
  void repeat(int n, const std::function<void()> &body,
              const char *file = __builtin_FILE(), int line = __builtin_LINE());

  Expr input(Role role, const Name &name, const std::vector<Axis> &axes,
             const std::vector<Option> &options);
  State carry(const Name &name, const std::vector<Axis> &axes,
              const std::vector<Option> &options);
  /// Checks the whole; the handles made so far stay readable, to no effect.
  Recurrence finish();

private:
  std::shared_ptr<Draft> draft;
};

/// Runs `body` once to build a recurrence. Throws UserError; warnings go to
/// stderr and into Recurrence::warnings.
Recurrence define(const Name &name, const std::function<void(Builder &)> &body);

} // namespace recurra::dsl
