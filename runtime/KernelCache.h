// From text and spec to a loaded kernel: memory, then disk, then the compiler.
// Several threads that ask for one kernel wait for one compilation.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/LoadedKernel.h"
#include "runtime/Status.h"

namespace recurra {

/// The door's two texts to a kernel. On success `kernel` is set, and the
/// message holds the remarks. Throws UserError if the definition does not
/// parse.
Status findKernel(const std::string &text, const std::string &specText,
                  const recurra_kernel *&kernel);

/// Finds many at once, on threads of their own; returns the first failure.
Status findKernels(const std::vector<std::string> &texts,
                   const std::vector<std::string> &specTexts);

/// The key of the caches: equal keys get one kernel.
std::string cacheKey(const std::string &canonicalText, const Spec &spec);

} // namespace recurra
