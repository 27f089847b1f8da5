// A dense tensor in plain memory between two guards of NaN, to and from the
// oracle's arrays of doubles.
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
  /// The elements' bytes.
  std::string bytes() const;
  /// Whether nobody has written just before or behind the elements.
  bool guardsIntact() const;

private:
  DType dtype;
  std::vector<std::int64_t> sizes;
  std::string memory;
};

/// What remains of an array's values in a tensor of `dtype`.
Array rounded(const Array &array, DType dtype);

} // namespace recurra
