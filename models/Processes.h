// Commands as child processes, a number of them at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace recurra {

using Command = std::vector<std::string>;

/// Runs every command, at most `parallel` at a time, with the environment and
/// streams of this process. `ended` is called as each ends, with its index and
/// exit status (128 + N after signal N). Throws UserError if one cannot start.
void runCommands(const std::vector<Command> &commands, int64_t parallel,
                 const std::function<void(size_t, int)> &ended);

} // namespace recurra
