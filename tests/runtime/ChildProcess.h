// Another program, run to its end: what it printed, and how it ended.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace recurra {

struct ChildProcess {
  std::vector<std::string> command;          ///< a path, then arguments
  std::vector<std::string> environment = {}; ///< "NAME=value", besides ours

  std::string output;
  int status = -1; ///< 0: it ended well

  /// Waits for it; its standard error is ours.
  void run() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) {
      return;
    }
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    std::vector<std::string> variables = environment;
    for (char **ours = environ; *ours; ++ours) {
      variables.emplace_back(*ours); // the first of a name counts
    }
    pid_t child = 0;
    int failed =
        ::posix_spawn(&child, command[0].c_str(), &actions, nullptr,
                      pointers(command).data(), pointers(variables).data());
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    char buffer[4096];
    for (ssize_t count;
         (count = ::read(ends[0], buffer, sizeof(buffer))) > 0;) {
      output.append(buffer, static_cast<std::size_t>(count));
    }
    ::close(ends[0]);
    if (failed == 0) {
      ::waitpid(child, &status, 0);
    }
  }

private:
  static std::vector<char *> pointers(std::vector<std::string> &words) {
    std::vector<char *> result;
    for (std::string &word : words) {
      result.push_back(word.data());
    }
    result.push_back(nullptr);
    return result;
  }
};

} // namespace recurra
