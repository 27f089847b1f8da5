// The C door for C++ callers: handles become objects, failures UserError.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/Spec.h"
#include "dsl/Recurrence.h"
#include "runtime/TensorView.h"
#include "runtime/recurra.h"

namespace recurra {

class Kernel {
public:
  /// Compiles, or finds in a cache. Throws UserError with the door's words.
  static Kernel compile(const Recurrence &recurrence, const Spec &spec);

  /// What the compiler declined, and why; one remark a line.
  const std::string &remarks() const { return remarkText; }

  /// The object file of the code that runs.
  std::string object() const;

  /// Tensors in the order of describeKernel's "arguments", with any strides;
  /// checkpoints are dense and begin at a multiple of 8 bytes. `host` may be
  /// null.
  void launch(const std::vector<TensorView> &tensors,
              const recurra_sizes &sizes,
              const recurra_host *host = nullptr) const;

private:
  recurra_kernel *handle = nullptr;
  std::string remarkText;
};

/// The JSON of recurra_describe.
std::string describeKernel(const Recurrence &recurrence, const Spec &spec);

/// The text of one stage, as recurra_inspect.
std::string inspectKernel(const Recurrence &recurrence, const Spec &spec,
                          const std::string &stage);

/// Compiles the specs of one recurrence on several threads.
void warmup(const Recurrence &recurrence, const std::vector<Spec> &specs);

} // namespace recurra
