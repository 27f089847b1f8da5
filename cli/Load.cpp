// Load: text, a shared library or a Python file, all by way of canonical text.
// SPDX-License-Identifier: Apache-2.0
#include "cli/Load.h"

#include "dsl/Text.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

namespace recurra::cli {
namespace {

// What Python runs: argument 1 is the user's file.
constexpr const char *collector = R"(
import runpy, sys
import recurra
found = {}
for value in runpy.run_path(sys.argv[1]).values():
    if isinstance(value, recurra.Recurrence):
        found[value.name] = value
sys.stdout.flush()
with open(3, "w") as out:
    for value in found.values():
        out.write(value.to_text(locations=True) + "\n")
)";

std::string readFile(const std::string &file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  if (!in || std::filesystem::is_directory(file) || !(text << in.rdbuf())) {
    throw UserError(fmt::format("cannot read '{}'; --load takes canonical "
                                "text, a shared library or a .py file",
                                file));
  }
  return text.str();
}

/// Each recurrence begins with a line "recurrence NAME".
std::vector<Recurrence> parseAll(const std::string &text,
                                 const std::string &file) {
  std::vector<Recurrence> all;
  std::istringstream lines(text);
  std::string line, current;
  auto finish = [&] {
    if (current.find_first_not_of(" \n\t") != std::string::npos) {
      try {
        all.push_back(parse(current));
      } catch (const UserError &error) {
        throw UserError(fmt::format("{}: {}", file, error.what()));
      }
    }
    current.clear();
  };
  while (std::getline(lines, line)) {
    if (line.rfind("recurrence ", 0) == 0) {
      finish();
    }
    current += line + "\n";
  }
  finish();
  if (all.empty()) {
    throw UserError(fmt::format("{}: defines no recurrence", file));
  }
  return all;
}

std::string textOfLibrary(const std::string &file) {
  void *library = dlopen(std::filesystem::absolute(file).c_str(), RTLD_NOW);
  if (!library) {
    throw UserError(fmt::format("cannot load '{}': {}", file, dlerror()));
  }
  using Definitions = const char *(*)();
  auto definitions =
      reinterpret_cast<Definitions>(dlsym(library, "recurra_definitions"));
  if (!definitions) {
    throw UserError(fmt::format(
        "'{}' exports no recurra_definitions; write  extern \"C\" const char "
        "*recurra_definitions()  that returns toText of your recurrences",
        file));
  }
  const char *text = definitions();
  return text ? text : "";
}

/// Runs Python on the file with `texts` as its descriptor 3.
int runPython(const std::string &file, int texts) {
  std::string python = pythonProgram();
  pid_t child = fork();
  if (child == 0) {
    dup2(texts, 3);
    dup2(STDERR_FILENO, STDOUT_FILENO); // our stdout is the command's answer
    execlp(python.c_str(), python.c_str(), "-c", collector, file.c_str(),
           nullptr);
    fmt::print(stderr, "cannot run {}; set RECURRA_PYTHON\n", python);
    _exit(127);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

std::string textOfPython(const std::string &file) {
  readFile(file);
  std::FILE *texts = std::tmpfile();
  if (!texts) {
    throw UserError("cannot make a temporary file; is /tmp writable?");
  }
  int status = runPython(file, fileno(texts));
  std::string text;
  std::array<char, 4096> part;
  std::fseek(texts, 0, SEEK_SET);
  while (std::size_t count = std::fread(part.data(), 1, part.size(), texts)) {
    text.append(part.data(), count);
  }
  std::fclose(texts);
  if (status != 0) {
    throw UserError(fmt::format("'{}' failed in {}; its message is above", file,
                                pythonProgram()));
  }
  return text;
}

} // namespace

std::string pythonProgram() {
  if (const char *python = std::getenv("RECURRA_PYTHON")) {
    return python;
  }
  if (const char *environment = std::getenv("VIRTUAL_ENV")) {
    return std::string(environment) + "/bin/python";
  }
  std::error_code ignored;
  return std::filesystem::exists(RECURRA_BUILD_PYTHON, ignored)
             ? RECURRA_BUILD_PYTHON
             : "python3";
}

std::vector<Recurrence> loadDefinitions(const std::string &file) {
  std::string ending = std::filesystem::path(file).extension();
  if (ending == ".py") {
    return parseAll(textOfPython(file), file);
  }
  return parseAll(ending == ".so" ? textOfLibrary(file) : readFile(file), file);
}

} // namespace recurra::cli
