// Session: which recurrences there are, and answers as text or JSON.
// SPDX-License-Identifier: Apache-2.0
#include "cli/Session.h"

#include "cli/Load.h"
#include "ops/catalogue/Catalogue.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace recurra::cli {

std::vector<Recurrence> Session::definitions() const {
  std::vector<Recurrence> all;
  std::set<std::string> taken;
  for (const std::string &file : loads) {
    for (Recurrence &recurrence : loadDefinitions(file)) {
      if (!taken.insert(recurrence.name).second) {
        throw UserError(fmt::format(
            "{}: '{}' is defined twice among the loaded files; rename one",
            file, recurrence.name));
      }
      all.push_back(std::move(recurrence));
    }
  }
  for (const Recurrence &entry : catalogue()) {
    if (!taken.count(entry.name)) {
      all.push_back(entry);
    }
  }
  return all;
}

Recurrence Session::find(const std::string &name) const {
  std::string known;
  for (Recurrence &recurrence : definitions()) {
    if (recurrence.name == name) {
      return std::move(recurrence);
    }
    known += (known.empty() ? "" : ", ") + recurrence.name;
  }
  throw UserError(fmt::format("no recurrence '{}'; there are {}; or give a "
                              "file of your own with --load FILE",
                              name, known));
}

void Session::answer(const Json &value, const std::string &text) const {
  fmt::print("{}", json ? value.dump() + "\n" : text);
}

} // namespace recurra::cli
