// The text form of a Spec: what crosses the C door and keys the cache.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Spec.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>

namespace recurra {
namespace {

std::string join(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::string text;
  for (const std::string &name : names) {
    text += ' ' + name;
  }
  return text;
}

bool parseNumber(const std::string &word, std::int64_t &value) {
  const char *end = word.data() + word.size();
  auto [stop, error] = std::from_chars(word.data(), end, value);
  return error == std::errc() && stop == end;
}

bool parseSize(const std::string &word, std::int64_t &value) {
  return parseNumber(word, value) && value >= 1;
}

bool parseFlag(const std::string &word, bool &value) {
  value = word == "1";
  return word == "0" || word == "1";
}

bool parseDirection(const std::string &word, Direction &direction) {
  direction = word == "backward" ? Direction::Backward : Direction::Forward;
  return word == "forward" || word == "backward";
}

/// One line, already split: `words[0]` is the field. False if malformed.
bool parseField(const std::vector<std::string> &words, Spec &spec) {
  const std::string &field = words[0];
  std::vector<std::string> rest(words.begin() + 1, words.end());
  if (field == "final") {
    spec.finalStates = rest;
  } else if (field == "gradients") {
    spec.gradients = rest;
  } else if (field == "initial") {
    spec.initialStates = rest;
  } else if (field == "outputs") {
    spec.outputs = rest;
  } else if (rest.size() == 2 && field == "dtype") {
    std::optional<DType> type = parseDType(rest[1]);
    spec.dtypes[rest[0]] = type.value_or(DType::F32);
    return type.has_value();
  } else if (rest.size() == 2 && field == "extent") {
    return parseSize(rest[1], spec.extents[rest[0]]);
  } else if (rest.size() != 1) {
    return false;
  } else if (field == "arch") {
    spec.arch = rest[0];
  } else if (field == "checkpoints") {
    return parseFlag(rest[0], spec.saveCheckpoints);
  } else if (field == "direction") {
    return parseDirection(rest[0], spec.direction);
  } else if (field == "group") {
    return parseSize(rest[0], spec.group);
  } else if (field == "packed") {
    return parseFlag(rest[0], spec.packed);
  } else if (field == "target") {
    spec.target = rest[0];
  } else {
    return false;
  }
  return true;
}

} // namespace

DType Spec::computeType() const {
  bool allDouble = !dtypes.empty() &&
                   std::all_of(dtypes.begin(), dtypes.end(),
                               [](auto &e) { return e.second == DType::F64; });
  return allDouble ? DType::F64 : DType::F32;
}

std::string toText(const Spec &spec) {
  std::ostringstream text;
  text << "arch " << spec.arch << '\n'
       << "checkpoints " << (spec.saveCheckpoints ? 1 : 0) << '\n'
       << "direction "
       << (spec.direction == Direction::Forward ? "forward" : "backward")
       << '\n';
  for (const auto &[input, type] : spec.dtypes) {
    text << "dtype " << input << ' ' << name(type) << '\n';
  }
  for (const auto &[axis, size] : spec.extents) {
    text << "extent " << axis << ' ' << size << '\n';
  }
  text << "final" << join(spec.finalStates) << '\n'
       << "gradients" << join(spec.gradients) << '\n'
       << "group " << spec.group << '\n'
       << "initial" << join(spec.initialStates) << '\n'
       << "outputs" << join(spec.outputs) << '\n'
       << "packed " << (spec.packed ? 1 : 0) << '\n'
       << "target " << spec.target << '\n';
  return text.str();
}

bool parseSpec(const std::string &text, Spec &spec, std::string &message) {
  spec = Spec();
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::istringstream stream(line);
    std::vector<std::string> words;
    for (std::string word; stream >> word;) {
      words.push_back(word);
    }
    if (!words.empty() && !parseField(words, spec)) {
      message = "spec line " + std::to_string(number) + ": '" + line +
                "' is malformed; a line is a field (arch, checkpoints, "
                "direction, dtype, extent, final, gradients, group, initial, "
                "outputs, packed, target) and its values; write it with "
                "toText(Spec)";
      return false;
    }
  }
  return true;
}

} // namespace recurra
