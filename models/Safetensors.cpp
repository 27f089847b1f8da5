// Reads and writes safetensors files.
// SPDX-License-Identifier: Apache-2.0
#include "models/Safetensors.h"

#include "dsl/Error.h"
#include "models/Folder.h"

#include <bit>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>
#include <utility>

static_assert(std::endian::native == std::endian::little,
              "safetensors data is little-endian");

namespace recurra {
namespace {

using Json = nlohmann::json;

[[noreturn]] void failWriting(const std::string &path) {
  throw UserError("cannot write " + path + ": " + std::strerror(errno));
}

/// A file descriptor that writes everything or throws.
class SyncedFile {
public:
  explicit SyncedFile(const std::string &path)
      : path(path),
        descriptor(::open(path.c_str(),
                          O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)) {
    if (descriptor < 0) {
      failWriting(path);
    }
  }
  ~SyncedFile() {
    if (descriptor >= 0) {
      ::close(descriptor);
    }
  }
  SyncedFile(const SyncedFile &) = delete;

  void write(std::string_view data) {
    while (!data.empty()) {
      const ssize_t count = ::write(descriptor, data.data(), data.size());
      if (count < 0 && errno != EINTR) {
        failWriting(path);
      }
      data.remove_prefix(count < 0 ? 0 : size_t(count));
    }
  }

  void finish() {
    if (::fsync(descriptor) != 0 || ::close(std::exchange(descriptor, -1))) {
      failWriting(path);
    }
  }

private:
  std::string path;
  int descriptor;
};

uint64_t elementBytes(const std::string &dtype) {
  static const std::map<std::string, uint64_t> sizes = {
      {"F64", 8}, {"F32", 4}, {"F16", 2}, {"BF16", 2}, {"I64", 8},
      {"I32", 4}, {"I16", 2}, {"I8", 1},  {"U8", 1},   {"BOOL", 1},
      {"U16", 2}, {"U32", 4}, {"U64", 8}};
  const auto found = sizes.find(dtype);
  return found == sizes.end() ? 0 : found->second;
}

} // namespace

void writeSafetensors(const std::string &path,
                      const std::map<std::string, RawTensor> &tensors,
                      const Metadata &metadata) {
  Json header = Json::object();
  header["__metadata__"] = metadata;
  uint64_t offset = 0;
  for (const auto &[name, tensor] : tensors) {
    const uint64_t end = offset + tensor.data.size();
    header[name] = {{"dtype", tensor.dtype},
                    {"shape", tensor.shape},
                    {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' '); // data starts aligned
  const uint64_t length = text.size();
  SyncedFile file(path);
  file.write({reinterpret_cast<const char *>(&length), sizeof length});
  file.write(text);
  for (const auto &[name, tensor] : tensors) {
    file.write(tensor.data);
  }
  file.finish();
}

SafetensorsFile::SafetensorsFile(const std::string &path)
    : filePath(path), bytes(readFile(path)) {
  uint64_t length = 0;
  std::string_view rest = bytes;
  if (rest.size() >= sizeof length) {
    std::memcpy(&length, rest.data(), sizeof length);
    rest.remove_prefix(sizeof length);
  }
  if (length == 0 || length > rest.size()) {
    throw UserError(path +
                    " is not a complete safetensors file: its header of " +
                    std::to_string(length) + " bytes does not fit");
  }
  try {
    readHeader(rest.substr(0, length), rest.substr(length));
  } catch (const Json::exception &error) {
    throw UserError(path +
                    " has a damaged safetensors header: " + error.what());
  }
}

void SafetensorsFile::readHeader(std::string_view header,
                                 std::string_view data) {
  const Json parsed = Json::parse(header);
  for (const auto &[name, entry] : parsed.items()) {
    if (name == "__metadata__") {
      notes = entry.get<Metadata>();
      continue;
    }
    RawTensor tensor{entry.at("dtype"), entry.at("shape"), {}};
    const uint64_t begin = entry.at("data_offsets").at(0);
    const uint64_t end = entry.at("data_offsets").at(1);
    uint64_t size = elementBytes(tensor.dtype);
    for (int64_t extent : tensor.shape) {
      size *= uint64_t(extent);
    }
    if (begin > end || end > data.size() || end - begin != size) {
      throw UserError(filePath + ": tensor '" + name +
                      "' does not match its bytes; the file is damaged");
    }
    tensor.data = data.substr(begin, size);
    entries.emplace(name, std::move(tensor));
  }
}

} // namespace recurra
