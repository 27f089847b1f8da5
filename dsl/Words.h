// Words of the canonical text, for printing and parsing alike.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dsl/Recurrence.h"

#include <array>
#include <string_view>
#include <utility>

namespace recurra {

inline constexpr std::array<std::pair<Role, std::string_view>, 3> roleWords{
    {{Role::Token, "token"}, {Role::Head, "head"}, {Role::Scalar, "scalar"}}};

inline constexpr std::array<std::pair<Sharing, std::string_view>, 3>
    sharingWords{{{Sharing::Head, "perHead"},
                  {Sharing::Group, "perGroup"},
                  {Sharing::All, "sharedByAllHeads"}}};

inline constexpr std::array<std::pair<Fact::Kind, std::string_view>, 5>
    factWords{{{Fact::Positive, "positive"},
               {Fact::NonNegative, "nonNegative"},
               {Fact::NonPositive, "nonPositive"},
               {Fact::Range, "range"},
               {Fact::Unit, "unit"}}};

template <typename Words, typename Value>
constexpr std::string_view wordFor(const Words &words, Value value) {
  for (const auto &[candidate, word] : words) {
    if (candidate == value) {
      return word;
    }
  }
  return {};
}

inline std::string_view roleWord(Role role) { return wordFor(roleWords, role); }
inline std::string_view sharingWord(Sharing sharing) {
  return wordFor(sharingWords, sharing);
}
inline std::string_view factWord(Fact::Kind kind) {
  return wordFor(factWords, kind);
}

} // namespace recurra
