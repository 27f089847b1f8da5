// The calling conventions of generated code, for the CPU (what ChunkToVector
// emits and CpuModule calls) and for CUDA. Plain C layout.
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

/// cuda: log2 of the tokens of a task that has all of a sequence, however long.
inline constexpr std::int64_t allTokensBits = 62;

/// Sizes at run time. Sequence n holds tokens offsets[n] .. offsets[n + 1] of
/// batch row 0; without offsets it is batch row n, tokens 0 .. tokens. `rows`
/// is B, `heads` the number of value heads.
struct KernelShape {
  std::int64_t rows, tokens, heads, sequences;
  const std::int64_t *offsets;
  std::int64_t partBits = 0; ///< cuda: log2 of the tokens that a task has
};

/// Runs tasks [begin, end) of one nest; `scratch` (64-byte aligned, the
/// nest's scratchBytes) belongs to this call alone. Task index = row-major
/// over Nest::tasks. `buffers`: arguments, then workspaces.
using NestEntry = void (*)(const KernelBuffer *buffers,
                           const KernelShape *shape, std::int64_t begin,
                           std::int64_t end, char *scratch);

// CUDA: each nest is a kernel `extern "C" void ENTRY(Buffers buffers,
// KernelShape shape, std::int64_t tasks, char *scratch)` in the cubin that
// Artifact::code holds. `Buffers` is `KernelBuffer[n]` by value, n = arguments
// then workspaces; data and `shape.offsets` are device addresses. A block has
// 32 * Nest::warps threads along x, Nest::sharedBytes of dynamic shared memory
// and Nest::workersPerBlock workers. Each worker runs tasks w, w + all workers
// of the grid, ..: any grid of >= 1 block along x gives the same bits, so one
// of min(ceil(tasks / workersPerBlock), what the device holds at once) blocks
// suffices. `scratch` (256-byte aligned): scratchBytes for every worker of the
// grid, not initialised; may be null if scratchBytes is 0. No launch if there
// are no tasks. Nests in order, on one stream.

} // namespace recurra
