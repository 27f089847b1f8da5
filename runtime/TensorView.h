// A tensor as a call sees it: memory, dtype, sizes, strides.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dsl/DType.h"

#include <cstdint>
#include <vector>

namespace recurra {

/// A strided tensor that somebody else owns; strides in elements.
struct TensorView {
  void *data = nullptr;
  DType dtype = DType::F32;
  std::vector<std::int64_t> sizes, strides;

  /// Row-major.
  static TensorView dense(void *data, DType dtype,
                          std::vector<std::int64_t> sizes);
};

} // namespace recurra
