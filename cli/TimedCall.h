// A call of a recurrence's kernels, its tensors ready, to be run many times.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/CountingHost.h"
#include "cli/Sizes.h"
#include "dsl/Evaluate.h"
#include "runtime/HostTensor.h"
#include "runtime/Kernel.h"

namespace recurra::cli {

class TimedCall {
public:
  /// Compiles, and fills the inputs at random. `backward`: forward saves
  /// states, and a backward call follows.
  TimedCall(const Recurrence &recurrence, const Call &sizes,
            const SpecOptions &options, bool backward, int threads);

  void run();

  /// Of what the call makes: results, saved states, gradients, and what the
  /// runtime asks its host for; after a run.
  std::int64_t peakBytes() const;

private:
  struct Launch {
    Kernel kernel;
    std::vector<TensorView> tensors;
  };

  void prepare(const Recurrence &recurrence, const Spec &spec);
  HostTensor makeTensor(const std::string &kind, const std::string &name,
                        DType dtype, const std::vector<std::int64_t> &sizes);

  Call call;
  Values cotangents;
  std::map<std::string, HostTensor> tensors; ///< by "kind name"
  std::vector<Launch> launches;
  CountingHost host;
  std::int64_t resultBytes = 0;
};

} // namespace recurra::cli
