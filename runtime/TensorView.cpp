// TensorView: strides of dense memory.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/TensorView.h"

namespace recurra {

TensorView TensorView::dense(void *data, DType dtype,
                             std::vector<std::int64_t> sizes) {
  std::vector<std::int64_t> strides(sizes.size());
  std::int64_t stride = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= sizes[i];
  }
  return {data, dtype, std::move(sizes), std::move(strides)};
}

} // namespace recurra
