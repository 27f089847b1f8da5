// Starts and awaits child processes.
// SPDX-License-Identifier: Apache-2.0
#include "models/Processes.h"

#include "dsl/Error.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <set>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace recurra {
namespace {

/// Pointers to the strings, as C wants them.
std::vector<char *> pointers(const std::vector<std::string> &strings) {
  std::vector<char *> result;
  for (const std::string &text : strings) {
    result.push_back(const_cast<char *>(text.c_str()));
  }
  result.push_back(nullptr);
  return result;
}

/// The environment of this process with `changes`.
std::vector<std::string>
changedEnvironment(const std::vector<std::string> &changes) {
  std::vector<std::string> result = changes;
  for (char **entry = environ; *entry; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('=') + 1);
    const auto sets = [&](const std::string &change) {
      return change.compare(0, name.size(), name) == 0;
    };
    if (std::none_of(changes.begin(), changes.end(), sets)) {
      result.push_back(text);
    }
  }
  return result;
}

pid_t start(const Command &command) {
  const std::vector<std::string> environment =
      changedEnvironment(command.environment);
  pid_t process = 0;
  const int error =
      posix_spawn(&process, command.words[0].c_str(), nullptr, nullptr,
                  pointers(command.words).data(), pointers(environment).data());
  if (error != 0) {
    throw UserError("cannot start " + command.words[0] + ": " +
                    std::strerror(error));
  }
  return process;
}

struct Child {
  size_t index;
  int64_t lane;
};

/// Waits for one of `running` and takes it out; its exit status goes to
/// `status`.
Child awaitOne(std::map<pid_t, Child> &running, int &status) {
  while (true) {
    int state = 0;
    const pid_t process = waitpid(-1, &state, 0);
    if (process < 0 && errno != EINTR) {
      throw UserError(std::string("cannot wait for a run: ") +
                      std::strerror(errno));
    }
    const auto found = running.find(process);
    if (found != running.end()) {
      const Child child = found->second;
      running.erase(found);
      status = WIFSIGNALED(state) ? 128 + WTERMSIG(state) : WEXITSTATUS(state);
      return child;
    }
  }
}

} // namespace

void runCommands(size_t count, int64_t parallel, const MakeCommand &make,
                 const std::function<void(size_t, int)> &ended) {
  std::map<pid_t, Child> running;
  std::set<int64_t> lanes;
  for (int64_t lane = 0; lane < parallel; ++lane) {
    lanes.insert(lane);
  }
  size_t next = 0;
  while (next < count || !running.empty()) {
    if (next < count && !lanes.empty()) {
      const int64_t lane = *lanes.begin();
      if (const auto command = make(next, lane)) {
        running[start(*command)] = {next, lane};
        lanes.erase(lane);
      }
      ++next;
      continue;
    }
    int status = 0;
    const Child child = awaitOne(running, status);
    lanes.insert(child.lane);
    ended(child.index, status);
  }
}

} // namespace recurra
