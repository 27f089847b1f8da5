// HostTensor: conversions between double and the four dtypes.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/HostTensor.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace recurra {
namespace {

/// Bytes on either side: more than a vector, so that a load or store past the
/// end meets it.
constexpr std::size_t guard = 256;

/// bfloat16 as its bits: the upper half of a float, rounded to nearest even.
std::uint16_t toBfloat16(float value) {
  auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) {
    return static_cast<std::uint16_t>((bits >> 16) | 0x40);
  }
  return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

float fromBfloat16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

template <typename T>
void put(char *memory, std::size_t index, T value) {
  std::memcpy(memory + index * sizeof(T), &value, sizeof(T));
}

template <typename T>
T get(const char *memory, std::size_t index) {
  T value;
  std::memcpy(&value, memory + index * sizeof(T), sizeof(T));
  return value;
}

void encode(char *memory, std::size_t index, DType dtype, double value) {
  switch (dtype) {
  case DType::F64:
    return put(memory, index, value);
  case DType::F32:
    return put(memory, index, static_cast<float>(value));
  case DType::F16:
    return put(memory, index, static_cast<_Float16>(value));
  case DType::BF16:
    return put(memory, index, toBfloat16(static_cast<float>(value)));
  }
}

double decode(const char *memory, std::size_t index, DType dtype) {
  switch (dtype) {
  case DType::F64:
    return get<double>(memory, index);
  case DType::F32:
    return get<float>(memory, index);
  case DType::F16:
    return static_cast<double>(get<_Float16>(memory, index));
  case DType::BF16:
    return fromBfloat16(get<std::uint16_t>(memory, index));
  }
  return 0;
}

std::size_t elements(const std::vector<std::int64_t> &sizes) {
  std::size_t count = 1;
  for (std::int64_t size : sizes) {
    count *= static_cast<std::size_t>(size);
  }
  return count;
}

} // namespace

HostTensor::HostTensor(DType dtype, std::vector<std::int64_t> sizes)
    : dtype(dtype), sizes(std::move(sizes)),
      memory(elements(this->sizes) * sizeInBytes(dtype) + 2 * guard, '\xff') {}

HostTensor::HostTensor(DType dtype, const Array &array)
    : HostTensor(dtype, array.sizes) {
  for (std::size_t i = 0; i < array.values.size(); ++i) {
    encode(memory.data() + guard, i, dtype, array.values[i]);
  }
}

Array HostTensor::toArray() const {
  Array array{sizes, std::vector<double>(elements(sizes))};
  for (std::size_t i = 0; i < array.values.size(); ++i) {
    array.values[i] = decode(memory.data() + guard, i, dtype);
  }
  return array;
}

TensorView HostTensor::view() {
  return TensorView::dense(memory.data() + guard, dtype, sizes);
}

std::string HostTensor::bytes() const {
  return memory.substr(guard, memory.size() - 2 * guard);
}

bool HostTensor::guardsIntact() const {
  std::string untouched(guard, '\xff');
  return memory.compare(0, guard, untouched) == 0 &&
         memory.compare(memory.size() - guard, guard, untouched) == 0;
}

Array rounded(const Array &array, DType dtype) {
  return HostTensor(dtype, array).toArray();
}

} // namespace recurra
