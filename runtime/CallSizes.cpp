// CallSizes: the rules for batch, heads and packed sequences.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/CallSizes.h"

#include <bit>
#include <cstdlib>

namespace recurra {
namespace {

Status invalid(const std::string &message) {
  return {RECURRA_INVALID_ARGUMENT, message};
}

std::string quoted(const char *name, std::int64_t value) {
  return std::string(name) + " = " + std::to_string(value);
}

Status checkNotNegative(const recurra_sizes &given) {
  const std::pair<const char *, std::int64_t> all[] = {
      {"batch", given.batch},
      {"tokens", given.tokens},
      {"heads", given.heads},
      {"sequences", given.offsets ? given.sequences : 0}};
  for (const auto &[name, value] : all) {
    if (value < 0) {
      return invalid(quoted(name, value) + " is negative; sizes are 0 or more");
    }
  }
  return {};
}

Status checkOneRow(const recurra_sizes &given) {
  if (given.batch != 1) {
    return invalid("cu_seqlens needs a batch of 1, not " +
                   std::to_string(given.batch) +
                   "; pack the sequences along the tokens of one row");
  }
  return {};
}

/// cu_seqlens: from 0 to T, never falling.
Status checkOffsets(const recurra_sizes &given) {
  if (given.offsets[0] != 0) {
    return invalid("cu_seqlens starts at " + std::to_string(given.offsets[0]) +
                   "; it must start at 0");
  }
  for (std::int64_t n = 0; n < given.sequences; ++n) {
    std::int64_t begin = given.offsets[n], end = given.offsets[n + 1];
    if (end < begin) {
      return invalid("cu_seqlens falls from " + std::to_string(begin) + " to " +
                     std::to_string(end) + " at entry " +
                     std::to_string(n + 1) +
                     "; offsets never fall (equal ones are an empty sequence)");
    }
    if (end > given.tokens) {
      return invalid("cu_seqlens has " + std::to_string(end) + " at entry " +
                     std::to_string(n + 1) + " but there are " +
                     std::to_string(given.tokens) +
                     " tokens; offsets end at the number of tokens");
    }
  }
  if (given.offsets[given.sequences] != given.tokens) {
    return invalid("cu_seqlens ends at " +
                   std::to_string(given.offsets[given.sequences]) +
                   " but there are " + std::to_string(given.tokens) +
                   " tokens; its last entry must be the number of tokens");
  }
  return {};
}

Status checkPacking(const Spec &spec, const recurra_sizes &given) {
  if (spec.packed && !given.offsets) {
    return invalid("the kernel was compiled for packed sequences but the call "
                   "has no cu_seqlens; pass them, or compile with packed = "
                   "false");
  }
  if (!spec.packed && given.offsets) {
    return invalid("the call has cu_seqlens but the kernel was compiled "
                   "without; compile with packed = true");
  }
  Status status = given.offsets ? checkOneRow(given) : Status{};
  // On a GPU the offsets are device memory, which only the kernel may read.
  bool readable = given.offsets && spec.target == "cpu";
  return status.ok() && readable ? checkOffsets(given) : status;
}

/// How long a part of a span, or of a sequence, is, as a power of two, where so
/// few tasks as heads and spans make would leave most of a GPU idle; else 0.
/// Results are the same to the bit, so it need not know which GPU that is.
std::int64_t partBitsOf(const Artifact &artifact, const CallSizes &sizes) {
  constexpr std::int64_t manyTasks = 128, longest = 11, shortest = 7;
  std::int64_t tasks = sizes.spans * sizes.heads;
  if (tasks == 0 || tasks > artifact.fewHeads) {
    return 0;
  }
  std::int64_t bits = longest;
  std::int64_t heads = sizes.sequences * sizes.heads;
  while (bits > shortest && heads * (sizes.tokens >> bits) < manyTasks) {
    --bits;
  }
  return sizes.tokens > 1 << bits ? bits : 0;
}

/// Slots of spans of so many tokens. Of packed sequences only the most that
/// there can be are known here; their lengths may lie on the device.
std::int64_t slotsOf(std::int64_t tokens, const CallSizes &sizes) {
  bool isLonger = tokens > 0 && sizes.tokens > tokens;
  std::int64_t perRow = isLonger ? (sizes.tokens - 1) / tokens + 1 : 1;
  return sizes.offsets && isLonger ? sizes.tokens / tokens + sizes.sequences
                                   : perRow * sizes.sequences;
}

void countSpans(const Artifact &artifact, CallSizes &sizes) {
  std::int64_t tokens = artifact.spanTokens;
  sizes.joins = tokens > 0 && sizes.tokens > tokens ? 1 : 0;
  sizes.spans = slotsOf(tokens, sizes);
  sizes.partBits = partBitsOf(artifact, sizes);
  sizes.taskBits = sizes.partBits > 0 ? sizes.partBits
                   : tokens > 0
                       ? std::bit_width(static_cast<std::uint64_t>(tokens)) - 1
                       : allTokensBits;
  sizes.parts =
      sizes.partBits > 0 ? slotsOf(1 << sizes.partBits, sizes) : sizes.spans;
}

} // namespace

std::int64_t CallSizes::value(const std::string &symbol) const {
  const std::pair<const char *, std::int64_t> all[] = {
      {"B", rows},      {"T", tokens},      {"H", heads}, {"Hg", headGroups},
      {"N", sequences}, {"S", slots},       {"P", spans}, {"J", joins},
      {"Q", parts},     {"A", partBits > 0}};
  for (const auto &[name, size] : all) {
    if (symbol == name) {
      return size;
    }
  }
  return std::strtoll(symbol.c_str(), nullptr, 10);
}

Status CallSizes::product(const std::vector<std::string> &factors,
                          std::int64_t &result) const {
  result = 1;
  for (const std::string &factor : factors) {
    if (__builtin_mul_overflow(result, value(factor), &result)) {
      return invalid("the sizes of this call do not fit in 64 bits");
    }
  }
  return {};
}

Status CallSizes::tasksOf(const Nest &nest, std::int64_t &result) const {
  Status status = product(nest.tasks, result);
  if (status.ok() && nest.mostTasks > 0 && result > nest.mostTasks) {
    return invalid(nest.entry + " would have " + std::to_string(result) +
                   " tasks (sequences x heads x slices of a state) and counts "
                   "up to " +
                   std::to_string(nest.mostTasks) + "; split the batch");
  }
  return status;
}

Status readSizes(const recurra_kernel &kernel, const recurra_sizes &given,
                 CallSizes &sizes) {
  if (Status status = checkNotNegative(given); !status.ok()) {
    return status;
  }
  if (Status status = checkPacking(kernel.spec, given); !status.ok()) {
    return status;
  }
  if (given.heads % kernel.spec.group != 0) {
    return invalid(quoted("heads", given.heads) +
                   " is no multiple of the group size " +
                   std::to_string(kernel.spec.group) +
                   " that the kernel was compiled for");
  }
  std::int64_t allTokens = 0, product = 0;
  if (__builtin_mul_overflow(given.batch, given.tokens, &allTokens) ||
      __builtin_mul_overflow(allTokens, given.heads, &product)) {
    return invalid("batch x tokens x heads does not fit in 64 bits");
  }
  sizes.rows = given.batch;
  sizes.tokens = given.tokens;
  sizes.heads = given.heads;
  sizes.headGroups = given.heads / kernel.spec.group;
  sizes.sequences = given.offsets ? given.sequences : given.batch;
  sizes.offsets = given.offsets;
  std::int64_t interval = kernel.artifact.checkpointInterval;
  sizes.slots = (interval > 0 ? allTokens / interval : 0) + sizes.sequences;
  countSpans(kernel.artifact, sizes);
  return {};
}

} // namespace recurra
