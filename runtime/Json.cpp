// Json: strings of JSON put together.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Json.h"

#include <cstdio>

namespace recurra::json {

std::string text(const std::string &value) {
  std::string result = "\"";
  for (char c : value) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof(escaped), "\\u%04x", c);
      result += escaped;
    } else {
      result += c;
    }
  }
  return result + '"';
}

std::string number(std::int64_t value) { return std::to_string(value); }

std::string array(const std::vector<std::string> &elements) {
  std::string result = "[";
  for (const std::string &element : elements) {
    result += (result.size() > 1 ? ", " : "") + element;
  }
  return result + "]";
}

std::string
object(const std::vector<std::pair<std::string, std::string>> &members) {
  std::string result = "{";
  for (const auto &[name, value] : members) {
    result += (result.size() > 1 ? ", " : "") + text(name) + ": " + value;
  }
  return result + "}";
}

} // namespace recurra::json
