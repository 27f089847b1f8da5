// The command `recurra`: options that all commands share, and exit codes.
// SPDX-License-Identifier: Apache-2.0
#include "cli/About.h"
#include "cli/Session.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

using namespace recurra;
using namespace recurra::cli;

namespace {

constexpr const char *purpose =
    "Recurra compiles gated linear-attention recurrences: write one token's "
    "step,\nget a differentiable op with a derived backward pass.";

constexpr const char *lesson =
    "A first tour:\n"
    "  recurra list                              what there is\n"
    "  recurra show palimpsa                     its definition\n"
    "  recurra inspect palimpsa --stage linear   how the compiler sees it\n"
    "  recurra check palimpsa                    kernels against the oracle\n"
    "  recurra bench palimpsa                    how fast\n"
    "  recurra train models/configs/recall-demo.toml\n"
    "Your own, in canonical text, a shared library or Python:\n"
    "  recurra --load mine.py check mine\n"
    "Exit codes: 0 good, 1 a check or a run failed, 2 wrong input, 70 a fault\n"
    "of Recurra's own.";

int run(CLI::App &app, Session &session, int argc, char **argv) {
  try {
    app.parse(argc, argv);
    return session.status;
  } catch (const CLI::RequiredError &missing) {
    std::vector<std::string> extras = app.remaining();
    if (extras.empty() || !app.get_subcommands().empty()) {
      app.exit(missing);
    } else {
      fmt::print(stderr, "error: no command '{}'; recurra --help lists them\n",
                 extras[0]);
    }
    return BadInput;
  } catch (const CLI::ParseError &stop) {
    return app.exit(stop) == 0 ? Good : BadInput;
  } catch (const UserError &error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return BadInput;
  } catch (const std::exception &error) {
    fmt::print(stderr, "internal error: {}\n", error.what());
    return Internal;
  }
}

} // namespace

int main(int argc, char **argv) {
  Session session;
  CLI::App app(purpose, "recurra");
  app.footer(lesson);
  app.fallthrough();
  app.require_subcommand(1);
  app.set_version_flag("--version", versionText());
  app.add_flag("--json", session.json,
               "answer with one JSON value on stdout and nothing else");
  app.add_option("--load", session.loads,
                 "a file of your own definitions: canonical text, a shared "
                 "library (.so) or Python (.py)")
      ->allow_extra_args(false);
  addList(app, session);
  addShow(app, session);
  addInspect(app, session);
  addCheck(app, session);
  addBench(app, session);
  addTrain(app, session);
  addDoctor(app, session);
  addCache(app, session);
  return run(app, session, argc, argv);
}
