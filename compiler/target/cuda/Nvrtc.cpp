// NVRTC by dlopen; its ten functions are declared here.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/Nvrtc.h"

#include <cstdlib>
#include <dlfcn.h>
#include <link.h>
#include <vector>

namespace recurra::cuda {

namespace {

using Program = void *;

struct Functions {
  int (*version)(int *, int *) = nullptr;
  const char *(*errorString)(int) = nullptr;
  int (*create)(Program *, const char *, const char *, int, const char *const *,
                const char *const *) = nullptr;
  int (*destroy)(Program *) = nullptr;
  int (*compile)(Program, int, const char *const *) = nullptr;
  int (*logSize)(Program, std::size_t *) = nullptr;
  int (*log)(Program, char *) = nullptr;
  int (*cubinSize)(Program, std::size_t *) = nullptr;
  int (*cubin)(Program, char *) = nullptr;
  int (*ptxSize)(Program, std::size_t *) = nullptr;
  int (*ptx)(Program, char *) = nullptr;
};

template <typename Function>
bool find(void *library, const char *name, Function &function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

bool findAll(void *library, Functions &f) {
  return find(library, "nvrtcVersion", f.version) &&
         find(library, "nvrtcGetErrorString", f.errorString) &&
         find(library, "nvrtcCreateProgram", f.create) &&
         find(library, "nvrtcDestroyProgram", f.destroy) &&
         find(library, "nvrtcCompileProgram", f.compile) &&
         find(library, "nvrtcGetProgramLogSize", f.logSize) &&
         find(library, "nvrtcGetProgramLog", f.log) &&
         find(library, "nvrtcGetCUBINSize", f.cubinSize) &&
         find(library, "nvrtcGetCUBIN", f.cubin) &&
         find(library, "nvrtcGetPTXSize", f.ptxSize) &&
         find(library, "nvrtcGetPTX", f.ptx);
}

//===----------------------------------------------------------------------===//
// Where it may be
//===----------------------------------------------------------------------===//

constexpr const char *names[] = {"libnvrtc.so.13", "libnvrtc.so.12",
                                 "libnvrtc.so"};

void addFolder(std::vector<std::string> &paths, const std::string &folder) {
  for (const char *name : names) {
    paths.push_back(folder + "/" + name);
  }
}

/// Wheels keep it in site-packages/nvidia/*/lib; torch is in
/// site-packages/torch/lib, and so may this library's own folder be anywhere
/// below site-packages.
void addWheels(std::vector<std::string> &paths, std::string folder) {
  for (std::size_t slash = folder.rfind('/'); slash != std::string::npos;
       slash = folder.rfind('/')) {
    folder.resize(slash);
    if (folder.ends_with("site-packages")) {
      addFolder(paths, folder + "/nvidia/cu13/lib");
      addFolder(paths, folder + "/nvidia/cuda_nvrtc/lib");
    }
  }
}

/// Of every library in the process: this one and torch's may be in
/// site-packages.
void addNeighbours(std::vector<std::string> &paths) {
  dl_iterate_phdr(
      [](dl_phdr_info *info, std::size_t, void *data) {
        std::string path = info->dlpi_name ? info->dlpi_name : "";
        if (path.find("/site-packages/") != std::string::npos) {
          addWheels(*static_cast<std::vector<std::string> *>(data), path);
        }
        return 0;
      },
      &paths);
}

std::vector<std::string> candidates() {
  std::vector<std::string> paths;
  if (const char *given = std::getenv("RECURRA_NVRTC")) {
    paths.emplace_back(given);
    addFolder(paths, given);
  }
  paths.insert(paths.end(), std::begin(names), std::end(names));
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const char *home = std::getenv(variable)) {
      addFolder(paths, std::string(home) + "/lib64");
    }
  }
  addFolder(paths, "/usr/local/cuda/lib64");
  addNeighbours(paths);
  if (const char *environment = std::getenv("VIRTUAL_ENV")) {
    for (const char *python : {"3.10", "3.11", "3.12", "3.13", "3.14"}) {
      addWheels(paths, std::string(environment) + "/lib/python" + python +
                           "/site-packages/torch");
    }
  }
  return paths;
}

const Functions *load() {
  static const Functions *loaded = []() -> const Functions * {
    for (const std::string &path : candidates()) {
      static Functions functions;
      void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (library && findAll(library, functions)) {
        return &functions;
      }
    }
    return nullptr;
  }();
  return loaded;
}

std::string logOf(const Functions &f, Program program) {
  std::size_t size = 0;
  f.logSize(program, &size);
  std::string log(size, '\0');
  f.log(program, log.data());
  while (!log.empty() && log.back() == '\0') {
    log.pop_back();
  }
  return log;
}

bool take(const Functions &f, Program program, bool isPtx, std::string &code) {
  std::size_t size = 0;
  if ((isPtx ? f.ptxSize : f.cubinSize)(program, &size) != 0) {
    return false;
  }
  code.assign(size, '\0');
  return (isPtx ? f.ptx : f.cubin)(program, code.data()) == 0;
}

} // namespace

bool compileCuda(const std::string &source, const std::string &arch, bool isPtx,
                 Compiled &compiled, std::string &message) {
  const Functions *f = load();
  if (!f) {
    message = "CUDA kernels are compiled by NVRTC (libnvrtc.so.13), which was "
              "not found. Install it (pip install nvidia-cuda-nvrtc, or the "
              "CUDA toolkit), or set RECURRA_NVRTC to its path";
    return false;
  }
  Program program = nullptr;
  f->create(&program, source.c_str(), "recurra.cu", 0, nullptr, nullptr);
  std::string target = "--gpu-architecture=" + arch;
  const char *options[] = {target.c_str(), "--std=c++17", "-default-device",
                           "--ptxas-options=-v"};
  int status = f->compile(program, std::size(options), options);
  compiled.log = logOf(*f, program);
  bool done = status == 0 && take(*f, program, isPtx, compiled.code);
  if (!done) {
    message = "NVRTC, for " + arch + ": " + f->errorString(status) + "\n" +
              compiled.log;
  }
  f->destroy(&program);
  return done;
}

std::string nvrtcVersion() {
  const Functions *f = load();
  int major = 0, minor = 0;
  if (!f || f->version(&major, &minor) != 0) {
    return "";
  }
  return std::to_string(major) + "." + std::to_string(minor);
}

} // namespace recurra::cuda
