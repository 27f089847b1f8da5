// recurra list: what there is, and what each direction runs.
// SPDX-License-Identifier: Apache-2.0
#include "cli/Algorithm.h"
#include "cli/Session.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace recurra::cli {
namespace {

template <typename Things>
std::vector<std::string> namesOf(const Things &things) {
  std::vector<std::string> names;
  for (const auto &thing : things) {
    names.push_back(thing.name);
  }
  return names;
}

/// By name, of the states whose tensors are not f32.
Json dtypesOf(const std::vector<State> &states) {
  Json dtypes = Json::object();
  for (const State &state : states) {
    if (state.dtype != DType::F32) {
      dtypes[state.name] = std::string(name(state.dtype));
    }
  }
  return dtypes;
}

Json describe(const Recurrence &recurrence) {
  Algorithm algorithm = algorithmOf(recurrence);
  return {{"name", recurrence.name},
          {"class", algorithm.structuralClass},
          {"form", algorithm.form},
          {"runs",
           {{"forward", algorithm.forward}, {"backward", algorithm.backward}}},
          {"states", namesOf(recurrence.states)},
          {"state_dtypes", dtypesOf(recurrence.states)},
          {"inputs", namesOf(recurrence.inputs)},
          {"outputs", namesOf(recurrence.outputs)}};
}

std::string joined(const Json &names) {
  return fmt::format("{}",
                     fmt::join(names.get<std::vector<std::string>>(), " "));
}

/// "M:bf16 J": a dtype where there is one to say.
std::string statesOf(const Json &row) {
  std::vector<std::string> words = row["states"];
  for (std::string &word : words) {
    if (row["state_dtypes"].contains(word)) {
      word += ":" + row["state_dtypes"][word].get<std::string>();
    }
  }
  return fmt::format("{}", fmt::join(words, " "));
}

void list(const Session &session) {
  Json all = Json::array();
  std::string text =
      fmt::format("{:22}{:6}{:8}{:14}{:12}{}\n", "name", "class", "form",
                  "runs fwd/bwd", "states", "inputs -> outputs");
  for (const Recurrence &recurrence : session.definitions()) {
    Json row = describe(recurrence);
    text += fmt::format(
        "{:22}{:6}{:8}{:14}{:12}{} -> {}\n", recurrence.name,
        row["class"].get<std::string>(), row["form"].get<std::string>(),
        row["runs"]["forward"].get<std::string>() + "/" +
            row["runs"]["backward"].get<std::string>(),
        statesOf(row), joined(row["inputs"]), joined(row["outputs"]));
    all.push_back(std::move(row));
  }
  session.answer(all, text);
}

} // namespace

void addList(CLI::App &app, Session &session) {
  CLI::App *command =
      app.add_subcommand("list", "the recurrences of the catalogue, and yours");
  command->footer(
      "class: the structural class, from what the states' updates allow:\n"
      "  1 decay by a scalar or along one axis (1b: states without a matrix),\n"
      "  2 decay plus low rank (delta rules), 3 decay by element or a readout\n"
      "  that is not linear, 4 anything else.\n"
      "form: the parallel algorithm that the class allows.\n"
      "runs: the one that this version runs, forward and backward.");
  command->callback([&session] { list(session); });
}

} // namespace recurra::cli
