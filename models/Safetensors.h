// The safetensors file format: a length, a JSON header, raw little-endian data.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace recurra {

/// A tensor as the format sees it; `data` belongs to someone else.
struct RawTensor {
  std::string dtype; ///< "F32", "F64", "F16", "BF16", "I64", ..
  std::vector<int64_t> shape;
  std::string_view data;
};

using Metadata = std::map<std::string, std::string>;

/// Writes `path` and waits until it is on the disk. Tensors are laid out in the
/// order of their names. Throws UserError naming the file.
void writeSafetensors(const std::string &path,
                      const std::map<std::string, RawTensor> &tensors,
                      const Metadata &metadata);

/// A file in memory. Reading checks the header and every range against the
/// file's size; a damaged file throws UserError.
class SafetensorsFile {
public:
  explicit SafetensorsFile(const std::string &path);
  SafetensorsFile(const SafetensorsFile &) = delete;

  const std::map<std::string, RawTensor> &tensors() const { return entries; }
  const Metadata &metadata() const { return notes; }
  const std::string &path() const { return filePath; }

private:
  void readHeader(std::string_view header, std::string_view data);

  std::string filePath, bytes;
  std::map<std::string, RawTensor> entries;
  Metadata notes;
};

} // namespace recurra
