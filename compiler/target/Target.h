// What the compiler asks of a target: a description that the Plan is chosen
// from, the passes below `chunk`, and the code. One folder per target.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/passes/Plan.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace mlir {
class ModuleOp;
class OpPassManager;
} // namespace mlir

namespace recurra {

struct Artifact;

class Target {
public:
  virtual ~Target() = default;

  /// What a Plan is chosen from. False, with a message, if `arch` is unknown
  /// or, for "native", this host lacks what generated code needs.
  virtual bool describe(llvm::StringRef arch, TargetDescription &description,
                        std::string &message) const = 0;

  /// Whether a function in `chunk` can be run in scan form, which its plan
  /// proposes; if not, `why` says so for people.
  virtual bool hasScanForm(mlir::ModuleOp, std::string &why) const {
    why = "this target has no scan form";
    return false;
  }

  /// Appends the passes from `chunk` to the llvm dialect.
  virtual void lower(mlir::OpPassManager &passes,
                     llvm::StringRef arch) const = 0;

  /// Fills target, arch, code and nests of the artifact from a module that
  /// `lower` made. False, with a message, on failure.
  virtual bool emit(mlir::ModuleOp module, llvm::StringRef arch,
                    Artifact &artifact, std::string &message) const = 0;

  /// The text of stage "llvm" or "asm" of a module that `lower` made.
  virtual bool print(mlir::ModuleOp module, llvm::StringRef arch,
                     llvm::StringRef stage, std::string &text,
                     std::string &message) const = 0;
};

/// Null if there is no target of that name.
const Target *findTarget(llvm::StringRef name);

/// Makes the passes below `chunk` known to recurra-opt by name.
void registerTargetPasses();

} // namespace recurra
