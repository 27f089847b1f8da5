// Starts and awaits child processes.
// SPDX-License-Identifier: Apache-2.0
#include "models/Processes.h"

#include "dsl/Error.h"

#include <cerrno>
#include <cstring>
#include <map>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace recurra {
namespace {

pid_t start(const Command &command) {
  std::vector<char *> words;
  for (const std::string &word : command) {
    words.push_back(const_cast<char *>(word.c_str()));
  }
  words.push_back(nullptr);
  pid_t process = 0;
  const int error =
      posix_spawn(&process, words[0], nullptr, nullptr, words.data(), environ);
  if (error != 0) {
    throw UserError("cannot start " + command[0] + ": " + std::strerror(error));
  }
  return process;
}

/// Waits for one of `running` and takes it out: its index and status.
std::pair<size_t, int> awaitOne(std::map<pid_t, size_t> &running) {
  while (true) {
    int status = 0;
    const pid_t process = waitpid(-1, &status, 0);
    if (process < 0 && errno != EINTR) {
      throw UserError(std::string("cannot wait for a run: ") +
                      std::strerror(errno));
    }
    const auto found = running.find(process);
    if (found != running.end()) {
      const size_t index = found->second;
      running.erase(found);
      return {index, WIFSIGNALED(status) ? 128 + WTERMSIG(status)
                                         : WEXITSTATUS(status)};
    }
  }
}

} // namespace

void runCommands(const std::vector<Command> &commands, int64_t parallel,
                 const std::function<void(size_t, int)> &ended) {
  std::map<pid_t, size_t> running;
  size_t next = 0;
  while (next < commands.size() || !running.empty()) {
    if (next < commands.size() && int64_t(running.size()) < parallel) {
      running[start(commands[next])] = next;
      ++next;
      continue;
    }
    const auto [index, status] = awaitOne(running);
    ended(index, status);
  }
}

} // namespace recurra
