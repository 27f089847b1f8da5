// The sizes, types and target that a command compiles for, as options.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/Spec.h"
#include "dsl/Recurrence.h"

namespace CLI {
class App;
} // namespace CLI

namespace recurra::cli {

/// A size for every axis: that of `given` ("K=64"), else the number of entries
/// of an axis whose entries are read one by one, else `otherwise`. Throws
/// UserError for an axis that the recurrence lacks.
std::map<std::string, std::int64_t>
extentsOf(const Recurrence &recurrence, const std::vector<std::string> &given,
          std::int64_t otherwise);

/// Throws UserError that lists the dtypes.
DType dtypeOf(const std::string &spelling);

/// The options --size, --dtype, --arch of a command, and the Spec they make.
struct SpecOptions {
  std::vector<std::string> sizes;
  std::string dtype = "f32", arch = "native";

  void add(CLI::App &command);
  /// All inputs and outputs of the dtype; the outputs that are not optional;
  /// backward: the gradients of the inputs without a default.
  Spec spec(const Recurrence &recurrence, Direction direction) const;
};

} // namespace recurra::cli
