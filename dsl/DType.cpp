// Names and sizes of the element types.
// SPDX-License-Identifier: Apache-2.0
#include "dsl/DType.h"

#include <array>
#include <utility>

namespace recurra {
namespace {

struct Row {
  DType type;
  std::string_view spelling, longSpelling;
  std::size_t bytes;
};

constexpr std::array<Row, 4> table{{{DType::F32, "f32", "float32", 4},
                                    {DType::F64, "f64", "float64", 8},
                                    {DType::F16, "f16", "float16", 2},
                                    {DType::BF16, "bf16", "bfloat16", 2}}};

} // namespace

std::string_view name(DType type) {
  return table[static_cast<std::size_t>(type)].spelling;
}

std::string_view longName(DType type) {
  return table[static_cast<std::size_t>(type)].longSpelling;
}

std::size_t sizeInBytes(DType type) {
  return table[static_cast<std::size_t>(type)].bytes;
}

std::optional<DType> parseDType(std::string_view spelling) {
  for (const Row &row : table) {
    if (row.spelling == spelling || row.longSpelling == spelling) {
      return row.type;
    }
  }
  return std::nullopt;
}

} // namespace recurra
