// Lines of a kernel, indented, and names that no other thing in it has.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/Twine.h"
#include "mlir/IR/Value.h"

#include <string>

namespace recurra::cuda {

class KernelText {
public:
  KernelText();

  /// `hint`, made an identifier, with a number behind it if it is taken.
  std::string name(llvm::StringRef hint);

  void line(const llvm::Twine &text);
  void comment(const llvm::Twine &text) { line("// " + text); }
  /// A line that ends in "{", and the lines of its block further right.
  void open(const llvm::Twine &text);
  void close(const llvm::Twine &end = "}");

  const std::string &str() const { return text; }

private:
  std::string text;
  unsigned depth = 0;
  llvm::StringSet<> taken;
};

/// What the user, or a pass, calls a value; empty if nothing does.
std::string nameOf(mlir::Value value);

} // namespace recurra::cuda
