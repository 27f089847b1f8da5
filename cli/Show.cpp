// recurra show: a recurrence's canonical text.
// SPDX-License-Identifier: Apache-2.0
#include "cli/Session.h"
#include "dsl/Text.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace recurra::cli {
namespace {

void show(const Session &session, const std::string &name) {
  Recurrence recurrence = session.find(name);
  std::string text = toText(recurrence);
  Json value = {{"name", recurrence.name},
                {"hash", fmt::format("{:016x}", hash(recurrence))},
                {"text", text},
                {"warnings", recurrence.warnings}};
  for (const std::string &warning : recurrence.warnings) {
    fmt::print(stderr, "warning: {}\n", warning);
  }
  session.answer(value, text);
}

} // namespace

void addShow(CLI::App &app, Session &session) {
  CLI::App *command =
      app.add_subcommand("show", "the canonical text of a recurrence");
  auto name = std::make_shared<std::string>();
  command->add_option("NAME", *name, "as `recurra list` shows it")->required();
  command->footer(
      "The text is what is hashed and what the compiler takes; saved to a\n"
      "file, changed and given to --load, it is a recurrence of your own:\n"
      "  recurra show simple_gla > mine.txt\n"
      "  recurra --load mine.txt check simple_gla");
  command->callback([&session, name] { show(session, *name); });
}

} // namespace recurra::cli
