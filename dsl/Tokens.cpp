// Cutting a line of the canonical text into tokens.
// SPDX-License-Identifier: Apache-2.0
#include "dsl/Tokens.h"

#include <cctype>
#include <charconv>

namespace recurra {
namespace {

bool isLetter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_';
}
bool isDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)); }

/// Removes "  @ file:line" from the end of `content` and returns it.
SourceLocation cutLocation(std::string &content) {
  std::size_t at = content.rfind("  @ ");
  std::size_t colon = content.rfind(':');
  if (at == std::string::npos || colon == std::string::npos || colon < at) {
    return {};
  }
  int line = 0;
  const char *end = content.data() + content.size();
  if (std::from_chars(content.data() + colon + 1, end, line).ptr != end) {
    return {};
  }
  SourceLocation location{content.substr(at + 4, colon - at - 4), line};
  content.resize(at);
  return location;
}

std::size_t wordEnd(const std::string &text, std::size_t begin) {
  std::size_t end = begin;
  while (end < text.size() && (isLetter(text[end]) || isDigit(text[end]))) {
    ++end;
  }
  return end < text.size() && text[end] == '\'' ? end + 1 : end;
}

/// Digits, a point, an exponent with its sign; 0 length if none.
std::size_t numberEnd(const std::string &text, std::size_t begin) {
  double value = 0;
  const char *first = text.data() + begin;
  return std::from_chars(first, text.data() + text.size(), value).ptr -
         text.data();
}

} // namespace

TokenLine::TokenLine(const std::string &content, int number) : ownLine(number) {
  std::string text = content;
  place = cutLocation(text);
  if (place.line == 0) {
    place = {"<text>", number};
  }
  for (std::size_t i = 0; i < text.size();) {
    char c = text[i];
    std::size_t end = i + 1;
    if (c == '#') {
      break;
    }
    if (std::isspace(static_cast<unsigned char>(c))) {
      i = end;
      continue;
    }
    if (isLetter(c)) {
      end = wordEnd(text, i);
    } else if (isDigit(c)) {
      end = numberEnd(text, i);
    } else if (c == '%') {
      end = wordEnd(text, i + 1);
    } else if (c == '<' && text[i + 1] == '=') {
      end = i + 2;
    }
    tokens.push_back(text.substr(i, end - i));
    i = end;
  }
}

bool TokenLine::take(const std::string &token) {
  if (peek() != token || atEnd()) {
    return false;
  }
  ++position;
  return true;
}

void TokenLine::expect(const std::string &token) {
  if (!take(token)) {
    fail("'" + token + "' is missing before '" + peek() +
         "'; the text has it here; insert it");
  }
}

void TokenLine::expectEnd() {
  if (!atEnd()) {
    fail("'" + peek() +
         "' stands after the end of the statement; a line "
         "holds one statement; remove it");
  }
}

std::string TokenLine::identifier() {
  std::string token = peek();
  if (token.empty() || !isLetter(token[0]) || token.back() == '\'') {
    fail("a name is missing before '" + token +
         "'; the text has one here; insert it");
  }
  ++position;
  return token;
}

std::string TokenLine::let() {
  std::string token = peek();
  if (token.size() < 2 || token[0] != '%') {
    fail("'" + token + "' follows let; lets are numbered; write %1");
  }
  ++position;
  return token;
}

std::string TokenLine::word() {
  std::string token = peek();
  if (token.empty() || (!isLetter(token[0]) && token[0] != '%')) {
    fail("a value is missing before '" + token +
         "'; the text has one here; insert it");
  }
  ++position;
  return token;
}

bool TokenLine::isNumber() const { return !atEnd() && isDigit(peek()[0]); }

double TokenLine::number() {
  if (!isNumber()) {
    fail("a number is missing before '" + peek() +
         "'; the text has one here; insert it");
  }
  std::string token = peek();
  double value = 0;
  std::from_chars(token.data(), token.data() + token.size(), value);
  ++position;
  return value;
}

double TokenLine::signedNumber() { return take("-") ? -number() : number(); }

void TokenLine::fail(const std::string &message) const {
  throw UserError({"<text>", ownLine}, message);
}

} // namespace recurra
