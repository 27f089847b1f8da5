// Commands as child processes, a number of them at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace recurra {

struct Command {
  std::vector<std::string> words;
  /// "NAME=value", instead of or besides what this process has.
  std::vector<std::string> environment = {};
};

/// The command of an index, made when its turn comes. No other command that
/// runs then has the same `lane`, of 0 .. parallel - 1. nullopt: leave it out.
using MakeCommand =
    std::function<std::optional<Command>(size_t index, int64_t lane)>;

/// Runs `count` commands, at most `parallel` at a time, with the streams of
/// this process. `ended` is called as each ends, with its index and exit status
/// (128 + N after signal N). Throws UserError if one cannot start.
void runCommands(size_t count, int64_t parallel, const MakeCommand &make,
                 const std::function<void(size_t, int)> &ended);

} // namespace recurra
