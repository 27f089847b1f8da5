// recurra cache: where compiled kernels are kept, how large, and clearing.
// SPDX-License-Identifier: Apache-2.0
#include "cli/About.h"
#include "cli/Session.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fmt/format.h>

namespace recurra::cli {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> entriesIn(const std::string &folder) {
  std::vector<fs::path> entries;
  std::error_code missing;
  for (const auto &entry : fs::directory_iterator(folder, missing)) {
    if (entry.is_regular_file()) {
      entries.push_back(entry.path());
    }
  }
  return entries;
}

void cache(const Session &session, bool clear) {
  Json about = aboutRuntime();
  std::string folder = about["cache_dir"];
  std::size_t removed = 0;
  if (clear) {
    for (const fs::path &entry : entriesIn(folder)) {
      removed += fs::remove(entry);
    }
    about = aboutRuntime();
  }
  std::size_t entries = entriesIn(folder).size();
  std::int64_t bytes = about["cache_bytes"], limit = about["cache_limit_bytes"];
  session.answer(
      {{"directory", folder},
       {"entries", entries},
       {"bytes", bytes},
       {"limit_bytes", limit},
       {"removed", removed}},
      fmt::format("{}: {} kernels, {:.1f} of {:.0f} MiB{}\n", folder, entries,
                  double(bytes) / (1 << 20), double(limit) / (1 << 20),
                  clear ? fmt::format(", {} removed", removed) : ""));
}

} // namespace

void addCache(CLI::App &app, Session &session) {
  CLI::App *command =
      app.add_subcommand("cache", "the compiled kernels kept on disk");
  auto clear = std::make_shared<bool>(false);
  command->add_flag("--clear", *clear, "remove them; they are made again");
  command->footer("RECURRA_CACHE_DIR says where, RECURRA_CACHE_LIMIT (bytes) "
                  "how much at most.");
  command->callback([&session, clear] { cache(session, *clear); });
}

} // namespace recurra::cli
