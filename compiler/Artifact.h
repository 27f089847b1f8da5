// What compilation hands to the runtime: code bytes and the formulas to launch
// them. Plain data with a byte form for the disk cache; no MLIR here.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dsl/DType.h"

#include <cstdint>
#include <string>
#include <vector>

namespace recurra {

/// One tensor that a kernel reads or writes, in the order of its arguments.
struct Argument {
  enum Kind {
    Input,        ///< of the recurrence
    InitialState, ///< [N, H, axes..], f32 (f64)
    Checkpoint,   ///< [slots, H, axes..], dense; written forward, read backward
    OutputCotangent,
    FinalStateCotangent,
    Output,
    FinalState,
    InputGradient,
    InitialStateGradient
  };
  Kind kind = Input;
  std::string name; ///< input, state or output it belongs to
  DType dtype = DType::F32;
  /// Symbolic shape. "B", "T", "H" (value heads), "Hg" (H / group), "N"
  /// (sequences), "S" (checkpoint slots, = floor(B*T/interval) + N), or a
  /// literal number. Of tasks and workspaces also "P" (slots of spans: all that
  /// N rows of T tokens have, packed floor(T/span) + N), "J" (1 if a
  /// sequence may have several spans, which are joined; else 0), "A" (1 if
  /// spans are walked in parts, from states that a walk ahead has left) and "Q"
  /// (slots of those; without parts as "P").
  std::vector<std::string> shape;
};

/// A dense row-major buffer that lives for one launch, allocated by the caller.
struct Workspace {
  DType dtype = DType::F32;
  std::vector<std::string> shape; ///< as Argument::shape
};

/// One top-level loop nest: `tasks` independent tasks, run before the next
/// nest. A task may use `scratch` bytes of its worker's scratch memory; a
/// worker is a thread (cpu), or what a task takes of a GPU: a thread, some of a
/// warp's lanes, a warp or a block (cuda, see KernelAbi.h).
struct Nest {
  std::string entry;              ///< symbol in the object code
  std::vector<std::string> tasks; ///< factors of the task count, as in shape
  std::int64_t scratchBytes = 0;
  std::int64_t warps = 0;           ///< cuda: per block
  std::int64_t workersPerBlock = 1; ///< cuda: warps (walk), or the block (scan)
  std::int64_t sharedBytes = 0;     ///< cuda: dynamic, per block
  std::int64_t mostTasks = 0;       ///< cuda: that it can count; 0: any
  std::int64_t registers = 0;       ///< cuda: per thread
  std::int64_t spillBytes = 0; ///< cuda: of registers to memory, per thread
  std::int64_t codeOffset = 0; ///< cuda: of its cubin in the code
};

struct Artifact {
  std::string target, arch; ///< what it was compiled for, resolved
  std::string code;         ///< cpu: relocatable object; cuda: cubins
  std::vector<Argument> arguments;
  std::vector<Workspace> workspaces; ///< follow the arguments in the ABI
  std::vector<Nest> nests;
  std::int64_t checkpointInterval = 0; ///< tokens between saved states
  std::int64_t spanTokens = 0; ///< that a task walks; 0: all of a sequence
  /// Spans, or sequences, x heads up to which parts are worth their walk ahead;
  /// 0: none.
  std::int64_t fewHeads = 0;
  std::string plan;                 ///< the printed Plan, for people
  std::vector<std::string> remarks; ///< Diagnostics::remarks of its compilation
};

std::string serialise(const Artifact &artifact);

/// The inverse; false if a byte is damaged or missing, or for another version.
bool deserialise(const std::string &bytes, Artifact &artifact);

} // namespace recurra
