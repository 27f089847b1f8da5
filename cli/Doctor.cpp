// recurra doctor: what this machine offers, what is missing, what to do.
// SPDX-License-Identifier: Apache-2.0
#include "cli/About.h"
#include "cli/Load.h"
#include "runtime/recurra.h"

#include <CLI/CLI.hpp>
#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>

namespace recurra::cli {
namespace {

std::string processorName() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("model name", 0) == 0) {
      return line.substr(line.find(": ") + 2);
    }
  }
  return "";
}

/// The version of the torch that the ops and models were built with, if it is
/// there: its version.py says  __version__ = '2.11.0'.
Json torchVersion() {
#ifdef RECURRA_TORCH_DIR
  std::ifstream file(RECURRA_TORCH_DIR "/version.py");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("__version__", 0) == 0) {
      std::size_t start = line.find('\'') + 1;
      return line.substr(start, line.find('\'', start) - start);
    }
  }
#endif
  return nullptr;
}

/// NVRTC's version: from torch's folder, the toolkit, or the system.
Json nvrtcVersion() {
  std::vector<std::string> places;
#ifdef RECURRA_TORCH_DIR
  places.push_back(RECURRA_TORCH_DIR "/../nvidia/cu13/lib/libnvrtc.so.13");
#endif
  if (const char *home = std::getenv("CUDA_HOME")) {
    places.push_back(std::string(home) + "/lib64/libnvrtc.so");
  }
  places.push_back("libnvrtc.so.13");
  for (const std::string &place : places) {
    void *library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      continue;
    }
    using Version = int (*)(int *, int *);
    auto version = reinterpret_cast<Version>(dlsym(library, "nvrtcVersion"));
    int major = 0, minor = 0;
    if (version && version(&major, &minor) == 0) {
      return fmt::format("{}.{}", major, minor);
    }
  }
  return nullptr;
}

/// The first GPU's name by the driver, if there are both.
Json gpuName() {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!driver) {
    return nullptr;
  }
  auto init = reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"));
  auto get =
      reinterpret_cast<int (*)(int *, int)>(dlsym(driver, "cuDeviceGet"));
  auto name = reinterpret_cast<int (*)(char *, int, int)>(
      dlsym(driver, "cuDeviceGetName"));
  char text[256] = "";
  int device = 0;
  if (!init || !get || !name || init(0) || get(&device, 0) ||
      name(text, sizeof text, device)) {
    return nullptr;
  }
  return text;
}

struct Remedy {
  const char *what, *remedy;
};

constexpr Remedy remedies[] = {
    {"torch", "this build has no torch ops and no `train`; run ./dev setup, "
              "then ./dev build"},
    {"nvrtc", "only needed for GPUs; it comes with torch, or set CUDA_HOME"},
    {"gpu", "no NVIDIA driver or GPU; kernels run on the CPU"},
};

void doctor(const Session &session) {
  Json about = aboutRuntime();
  Json found = {{"cpu", processorName()},    {"isa", about["isa"]},
                {"torch", torchVersion()},   {"llvm", about["llvm"]},
                {"nvrtc", nvrtcVersion()},   {"gpu", gpuName()},
                {"python", pythonProgram()}, {"cache", about["cache_dir"]}};
  Json missing = Json::array();
  std::string text;
  for (const auto &[key, value] : found.items()) {
    text += fmt::format("{:8}{}\n", key,
                        value.is_null() ? "-" : value.get<std::string>());
  }
  for (const Remedy &remedy : remedies) {
    if (found[remedy.what].is_null()) {
      missing.push_back({{"what", remedy.what}, {"remedy", remedy.remedy}});
      text += fmt::format("missing {}: {}\n", remedy.what, remedy.remedy);
    }
  }
  found["missing"] = missing;
  session.answer(found, text);
}

} // namespace

Json aboutRuntime() {
  recurra_string *text = recurra_about();
  Json about = Json::parse(recurra_string_data(text));
  recurra_string_free(text);
  return about;
}

std::string versionText() {
  Json about = aboutRuntime();
  return fmt::format("recurra {} (LLVM {})",
                     about["version"].get<std::string>(),
                     about["llvm"].get<std::string>());
}

void addDoctor(CLI::App &app, Session &session) {
  CLI::App *command = app.add_subcommand(
      "doctor", "what this machine offers, what is missing, what to do");
  command->callback([&session] { doctor(session); });
}

} // namespace recurra::cli
