// The element types of tensors; the only such list in the project.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace recurra {

enum class DType { F32, F64, F16, BF16 };

/// "f32", "f64", "f16", "bf16": the spelling of MLIR and of the canonical text.
std::string_view name(DType type);

/// Bytes of one element.
std::size_t sizeInBytes(DType type);

/// "float32", "float64", "float16", "bfloat16": the spelling of torch.
std::string_view longName(DType type);

/// From either spelling; nothing if it is unknown.
std::optional<DType> parseDType(std::string_view spelling);

} // namespace recurra
