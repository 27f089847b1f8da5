// HostTensor: conversions between double and the four dtypes.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/HostTensor.h"

#include <algorithm>
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
void put(char *memory, T value) {
  std::memcpy(memory, &value, sizeof(T));
}

template <typename T>
T get(const char *memory) {
  T value;
  std::memcpy(&value, memory, sizeof(T));
  return value;
}

void encode(char *memory, DType dtype, double value) {
  switch (dtype) {
  case DType::F64:
    return put(memory, value);
  case DType::F32:
    return put(memory, static_cast<float>(value));
  case DType::F16:
    return put(memory, static_cast<_Float16>(value));
  case DType::BF16:
    return put(memory, toBfloat16(static_cast<float>(value)));
  }
}

double decode(const char *memory, DType dtype) {
  switch (dtype) {
  case DType::F64:
    return get<double>(memory);
  case DType::F32:
    return get<float>(memory);
  case DType::F16:
    return static_cast<double>(get<_Float16>(memory));
  case DType::BF16:
    return fromBfloat16(get<std::uint16_t>(memory));
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

HostTensor::HostTensor(DType dtype, std::vector<std::int64_t> sizes,
                       std::int64_t gap)
    : dtype(dtype), sizes(std::move(sizes)),
      line(this->sizes.empty() ? 1
                               : std::max<std::int64_t>(this->sizes.back(), 1)),
      gap(gap) {
  std::size_t lines = elements(this->sizes) / line;
  memory.assign(lines * (line + gap) * sizeInBytes(dtype) + 2 * guard, '\xff');
}

HostTensor::HostTensor(DType dtype, const Array &array, std::int64_t gap)
    : HostTensor(dtype, array.sizes, gap) {
  for (std::size_t i = 0; i < array.values.size(); ++i) {
    encode(memory.data() + offset(i), dtype, array.values[i]);
  }
}

std::size_t HostTensor::offset(std::size_t index) const {
  return guard + (index + index / line * gap) * sizeInBytes(dtype);
}

Array HostTensor::toArray() const {
  Array array{sizes, std::vector<double>(elements(sizes))};
  for (std::size_t i = 0; i < array.values.size(); ++i) {
    array.values[i] = decode(memory.data() + offset(i), dtype);
  }
  return array;
}

TensorView HostTensor::view() {
  TensorView view = TensorView::dense(memory.data() + guard, dtype, sizes);
  std::int64_t stride = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    view.strides[i] = stride;
    stride *= i + 1 == sizes.size() ? line + gap : sizes[i];
  }
  return view;
}

std::string HostTensor::bytes() const {
  std::string result;
  std::size_t lineBytes = line * sizeInBytes(dtype);
  for (std::size_t i = 0; i < elements(sizes); i += line) {
    result += memory.substr(offset(i), lineBytes);
  }
  return result;
}

bool HostTensor::guardsIntact() const {
  std::string rest = memory;
  std::size_t lineBytes = line * sizeInBytes(dtype);
  for (std::size_t i = 0; i < elements(sizes); i += line) {
    std::fill_n(rest.begin() + offset(i), lineBytes, '\xff');
  }
  return rest.find_first_not_of('\xff') == std::string::npos;
}

Array rounded(const Array &array, DType dtype) {
  return HostTensor(dtype, array).toArray();
}

} // namespace recurra
