// The only door of the compiler: text of a recurrence and a Spec in, Artifact
// or diagnostics out. Never throws; no MLIR in this header.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/Artifact.h"
#include "compiler/Spec.h"
#include "dsl/Recurrence.h"

namespace recurra {

/// What a stage or a compilation reported. `error` is empty on success;
/// `remarks` name what was declined and why.
struct Diagnostics {
  std::string error;
  std::vector<std::string> remarks;
};

/// Lowers and emits code. False with `diagnostics.error` set on failure.
bool compile(const Recurrence &recurrence, const Spec &spec, Artifact &artifact,
             Diagnostics &diagnostics);

/// Everything of `compile` but the code: arguments, workspaces, interval, plan.
/// No code is generated; milliseconds.
bool plan(const Recurrence &recurrence, const Spec &spec, Artifact &artifact,
          Diagnostics &diagnostics);

/// The text of a stage: "rec", "linear", "backward", "chunk"; of target "cpu"
/// "llvm", "asm"; of target "cuda" "cuda", "ptx", "sass".
bool inspect(const Recurrence &recurrence, const Spec &spec,
             const std::string &stage, std::string &text,
             Diagnostics &diagnostics);

/// Changes whenever the generated code may: part of every cache key.
std::string compilerVersion();

} // namespace recurra
