// A tensor in plain memory, surrounded by NaN, to and from the oracle's arrays.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dsl/Evaluate.h"
#include "runtime/TensorView.h"

#include <string>

namespace recurra {

class HostTensor {
public:
  /// Every byte 0xff: NaN in each dtype, so that what nobody writes shows. The
  /// lines of the last dimension stand `gap` elements of NaN apart.
  HostTensor(DType dtype, std::vector<std::int64_t> sizes,
             std::int64_t gap = 0);

  /// The array's values, rounded to nearest even.
  HostTensor(DType dtype, const Array &array, std::int64_t gap = 0);

  Array toArray() const;
  TensorView view();
  /// The elements' bytes.
  std::string bytes() const;
  /// Whether nobody has written before, between or behind the lines.
  bool guardsIntact() const;

private:
  DType dtype;
  std::vector<std::int64_t> sizes;
  std::size_t line, gap; ///< in elements
  std::string memory;

  /// Where the element with this row-major index starts.
  std::size_t offset(std::size_t index) const;
};

/// What remains of an array's values in a tensor of `dtype`.
Array rounded(const Array &array, DType dtype);

} // namespace recurra
