// One line of the canonical text, cut into tokens.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dsl/Error.h"

#include <string>
#include <vector>

namespace recurra {

/// Reads tokens from left to right: words (with a quote at the end: J'), lets
/// (%1), numbers, signs. A "#" outside of "  @ file:line" starts a comment.
class TokenLine {
public:
  TokenLine() = default;
  TokenLine(const std::string &content, int number);

  /// The "@ file:line" of the statement, else the text's own line.
  const SourceLocation &location() const { return place; }

  bool atEnd() const { return position == tokens.size(); }
  /// The next token; empty at the end.
  std::string peek() const { return atEnd() ? "" : tokens[position]; }
  /// Steps over `token` if it is the next one.
  bool take(const std::string &token);
  void expect(const std::string &token);
  void expectEnd();

  std::string identifier(); ///< a name or a keyword
  std::string let();        ///< %n
  std::string word();       ///< any of the two, or J'
  bool isNumber() const;
  double number();
  double signedNumber();

  [[noreturn]] void fail(const std::string &message) const;

private:
  std::vector<std::string> tokens;
  std::size_t position = 0;
  SourceLocation place;
  int ownLine = 0;
};

} // namespace recurra
