// How a user's mistake is worded.
// SPDX-License-Identifier: Apache-2.0
#include "dsl/Error.h"

namespace recurra {
namespace {

std::string withPlace(const SourceLocation &location,
                      const std::string &message) {
  if (location.line == 0) {
    return message;
  }
  return location.file + ":" + std::to_string(location.line) + ": " + message;
}

} // namespace

UserError::UserError(const SourceLocation &location, const std::string &message)
    : std::runtime_error(withPlace(location, message)) {}

UserError::UserError(const std::string &message)
    : std::runtime_error(message) {}

} // namespace recurra
