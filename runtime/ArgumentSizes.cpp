// From symbols to sizes.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/ArgumentSizes.h"

#include <nlohmann/json.hpp>

namespace recurra {

std::int64_t sequencesIn(const Call &call) {
  return call.offsets.empty()
             ? call.batch
             : static_cast<std::int64_t>(call.offsets.size()) - 1;
}

std::vector<std::int64_t> sizesOf(const nlohmann::json &shape, const Call &call,
                                  std::int64_t interval) {
  std::int64_t sequences = sequencesIn(call);
  std::int64_t saved = interval > 0 ? call.batch * call.tokens / interval : 0;
  const std::map<std::string, std::int64_t> symbols = {
      {"B", call.batch}, {"T", call.tokens},
      {"H", call.heads}, {"Hg", call.heads / call.group},
      {"N", sequences},  {"S", saved + sequences}};
  std::vector<std::int64_t> sizes;
  for (const nlohmann::json &symbol : shape) {
    auto found = symbols.find(symbol);
    sizes.push_back(found == symbols.end()
                        ? std::stoll(symbol.get<std::string>())
                        : found->second);
  }
  return sizes;
}

} // namespace recurra
