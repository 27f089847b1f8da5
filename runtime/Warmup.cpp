// Several kernels at once: a thread per kernel, as many as the machine has.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/SideBySide.h"
#include "dsl/Error.h"
#include "runtime/KernelCache.h"

#include <algorithm>
#include <atomic>
#include <thread>

namespace recurra {
namespace {

/// findKernel without exceptions, which may not leave a thread.
Status tryFind(const std::string &text, const std::string &specText) {
  try {
    const recurra_kernel *kernel = nullptr;
    return findKernel(text, specText, kernel);
  } catch (const UserError &error) {
    return {RECURRA_INVALID_DEFINITION, error.what()};
  } catch (const std::exception &error) {
    return {RECURRA_INTERNAL, error.what()};
  }
}

} // namespace

Status findKernels(const std::vector<std::string> &texts,
                   const std::vector<std::string> &specTexts) {
  std::vector<Status> results(texts.size());
  std::atomic<std::size_t> next{0};
  std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  sideBySide(std::min(cores, texts.size()), [&](std::size_t) {
    for (std::size_t i; (i = next++) < texts.size();) {
      results[i] = tryFind(texts[i], specTexts[i]);
    }
  });
  for (const Status &result : results) {
    if (!result.ok()) {
      return result;
    }
  }
  return {};
}

} // namespace recurra
