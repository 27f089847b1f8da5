// What every command shares: the options that stand before or behind its name,
// the recurrences that it may name, and how it answers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dsl/Recurrence.h"

#include <nlohmann/json.hpp>

namespace CLI {
class App;
} // namespace CLI

namespace recurra::cli {

/// Exit codes. A mistake of the user throws UserError, and main answers with
/// BadInput.
enum Status : int { Good = 0, Failed = 1, BadInput = 2, Internal = 70 };

/// Members stand in the order in which they were written.
using Json = nlohmann::ordered_json;

struct Session {
  bool json = false;
  std::vector<std::string> loads; ///< files of definitions
  int status = Good;

  /// The loaded files' definitions, then the catalogue's whose names they do
  /// not take.
  std::vector<Recurrence> definitions() const;
  /// Throws UserError that names what there is.
  Recurrence find(const std::string &name) const;
  /// Prints `value` if --json was given, else `text`.
  void answer(const Json &value, const std::string &text) const;
};

void addList(CLI::App &app, Session &session);
void addShow(CLI::App &app, Session &session);
void addInspect(CLI::App &app, Session &session);
void addCheck(CLI::App &app, Session &session);
void addBench(CLI::App &app, Session &session);
void addTrain(CLI::App &app, Session &session);
void addDoctor(CLI::App &app, Session &session);
void addCache(CLI::App &app, Session &session);

} // namespace recurra::cli
