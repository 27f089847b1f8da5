// The calling convention of generated CPU code: what ChunkToVector emits and
// CpuModule calls. Plain C layout.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace recurra {

inline constexpr int maxRank = 8;

/// A tensor at run time: element strides in the order of Argument::shape.
struct KernelBuffer {
  char *data;
  std::int64_t strides[maxRank];
};

/// Sizes at run time. Sequence n holds tokens offsets[n] .. offsets[n + 1] of
/// batch row 0; without offsets it is batch row n, tokens 0 .. tokens. `rows`
/// is B, `heads` the number of value heads.
struct KernelShape {
  std::int64_t rows, tokens, heads, sequences;
  const std::int64_t *offsets;
};

/// Runs tasks [begin, end) of one nest; `scratch` (64-byte aligned, the
/// nest's scratchBytes) belongs to this call alone. Task index = row-major
/// over Nest::tasks. `buffers`: arguments, then workspaces.
using NestEntry = void (*)(const KernelBuffer *buffers,
                           const KernelShape *shape, std::int64_t begin,
                           std::int64_t end, char *scratch);

} // namespace recurra
