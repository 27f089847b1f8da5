// One call of the compiled kernels on the oracle's arrays: what the numeric
// suite and `recurra check` compare.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/Spec.h"
#include "dsl/Evaluate.h"
#include "runtime/RowError.h"
#include "runtime/recurra.h"

namespace recurra {

/// What to run. Inputs without an entry in `dtypes` are of `dtype`, as are
/// outputs; states are of the dtype that the definition says.
struct Trial {
  const Recurrence *recurrence = nullptr;
  Call call; ///< every input given; the states given are arguments
  DType dtype = DType::F32;
  std::map<std::string, DType> dtypes;
  std::string arch = "native";
  /// Elements of NaN between the lines of every tensor but the checkpoints.
  std::int64_t gap = 0;
  /// Cotangents of outputs and final states; those absent have none. Empty:
  /// forward only.
  Values cotangents;
  /// Inputs and states; only states that the call gives.
  std::vector<std::string> gradients;

  DType dtypeOf(const std::string &name) const;
  DType stateType(const std::string &name) const;
  /// The call's arrays as the dtypes hold them.
  Call rounded() const;
  Values roundedCotangents() const;
  bool backward() const;
  Spec spec(Direction direction) const;
};

struct TrialResult {
  Values values;
  Gradients gradients;
  /// By the oracle only: gradients of head and scalar inputs for other
  /// cotangents, which tell their usual size.
  Arrays otherGradients;
};

/// By the kernels: forward, then backward if there are cotangents. Throws
/// UserError, also when a kernel writes outside its tensors. `host` may be
/// null.
TrialResult runKernels(const Trial &trial, const recurra_host *host = nullptr);

/// By the oracle, on the rounded arrays.
TrialResult runOracle(const Trial &trial);

/// One tensor of a result against the oracle's. `what` is "output o", "final
/// state M", "gradient q", "gradient of initial state M".
struct Comparison {
  std::string what;
  RowError worst;
  double bound = 0;
  bool passed() const { return worst.error <= bound; }
};

/// Every tensor that the kernels gave, in declared order.
std::vector<Comparison> compare(const Trial &trial, const TrialResult &kernels,
                                const TrialResult &oracle);

/// "output o: error 3.1e-05 exceeds 2e-05 at batch 0, token 12, head 1".
std::string toText(const Comparison &comparison);

} // namespace recurra
