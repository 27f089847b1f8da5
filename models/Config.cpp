// Configurations: the rules between keys, and the way back to TOML.
// SPDX-License-Identifier: Apache-2.0
#include "models/Config.h"

#include "dsl/Error.h"
#include "models/ConfigKeys.h"
#include "models/ConfigReader.h"

#include <charconv>
#include <nlohmann/json.hpp>

namespace recurra {
namespace {

std::string spell(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  std::string result(text, end);
  const bool isFloat = result.find_first_of(".en") != std::string::npos;
  return isFloat ? result : result + ".0";
}

/// JSON's strings are TOML's too.
std::string spell(const std::string &value) {
  return nlohmann::json(value).dump();
}

std::string spell(const std::vector<int64_t> &values) {
  return nlohmann::json(values).dump();
}

std::string spellValue(const Field &field) {
  return std::visit(
      [](const auto *value) -> std::string {
        using Type = std::decay_t<decltype(*value)>;
        if constexpr (std::is_same_v<Type, bool>) {
          return *value ? "true" : "false";
        } else if constexpr (std::is_same_v<Type, int64_t>) {
          return std::to_string(*value);
        } else {
          return spell(*value);
        }
      },
      field.value);
}

/// Rules between keys, checked when all are known.
void checkTogether(const TrainConfig &c, const std::string &path) {
  const auto require = [&](bool holds, const std::string &message) {
    if (!holds) {
      throw UserError(path + ": " + message);
    }
  };
  if (c.data.kind == "recall") {
    require(c.data.length >= 4 * c.data.pairs,
            "'data.length' must be at least 4 times 'data.pairs', two tokens "
            "to show a pair and two to ask for it");
    require(c.data.vocabulary % 2 == 0 &&
                c.data.vocabulary / 2 - 1 >= c.data.pairs,
            "'data.vocabulary' must be even, and its lower half without 0 must "
            "hold 'data.pairs' different keys");
  }
  const int64_t pairs = c.data.pairs;
  for (int64_t fewer : c.data.pairsMixture) {
    require(fewer <= pairs && pairs % fewer == 0 &&
                c.data.length % (pairs / fewer) == 0,
            "'data.pairs_mixture' has " + std::to_string(fewer) +
                ", which must divide 'data.pairs' = " + std::to_string(pairs) +
                " into a number that divides 'data.length' = " +
                std::to_string(c.data.length) +
                ", so that sequences can be shorter by that factor; take it "
                "out, or choose powers of two for all three");
  }
  require(c.data.kind != "text" || !c.data.path.empty(),
          "'data.path' must name a file when 'data.kind' is 'text'");
  require(c.run.name.find('/') == std::string::npos && !c.run.name.empty(),
          "'run.name' must be a folder name without '/'");
}

} // namespace

TrainConfig loadConfig(const std::string &path,
                       const std::vector<std::string> &overrides) {
  TrainConfig config;
  readConfigFile(config, path);
  for (const std::string &text : overrides) {
    applyOverride(config, text);
  }
  checkTogether(config, path);
  return config;
}

std::map<std::string, std::string> listKeys(const TrainConfig &config) {
  TrainConfig copy = config;
  std::map<std::string, std::string> keys;
  for (const Field &field : fieldsOf(copy)) {
    keys[field.key] = spellValue(field);
  }
  return keys;
}

std::string toToml(const TrainConfig &config) {
  TrainConfig copy = config;
  std::string text, table;
  for (const Field &field : fieldsOf(copy)) {
    const size_t dot = field.key.find('.');
    if (field.key.substr(0, dot) != table) {
      table = field.key.substr(0, dot);
      text += (text.empty() ? "[" : "\n[") + table + "]\n";
    }
    text += field.key.substr(dot + 1) + " = " + spellValue(field) + "\n";
  }
  return text;
}

} // namespace recurra
