// The face of the TOML parser, which is compiled into this file.
// SPDX-License-Identifier: Apache-2.0
#include "models/ConfigReader.h"

#include "dsl/Error.h"
#include "models/ConfigKeys.h"

#include <algorithm>
#include <sstream>
#include <toml++/toml.h>

namespace recurra {
namespace {

/// Line 0 stands for a place without lines: an override, a missing file.
[[noreturn]] void failAt(const std::string &place, int line,
                         const std::string &message) {
  if (line > 0) {
    throw UserError(SourceLocation{place, line}, message);
  }
  throw UserError(place + ": " + message);
}

/// Fills the fields from one document; `file` and lines go into messages.
class Reader {
public:
  Reader(TrainConfig &config, std::string file, bool hasLines)
      : fields(fieldsOf(config)), file(std::move(file)), hasLines(hasLines) {}

  void read(const toml::table &root) {
    for (const auto &[table, node] : root) {
      const std::string name(table.str());
      const toml::table *keys = node.as_table();
      if (!keys) {
        unknown(name, node);
      }
      for (const auto &[key, value] : *keys) {
        store(name + "." + std::string(key.str()), value);
      }
    }
  }

private:
  [[noreturn]] void fail(const toml::node &node, const std::string &message) {
    failAt(file, hasLines ? int(node.source().begin.line) : 0, message);
  }

  [[noreturn]] void unknown(const std::string &key, const toml::node &node) {
    fail(node, "unknown key '" + key + "'; the nearest known key is '" +
                   nearestKey(fields, key) + "'");
  }

  void store(const std::string &key, const toml::node &node) {
    const auto found =
        std::find_if(fields.begin(), fields.end(),
                     [&](const Field &field) { return field.key == key; });
    if (found == fields.end()) {
      unknown(key, node);
    }
    std::visit([&](auto *target) { assign(*found, node, *target); },
               found->value);
  }

  void assign(const Field &field, const toml::node &node,
              std::vector<int64_t> &target) {
    if (!node.is_array()) {
      fail(node, "'" + field.key + "' must be a list of whole numbers");
    }
    target.clear();
    for (const toml::node &item : *node.as_array()) {
      assign(field, item, target.emplace_back());
    }
  }

  template <typename Type>
  void assign(const Field &field, const toml::node &node, Type &target) {
    // toml++ converts true to 1 and 1.0 to 1; a configuration should not.
    const bool converts =
        std::is_same_v<Type, double> ? node.is_number() : node.is<Type>();
    if (!converts) {
      const char *wanted = std::is_same_v<Type, bool>      ? "true or false"
                           : std::is_same_v<Type, int64_t> ? "a whole number"
                           : std::is_same_v<Type, double>  ? "a number"
                                                           : "a string";
      fail(node, "'" + field.key + "' must be " + wanted);
    }
    target = *node.value<Type>();
    if constexpr (std::is_same_v<Type, std::string>) {
      checkChoice(field, node, target);
    } else if constexpr (!std::is_same_v<Type, bool>) {
      checkRange(field, node, double(target));
    }
  }

  void checkRange(const Field &field, const toml::node &node, double value) {
    if (value >= field.least && value <= field.most) {
      return;
    }
    std::ostringstream rule;
    rule << "'" << field.key << "' is " << value << " and must be";
    if (field.least > -Field::kInfinity) {
      rule << " at least " << field.least;
    }
    if (field.most < Field::kInfinity) {
      rule << (field.least > -Field::kInfinity ? " and" : "") << " at most "
           << field.most;
    }
    fail(node, rule.str());
  }

  void checkChoice(const Field &field, const toml::node &node,
                   const std::string &value) {
    const auto &choices = field.choices;
    if (choices.empty() ||
        std::find(choices.begin(), choices.end(), value) != choices.end()) {
      return;
    }
    std::string list;
    for (const std::string &choice : choices) {
      list += (list.empty() ? "'" : ", '") + choice + "'";
    }
    fail(node,
         "'" + field.key + "' is '" + value + "' and must be one of " + list);
  }

  std::vector<Field> fields;
  std::string file;
  bool hasLines;
};

/// As a TOML string.
std::string quoted(const std::string &value) {
  std::ostringstream out;
  out << toml::node_view<const toml::node>(toml::value<std::string>(value));
  return out.str();
}

} // namespace

void readConfigFile(TrainConfig &config, const std::string &path) {
  try {
    Reader(config, path, /*hasLines=*/true).read(toml::parse_file(path));
  } catch (const toml::parse_error &error) {
    failAt(path, int(error.source().begin.line),
           std::string(error.description()));
  }
}

void applyOverride(TrainConfig &config, const std::string &text) {
  const size_t equals = text.find('=');
  const std::string where = "--set " + text;
  if (equals == std::string::npos || text.find('.') >= equals) {
    throw UserError(where + ": an override is written table.key=value, as in "
                            "optimiser.steps=100");
  }
  const std::string key = text.substr(0, equals);
  toml::table table;
  try {
    table = toml::parse(text);
  } catch (const toml::parse_error &) {
    // A bare word is a string: the shell has eaten the quotes.
    try {
      table = toml::parse(key + " = " + quoted(text.substr(equals + 1)));
    } catch (const toml::parse_error &error) {
      throw UserError(where + ": " + std::string(error.description()));
    }
  }
  Reader(config, where, /*hasLines=*/false).read(table);
}

} // namespace recurra
