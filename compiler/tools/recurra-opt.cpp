// mlir-opt for our dialects, passes and phases. `--hide-rec` and `--hide-chunk`
// leave a dialect unregistered: a leak between levels is then a parse error.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Pipeline.h"
#include "llvm/ADT/STLExtras.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

using namespace mlir;

int main(int argc, char **argv) {
  std::vector<char *> arguments(argv, argv + argc);
  std::vector<std::string> hidden;
  llvm::erase_if(arguments, [&](llvm::StringRef argument) {
    if (argument.consume_front("--hide-")) {
      hidden.push_back(argument.str());
      return true;
    }
    return false;
  });
  DialectRegistry registry;
  recurra::registerDialects(registry, hidden);
  recurra::registerPasses();
  return asMainReturnCode(
      MlirOptMain(static_cast<int>(arguments.size()), arguments.data(),
                  "Recurra's optimizer driver\n", registry));
}
