// recurra train: the face of the trainer.
// SPDX-License-Identifier: Apache-2.0
#include "cli/Session.h"
#ifdef RECURRA_TORCH_DIR
#include "models/Train.h"
#endif

#include <CLI/CLI.hpp>
#include <iostream>

namespace recurra::cli {

#ifdef RECURRA_TORCH_DIR

void addTrain(CLI::App &app, Session &session) {
  CLI::App *command =
      app.add_subcommand("train", "train a model as a TOML file says");
  auto options = std::make_shared<TrainOptions>();
  auto describe = std::make_shared<bool>(false);
  command
      ->add_option("CONFIG", options->config,
                   "a TOML file, as models/configs/recall-demo.toml")
      ->required();
  command
      ->add_option("--set", options->overrides,
                   "change a key, as in --set optimiser.learning_rate=1e-3")
      ->expected(1, -1);
  command->add_option("--out", options->output,
                      "folder of the run (default: runs/NAME)");
  command->add_flag("--resume", options->resume,
                    "go on from the newest checkpoint in the folder");
  command->add_flag("--overwrite", options->overwrite,
                    "start anew although the folder holds a run");
  command->add_flag("--quiet", options->quiet, "no progress bar");
  command->add_flag("--describe", *describe,
                    "print the model's parameters as JSON; train nothing");
  command->footer(
      "Writes config.toml, metrics.jsonl (one JSON object a line) and\n"
      "checkpoints (safetensors) into the folder. Exit codes: 0 done, 1 the\n"
      "training failed, 2 bad input, 3 the target accuracy was not reached,\n"
      "130 interrupted, with a checkpoint to --resume from.");
  command->callback([&session, options, describe] {
    options->quiet = options->quiet || session.json;
    TrainStatus status = *describe ? describeModel(*options, std::cout)
                                   : train(*options, std::cout);
    session.status = static_cast<int>(status);
  });
}

#else

void addTrain(CLI::App &app, Session &session) {
  CLI::App *command = app.add_subcommand(
      "train", "train a model (not in this build, which lacks torch)");
  command->allow_extras();
  command->callback([] {
    throw UserError("this build has no torch, so it cannot train; run ./dev "
                    "setup, then ./dev build");
  });
}

#endif

} // namespace recurra::cli
