// The byte form of an Artifact: magic, version, size and checksum, then fields.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Artifact.h"

#include <cstring>
#include <string_view>
#include <type_traits>

namespace recurra {
namespace {

constexpr char magic[8] = {'R', 'C', 'R', 'A', 'R', 'T', '0', '4'};
constexpr std::size_t headerBytes = sizeof(magic) + 2 * sizeof(std::uint64_t);

/// FNV-1a over 64 bits: every flipped bit of the payload changes it.
std::uint64_t checksum(std::string_view bytes) {
  std::uint64_t sum = 0xcbf29ce484222325ULL;
  for (unsigned char byte : bytes) {
    sum = (sum ^ byte) * 0x100000001b3ULL;
  }
  return sum;
}

void putNumber(std::string &bytes, std::uint64_t value) {
  bytes.append(reinterpret_cast<const char *>(&value), sizeof(value));
}

// One `visit` per type names its fields once; Writer and Reader give both
// directions. A vector or string is its length, then its elements.
class Writer {
public:
  std::string bytes;
  void field(std::int64_t value) {
    putNumber(bytes, static_cast<std::uint64_t>(value));
  }
  void field(const std::string &text) {
    putNumber(bytes, text.size());
    bytes += text;
  }
  template <typename Enum>
  void tag(Enum value) {
    putNumber(bytes, static_cast<std::uint64_t>(value));
  }
  template <typename T>
  void list(const std::vector<T> &elements);
};

class Reader {
public:
  explicit Reader(std::string_view bytes) : rest(bytes) {}
  bool ok = true;
  bool finished() const { return ok && rest.empty(); }
  std::uint64_t number() {
    std::uint64_t value = 0;
    std::string_view part = take(sizeof(value));
    std::memcpy(&value, part.data(), part.size());
    return value;
  }
  void field(std::int64_t &value) {
    value = static_cast<std::int64_t>(number());
  }
  void field(std::string &text) { text = take(number()); }
  template <typename Enum>
  void tag(Enum &value) {
    value = static_cast<Enum>(number());
  }
  template <typename T>
  void list(std::vector<T> &elements);

private:
  std::string_view rest;
  std::string_view take(std::uint64_t count) {
    ok = ok && count <= rest.size();
    std::string_view part = rest.substr(0, ok ? count : 0);
    rest.remove_prefix(part.size());
    return part;
  }
};

template <typename Archive, typename Text>
  requires std::is_same_v<std::remove_const_t<Text>, std::string>
void visit(Archive &archive, Text &text) {
  archive.field(text);
}

template <typename Archive, typename A>
  requires std::is_same_v<std::remove_const_t<A>, Argument>
void visit(Archive &archive, A &argument) {
  archive.tag(argument.kind);
  archive.field(argument.name);
  archive.tag(argument.dtype);
  archive.list(argument.shape);
}

template <typename Archive, typename W>
  requires std::is_same_v<std::remove_const_t<W>, Workspace>
void visit(Archive &archive, W &workspace) {
  archive.tag(workspace.dtype);
  archive.list(workspace.shape);
}

template <typename Archive, typename N>
  requires std::is_same_v<std::remove_const_t<N>, Nest>
void visit(Archive &archive, N &nest) {
  archive.field(nest.entry);
  archive.list(nest.tasks);
  archive.field(nest.scratchBytes);
  archive.field(nest.warps);
  archive.field(nest.workersPerBlock);
  archive.field(nest.sharedBytes);
  archive.field(nest.registers);
  archive.field(nest.spillBytes);
  archive.field(nest.mostTasks);
  archive.field(nest.codeOffset);
}

template <typename Archive, typename A>
  requires std::is_same_v<std::remove_const_t<A>, Artifact>
void visit(Archive &archive, A &artifact) {
  archive.field(artifact.target);
  archive.field(artifact.arch);
  archive.field(artifact.code);
  archive.list(artifact.arguments);
  archive.list(artifact.workspaces);
  archive.list(artifact.nests);
  archive.field(artifact.checkpointInterval);
  archive.field(artifact.spanTokens);
  archive.field(artifact.fewHeads);
  archive.field(artifact.plan);
  archive.list(artifact.remarks);
}

template <typename T>
void Writer::list(const std::vector<T> &elements) {
  putNumber(bytes, elements.size());
  for (const T &element : elements) {
    visit(*this, element);
  }
}

template <typename T>
void Reader::list(std::vector<T> &elements) {
  elements.clear();
  for (std::uint64_t count = number(); ok && count > 0; --count) {
    visit(*this, elements.emplace_back());
  }
}

} // namespace

std::string serialise(const Artifact &artifact) {
  Writer writer;
  visit(writer, artifact);
  std::string bytes(magic, sizeof(magic));
  putNumber(bytes, writer.bytes.size());
  putNumber(bytes, checksum(writer.bytes));
  return bytes + writer.bytes;
}

bool deserialise(const std::string &bytes, Artifact &artifact) {
  if (bytes.size() < headerBytes ||
      std::memcmp(bytes.data(), magic, sizeof(magic)) != 0) {
    return false;
  }
  std::string_view payload = std::string_view(bytes).substr(headerBytes);
  Reader header(std::string_view(bytes).substr(sizeof(magic)));
  if (header.number() != payload.size() ||
      header.number() != checksum(payload)) {
    return false;
  }
  Reader reader(payload);
  visit(reader, artifact);
  return reader.finished();
}

} // namespace recurra
