// Runs the CUDA text of a chunk module on the host, by emulation: what there is
// to judge its numbers by where there is no GPU.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/compiler/target/KernelRun.h"

namespace recurra {

class CudaRun {
public:
  /// `error` is set on failure, also if `isScan` and the text has no scan form.
  /// `spanTokens`: of a span, if not the usual number. `counted`: text behind
  /// which `counts` counts.
  explicit CudaRun(const std::string &text, bool isScan = false,
                   std::int64_t spanTokens = 0,
                   const std::string &counted = "");
  ~CudaRun();

  /// As KernelRun::run, on a grid of `blocks` blocks.
  Arrays run(const KernelSizes &sizes, const Arrays &given, bool spread,
             unsigned blocks);

  /// How often all threads came to the text that is counted.
  std::int64_t counts() const;

  /// Of every second tensor, the first one not: as Tensor's.
  std::int64_t shift = 0, gap = 0;

  std::string error, source;
  std::int64_t checkpointInterval = 0;
  std::int64_t spanTokens = 0; ///< 0: a task walks all of a sequence
  bool hasParts = false;
  std::int64_t partBits = 0; ///< as CallSizes has it

private:
  using Entry = void (*)(const void *buffers, const void *shape,
                         std::int64_t tasks, char *scratch, unsigned blocks);
  std::int64_t count(const std::string &size, const KernelSizes &sizes) const;
  std::vector<Tensor> tensorsOf(const KernelSizes &sizes, const Arrays &given,
                                bool spread) const;
  void build();

  std::vector<Argument> arguments;
  std::vector<Workspace> workspaces;
  std::vector<Nest> nests;
  std::vector<Entry> entries;
  void *library = nullptr;
};

/// Each expected array against the one that a run left for its argument.
void compare(const Arrays &given, const Arrays &expected, Argument::Kind kind,
             double tolerance);

} // namespace recurra
