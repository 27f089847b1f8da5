// Algorithm: read from the printed analysis and the plans of both directions.
// SPDX-License-Identifier: Apache-2.0
#include "cli/Algorithm.h"

#include "cli/Sizes.h"
#include "runtime/Kernel.h"

#include <nlohmann/json.hpp>
#include <sstream>

namespace recurra::cli {
namespace {

/// The text between `before` and `after`; empty if `before` does not occur.
std::string between(const std::string &text, const std::string &before,
                    const std::string &after) {
  std::size_t start = text.find(before);
  if (start == std::string::npos) {
    return "";
  }
  start += before.size();
  return text.substr(start, text.find(after, start) - start);
}

/// The form of a direction's plan; "none" if the compiler refuses it.
std::string planForm(const Recurrence &recurrence, Direction direction) {
  try {
    Spec spec = SpecOptions().spec(recurrence, direction);
    auto description = nlohmann::json::parse(describeKernel(recurrence, spec));
    std::istringstream plan(description["plan"].get<std::string>());
    std::string word, form;
    plan >> word >> form;
    return form.substr(0, form.find(','));
  } catch (const UserError &) {
    return "none";
  }
}

} // namespace

Algorithm algorithmOf(const Recurrence &recurrence) {
  Spec spec = SpecOptions().spec(recurrence, Direction::Forward);
  std::string linear = inspectKernel(recurrence, spec, "linear");
  auto attribute = [&](const std::string &name) {
    return between(linear, "rec." + name + " = \"", "\"");
  };
  return {attribute("class"), attribute("form"),
          planForm(recurrence, Direction::Forward),
          planForm(recurrence, Direction::Backward)};
}

} // namespace recurra::cli
