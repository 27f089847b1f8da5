// recurra train: the face of the trainer.
// SPDX-License-Identifier: Apache-2.0
#include "cli/Session.h"
#include "cli/TrainDoor.h"

#include <CLI/CLI.hpp>
#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>
#include <iostream>
#include <sstream>

namespace recurra::cli {
namespace {

/// The library lies in lib/ beside the bin/ of this program, or by it.
TrainEntry openTrainer() {
  namespace fs = std::filesystem;
  fs::path bin = fs::read_symlink("/proc/self/exe").parent_path();
  std::string reason;
  for (const fs::path &folder : {bin / "../lib", bin}) {
    fs::path file = folder / trainLibrary;
    if (!fs::exists(file)) {
      continue;
    }
    if (void *library = dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL)) {
      return reinterpret_cast<TrainEntry>(dlsym(library, trainSymbol));
    }
    reason = fmt::format(" ({})", dlerror());
  }
  throw UserError(fmt::format("this installation cannot train: it lacks {}{}; "
                              "run ./dev setup, then ./dev build",
                              trainLibrary, reason));
}

void addOptions(CLI::App &command, TrainOptions &options) {
  command
      .add_option("CONFIG", options.config,
                  "a TOML file, as models/configs/recall-demo.toml")
      ->required()
      ->check(CLI::ExistingFile);
  command
      .add_option("--set", options.overrides,
                  "change a key, as in --set optimiser.learning_rate=1e-3")
      ->expected(1, -1);
  command.add_option("--out", options.output,
                     "folder of the run (default: runs/NAME)");
  command.add_flag("--resume", options.resume,
                   "go on from the newest checkpoint in the folder");
  command.add_flag("--overwrite", options.overwrite,
                   "replace the run that the folder holds; else it is kept as "
                   "FOLDER.1, FOLDER.2, ..");
  command.add_flag("--quiet", options.quiet, "no progress bar");
}

void runTraining(Session &session, TrainOptions options, bool describe) {
  TrainEntry entry = openTrainer();
  if (!session.json) {
    session.status = entry(options, describe, std::cout);
    return;
  }
  options.quiet = true;
  std::ostringstream out;
  session.status = entry(options, describe, out);
  if (describe && session.status == Good) {
    session.answer(Json::parse(out.str()), "");
  } else {
    std::string summary = out.str();
    session.answer({{"status", session.status},
                    {"summary", summary.substr(0, summary.find('\n'))}},
                   "");
  }
}

} // namespace

void addTrain(CLI::App &app, Session &session) {
  CLI::App *command =
      app.add_subcommand("train", "train a model as a TOML file says");
  auto options = std::make_shared<TrainOptions>();
  auto describe = std::make_shared<bool>(false);
  addOptions(*command, *options);
  command->add_flag("--describe", *describe,
                    "print the model's parameters as JSON; train nothing");
  command->footer(
      "Writes config.toml, metrics.jsonl (one JSON object a line) and\n"
      "checkpoints (safetensors) into the folder. Exit codes: 0 done, 1 the\n"
      "training failed, 2 bad input, 3 the target accuracy was not reached,\n"
      "130 interrupted, with a checkpoint to --resume from.");
  command->callback([&session, options, describe] {
    runTraining(session, *options, *describe);
  });
}

} // namespace recurra::cli
