// Compiles the text of a chunk module for a CPU, loads the object with ORC and
// runs it on arrays, with poison all around.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/Artifact.h"
#include "compiler/KernelAbi.h"
#include "dsl/Evaluate.h"

#include <memory>

namespace llvm::orc {
class LLJIT;
} // namespace llvm::orc

namespace recurra {

struct KernelSizes {
  std::int64_t rows = 1, tokens = 0, heads = 1, group = 1;
  std::vector<std::int64_t> offsets;
  std::int64_t sequences() const {
    return offsets.empty() ? rows
                           : static_cast<std::int64_t>(offsets.size()) - 1;
  }
};

/// Memory of one tensor: contiguous, or, if `spread`, with strides of its own
/// (not unit in the last axis); surrounded by NaN either way.
class Tensor {
public:
  /// `shift`: elements by which it starts later; `gap`: elements left free
  /// between entries of the first dimension.
  Tensor(DType dtype, std::vector<std::int64_t> sizes, bool spread,
         std::int64_t shift = 0, std::int64_t gap = 0);
  void write(const std::vector<double> &values);
  std::vector<double> read() const;
  /// The poison is as it was.
  bool isIntact() const;
  KernelBuffer buffer() const;

private:
  std::int64_t offset(std::int64_t index) const;
  DType dtype;
  std::vector<std::int64_t> sizes, strides;
  std::int64_t first = 0, bytes = 0;
  std::vector<char> memory, original;
};

class KernelRun {
public:
  /// `error` is set on failure.
  KernelRun(const std::string &text, const std::string &arch,
            bool withAssembly = false);
  ~KernelRun();

  /// Fills outputs, given the inputs (matched by kind and name).
  Arrays run(const KernelSizes &sizes,
             const std::map<std::string, Array> &given, bool spread = false);

  /// Tasks in pieces of `piece`, from the last to the first.
  std::int64_t piece = 1 << 20;

  std::string error;
  Artifact artifact;
  std::string assembly;

private:
  std::int64_t count(const std::string &size, const KernelSizes &sizes) const;
  void load();

  std::unique_ptr<llvm::orc::LLJIT> jit;
  std::vector<NestEntry> entries;
};

/// "KIND NAME" of an argument: what `KernelRun::run` takes and gives.
std::string keyOf(const Argument &argument);

} // namespace recurra
