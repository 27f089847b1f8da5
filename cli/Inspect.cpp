// recurra inspect: a recurrence at one stage of the compiler.
// SPDX-License-Identifier: Apache-2.0
#include "cli/Session.h"
#include "cli/Sizes.h"
#include "runtime/Kernel.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>

namespace recurra::cli {
namespace {

struct InspectOptions {
  std::string name, stage, direction;
  bool states = false;
  SpecOptions spec;
};

/// Initial and final states pass the kernel's boundary, as do gradients.
void addStates(const Recurrence &recurrence, Spec &spec) {
  for (const State &state : recurrence.states) {
    spec.initialStates.push_back(state.name);
    spec.finalStates.push_back(state.name);
    if (spec.direction == Direction::Backward) {
      spec.gradients.push_back(state.name);
    }
  }
}

void inspect(const Session &session, const InspectOptions &options) {
  Recurrence recurrence = session.find(options.name);
  bool backward = options.direction == "backward" ||
                  (options.direction.empty() && options.stage == "backward");
  Spec spec = options.spec.spec(recurrence, backward ? Direction::Backward
                                                     : Direction::Forward);
  auto isNarrow = [](const State &s) { return s.dtype != DType::F32; };
  if (options.states || std::any_of(recurrence.states.begin(),
                                    recurrence.states.end(), isNarrow)) {
    addStates(recurrence, spec);
  }
  if (options.stage == "cuda" || options.stage == "ptx" ||
      options.stage == "sass") {
    spec.target = "cuda";
  }
  std::string text = inspectKernel(recurrence, spec, options.stage);
  if (text.empty() || text.back() != '\n') {
    text += '\n';
  }
  session.answer({{"name", recurrence.name},
                  {"stage", options.stage},
                  {"direction", backward ? "backward" : "forward"},
                  {"text", text}},
                 text);
}

} // namespace

void addInspect(CLI::App &app, Session &session) {
  CLI::App *command =
      app.add_subcommand("inspect", "what a recurrence was lowered to");
  auto options = std::make_shared<InspectOptions>();
  command->add_option("NAME", options->name, "as `recurra list` shows it")
      ->required();
  command
      ->add_option("--stage", options->stage,
                   "rec: one token's step, as imported\n"
                   "linear: after the change of variables, with the verdict\n"
                   "backward: the derived recurrence in reverse time\n"
                   "chunk: the parallel algorithm on tiles\n"
                   "llvm: LLVM IR\n"
                   "asm: the host's assembly\n"
                   "cuda: CUDA C++\n"
                   "ptx: what NVRTC makes of it\n"
                   "sass: a GPU's machine code")
      ->required()
      ->check(CLI::IsMember({"rec", "linear", "backward", "chunk", "llvm",
                             "asm", "cuda", "ptx", "sass"}));
  command
      ->add_option("--direction", options->direction,
                   "of chunk and below: forward (the default) or backward")
      ->check(CLI::IsMember({"forward", "backward"}));
  command->add_flag("--states", options->states,
                    "with initial and final states; always so where the\n"
                    "definition gives one a dtype");
  options->spec.add(*command);
  command->footer("  recurra inspect palimpsa --stage linear\n"
                  "  recurra inspect palimpsa --stage asm --size K=16 V=32 "
                  "--arch avx2\n"
                  "  recurra inspect palimpsa --stage cuda --size K=96 V=192 "
                  "--arch sm_90a");
  command->callback([&session, options] { inspect(session, *options); });
}

} // namespace recurra::cli
