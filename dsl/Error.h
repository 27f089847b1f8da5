// What dsl throws, and the place in the user's file that it names.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace recurra {

/// A line of the user's C++ or Python file; `line` 0 means unknown.
struct SourceLocation {
  std::string file;
  int line = 0;
  bool operator==(const SourceLocation &) const = default;
};

/// A mistake in a definition or a call: names the thing, the rule, the remedy.
/// what() is "file:line: thing; rule; remedy" where a location is known.
class UserError : public std::runtime_error {
public:
  UserError(const SourceLocation &location, const std::string &message);
  explicit UserError(const std::string &message);
};

} // namespace recurra
