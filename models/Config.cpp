// Reads run configurations: one table of keys serves reading, checking, the
// messages and writing back.
// SPDX-License-Identifier: Apache-2.0
#include "models/Config.h"

#include "dsl/Error.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <numeric>
#include <sstream>
#include <toml++/toml.h>
#include <variant>

namespace recurra {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A key: where its value goes and what it may be.
struct Field {
  std::string key;
  std::variant<int64_t *, double *, bool *, std::string *> value;
  double least = -kInfinity, most = kInfinity;
  std::vector<std::string> choices = {};
};

std::vector<Field> fieldsOf(TrainConfig &c) {
  return {
      {"data.kind", &c.data.kind, 0, 0, {"recall", "text"}},
      {"data.path", &c.data.path},
      {"data.length", &c.data.length, 1},
      {"data.batch", &c.data.batch, 1},
      {"data.validation", &c.data.validation, 1},
      {"data.pairs", &c.data.pairs, 1},
      {"data.vocabulary", &c.data.vocabulary, 4},
      {"data.power_a", &c.data.powerA},
      {"model.mixer",
       &c.model.mixer,
       0,
       0,
       {"palimpsa", "convolution", "none"}},
      {"model.vocabulary", &c.model.vocabulary, 0},
      {"model.layers", &c.model.layers, 1},
      {"model.width", &c.model.width, 1},
      {"model.heads", &c.model.heads, 1},
      {"model.key_size", &c.model.keySize, 1},
      {"model.value_size", &c.model.valueSize, 1},
      {"model.beta_rank", &c.model.betaRank, 1},
      {"model.convolution", &c.model.convolution, 1},
      {"model.mlp", &c.model.mlp},
      {"model.norm_eps", &c.model.normEps, 0},
      {"model.init_std", &c.model.initStd, 0},
      {"model.gates",
       &c.model.gates,
       0,
       0,
       {"random", "normal", "small", "very_small"}},
      {"optimiser.learning_rate", &c.optimiser.learningRate, 0},
      {"optimiser.beta1", &c.optimiser.beta1, 0, 1},
      {"optimiser.beta2", &c.optimiser.beta2, 0, 1},
      {"optimiser.eps", &c.optimiser.eps, 0},
      {"optimiser.weight_decay", &c.optimiser.weightDecay, 0},
      {"optimiser.clip", &c.optimiser.clip, 0},
      {"optimiser.warmup", &c.optimiser.warmup, 0},
      {"optimiser.steps", &c.optimiser.steps, 1},
      {"optimiser.final_fraction", &c.optimiser.finalFraction, 0, 1},
      {"run.name", &c.run.name},
      {"run.seed", &c.run.seed, 0},
      {"run.threads", &c.run.threads, 0},
      {"run.log_every", &c.run.logEvery, 1},
      {"run.validate_every", &c.run.validateEvery, 1},
      {"run.checkpoint_every", &c.run.checkpointEvery, 1},
      {"run.keep_checkpoints", &c.run.keepCheckpoints, 1},
      {"run.target_accuracy", &c.run.targetAccuracy, 0, 1},
      {"run.stop_at_target", &c.run.stopAtTarget},
  };
}

/// Levenshtein's distance.
size_t editDistance(const std::string &a, const std::string &b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t(0));
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0]++;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1,
                         diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

/// The known key closest to `key`; the right name in a wrong table counts as
/// close.
std::string nearestKey(const std::vector<Field> &fields,
                       const std::string &key) {
  const auto last = [](const std::string &k) {
    return k.substr(k.rfind('.') + 1);
  };
  const auto distance = [&](const Field &field) {
    return std::min(editDistance(field.key, key),
                    editDistance(last(field.key), last(key)) + 1);
  };
  return std::min_element(fields.begin(), fields.end(),
                          [&](const Field &a, const Field &b) {
                            return distance(a) < distance(b);
                          })
      ->key;
}

std::string spell(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  std::string result(text, end);
  const bool isFloat = result.find_first_of(".en") != std::string::npos;
  return isFloat ? result : result + ".0";
}

std::string spell(const std::string &value) {
  std::ostringstream out;
  out << toml::node_view<const toml::node>(toml::value<std::string>(value));
  return out.str();
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
    if (field.least > -kInfinity) {
      rule << " at least " << field.least;
    }
    if (field.most < kInfinity) {
      rule << (field.least > -kInfinity ? " and" : "") << " at most "
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
      table = toml::parse(key + " = " + spell(text.substr(equals + 1)));
    } catch (const toml::parse_error &error) {
      throw UserError(where + ": " + std::string(error.description()));
    }
  }
  Reader(config, where, /*hasLines=*/false).read(table);
}

/// Rules between keys, checked when all are known.
void checkTogether(const TrainConfig &c, const std::string &path) {
  const auto require = [&](bool holds, const std::string &message) {
    if (!holds) {
      failAt(path, 0, message);
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
  require(c.data.kind != "text" || !c.data.path.empty(),
          "'data.path' must name a file when 'data.kind' is 'text'");
  require(c.run.name.find('/') == std::string::npos && !c.run.name.empty(),
          "'run.name' must be a folder name without '/'");
}

} // namespace

TrainConfig loadConfig(const std::string &path,
                       const std::vector<std::string> &overrides) {
  TrainConfig config;
  try {
    Reader(config, path, /*hasLines=*/true).read(toml::parse_file(path));
  } catch (const toml::parse_error &error) {
    failAt(path, int(error.source().begin.line),
           std::string(error.description()));
  }
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
