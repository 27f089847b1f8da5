// Sizes: from options to extents, dtypes and Specs.
// SPDX-License-Identifier: Apache-2.0
#include "cli/Sizes.h"

#include "cli/Nodes.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace recurra::cli {
namespace {

std::pair<std::string, std::int64_t> parseSize(const std::string &text) {
  std::size_t equals = text.find('=');
  char *end = nullptr;
  std::int64_t size = 0;
  if (equals != std::string::npos) {
    size = std::strtoll(text.c_str() + equals + 1, &end, 10);
  }
  if (equals == std::string::npos || *end || size < 1) {
    throw UserError(fmt::format(
        "--size '{}': write AXIS=SIZE with a size of at least 1, as in K=64",
        text));
  }
  return {text.substr(0, equals), size};
}

} // namespace

std::map<std::string, std::int64_t>
extentsOf(const Recurrence &recurrence, const std::vector<std::string> &given,
          std::int64_t otherwise) {
  std::map<std::string, std::int64_t> extents, entries;
  forEachNode(rootsOf(recurrence, false), [&](const Node &node) {
    if (node.op == Op::At) {
      std::int64_t &count = entries[node.axis];
      count = std::max<std::int64_t>(count, node.index + 1);
    }
  });
  std::string known;
  for (const Axis &axis : recurrence.axes) {
    auto found = entries.find(axis.name);
    extents[axis.name] = axis.size != 0           ? axis.size
                         : found == entries.end() ? otherwise
                                                  : found->second;
    known += (known.empty() ? "" : ", ") + axis.name;
  }
  for (const std::string &text : given) {
    auto [axis, size] = parseSize(text);
    if (!extents.count(axis)) {
      throw UserError(fmt::format("--size {}: '{}' has no axis '{}'; its axes "
                                  "are {}",
                                  text, recurrence.name, axis, known));
    }
    extents[axis] = size;
  }
  return extents;
}

DType dtypeOf(const std::string &spelling) {
  if (std::optional<DType> dtype = parseDType(spelling)) {
    return *dtype;
  }
  throw UserError(
      fmt::format("no dtype '{}'; there are f32, f64, f16, bf16", spelling));
}

void SpecOptions::add(CLI::App &command) {
  command.add_option("--size", sizes, "size of an axis, as in --size K=64")
      ->expected(1, -1);
  command
      .add_option("--dtype", dtype,
                  "of inputs and outputs: f32, f64, f16, bf16")
      ->capture_default_str();
  command.add_option("--arch", arch, "native, avx512 or avx2")
      ->capture_default_str();
}

Spec SpecOptions::spec(const Recurrence &recurrence,
                       Direction direction) const {
  Spec spec;
  spec.direction = direction;
  spec.arch = arch;
  spec.extents = extentsOf(recurrence, sizes, 64);
  DType type = dtypeOf(dtype);
  for (const Input &input : recurrence.inputs) {
    spec.dtypes[input.name] = type;
    if (direction == Direction::Backward && !input.fallback) {
      spec.gradients.push_back(input.name);
    }
  }
  for (const Output &output : recurrence.outputs) {
    spec.dtypes[output.name] = type;
    if (!output.optional) {
      spec.outputs.push_back(output.name);
    }
  }
  return spec;
}

} // namespace recurra::cli
