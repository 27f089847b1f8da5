// Runs nvdisasm, else cuobjdump, on a temporary file.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/Disassemble.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <optional>

using namespace llvm;

namespace recurra::cuda {

static std::string findTool(StringRef name) {
  if (auto found = sys::findProgramByName(name)) {
    return *found;
  }
  SmallVector<std::string> folders{"/usr/local/cuda/bin"};
  if (const char *home = std::getenv("CUDA_HOME")) {
    folders.insert(folders.begin(), std::string(home) + "/bin");
  }
  for (const std::string &folder : folders) {
    std::string path = folder + "/" + name.str();
    if (sys::fs::can_execute(path)) {
      return path;
    }
  }
  return "";
}

bool disassemble(const std::string &cubin, std::string &text,
                 std::string &message) {
  std::string tool = findTool("nvdisasm"), option = "--print-code";
  if (tool.empty()) {
    tool = findTool("cuobjdump");
    option = "--dump-sass";
  }
  if (tool.empty()) {
    message = "stage sass needs nvdisasm or cuobjdump, and found neither: "
              "install the CUDA toolkit (or pip install nvidia-cuda-nvdisasm) "
              "and put it on PATH";
    return false;
  }
  int file = 0;
  SmallString<128> input, output;
  if (sys::fs::createTemporaryFile("recurra", "cubin", file, input) ||
      sys::fs::createTemporaryFile("recurra", "sass", output)) {
    message = "cannot write a temporary file";
    return false;
  }
  scope_exit remove([&] {
    sys::fs::remove(input);
    sys::fs::remove(output);
  });
  raw_fd_ostream(file, /*shouldClose=*/true) << cubin;
  std::optional<StringRef> redirects[] = {std::nullopt, StringRef(output),
                                          std::nullopt};
  int status =
      sys::ExecuteAndWait(tool, {tool, option, input}, std::nullopt, redirects);
  auto result = MemoryBuffer::getFile(output);
  if (status != 0 || !result) {
    message = tool + " failed";
    return false;
  }
  text = (*result)->getBuffer().str();
  return true;
}

} // namespace recurra::cuda
