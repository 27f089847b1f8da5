// A dense tensor in plain memory, to and from the oracle's arrays of doubles.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dsl/Evaluate.h"
#include "runtime/TensorView.h"

#include <string>

namespace recurra {

class HostTensor {
public:
  /// Every byte 0xff: NaN in each dtype, so that what nobody writes shows.
  HostTensor(DType dtype, std::vector<std::int64_t> sizes);

  /// The array's values, rounded to nearest even.
  HostTensor(DType dtype, const Array &array);

  Array toArray() const;
  TensorView view();
  const std::string &bytes() const { return memory; }

private:
  DType dtype;
  std::vector<std::int64_t> sizes;
  std::string memory;
};

/// What remains of an array's values in a tensor of `dtype`.
Array rounded(const Array &array, DType dtype);

} // namespace recurra
