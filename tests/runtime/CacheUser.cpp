// A process that uses the cache: compiles and runs the running sum under the
// names given; exits with 1 if a result is wrong. Prints three numbers:
// compilations, disk hits, disk rejects. DOUBLE_VERSION: of the compiler.
// SPDX-License-Identifier: Apache-2.0
#include "RunningCall.h"
#include "runtime/Counters.h"

#include <cstdio>
#include <cstdlib>

using namespace recurra;

namespace {

bool runs(const std::string &name) {
  RunningCall call(2, 5, 3);
  Kernel::compile(runningSum(name), runningSpec())
      .launch(call.tensors, call.sizes());
  std::vector<float> y, final;
  call.expect(y, final);
  return call.y == y && call.final == final;
}

} // namespace

int main(int count, char **arguments) {
  if (const char *version = std::getenv("DOUBLE_VERSION")) {
    compilerDouble().version = version;
  }
  compilerDouble().milliseconds = 20;
  bool right = true;
  for (int i = 1; i < count; ++i) {
    right = runs(arguments[i]) && right;
  }
  std::printf("%ld %ld %ld\n", long(counters().compilations),
              long(counters().diskHits), long(counters().diskRejects));
  return right ? 0 : 1;
}
