// Identifiers and indentation.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/KernelText.h"

#include "llvm/ADT/StringExtras.h"
#include "mlir/IR/Location.h"

using namespace mlir;

namespace recurra::cuda {

/// Keywords, and what the prelude and the printer use by name.
static constexpr const char *reserved[] = {
    "alignas",   "and",        "asm",        "auto",       "bool",
    "break",     "case",       "catch",      "char",       "class",
    "const",     "continue",   "default",    "delete",     "do",
    "double",    "else",       "enum",       "explicit",   "export",
    "extern",    "false",      "float",      "for",        "friend",
    "goto",      "if",         "inline",     "int",        "long",
    "mutable",   "namespace",  "new",        "not",        "operator",
    "or",        "private",    "protected",  "public",     "register",
    "return",    "short",      "signed",     "sizeof",     "static",
    "struct",    "switch",     "template",   "this",       "throw",
    "true",      "try",        "typedef",    "typename",   "union",
    "unsigned",  "using",      "virtual",    "void",       "volatile",
    "while",     "xor",        "bf16",       "f16",        "widen",
    "narrow",    "larger",     "combine",    "lane",       "warp",
    "task",      "tasks",      "shape",      "buffers",    "scratch",
    "staging",   "reciprocal", "overLanes",  "Index",      "Buffer",
    "Buffers",   "Shape",      "prelude",    "exp",        "expf",
    "log",       "logf",       "log1p",      "log1pf",     "expm1",
    "expm1f",    "tanh",       "tanhf",      "sqrt",       "sqrtf",
    "rsqrt",     "rsqrtf",     "fabs",       "fabsf",      "fma",
    "fmaf",      "rest",       "readOnly",   "thread",     "give",
    "take",      "put",        "entryOf",    "pairOf",     "Entries",
    "isWide",    "Share",      "shareOut",   "rowsFollow", "sigmoidOf",
    "overPoint", "readWords",  "writeWords", "part",       "blockIdx",
    "threadIdx", "gridDim",    "blockDim",   "warpSize",   "nullptr"};

KernelText::KernelText() {
  for (const char *word : reserved) {
    taken.insert(word);
  }
}

std::string KernelText::name(StringRef hint) {
  std::string base;
  for (char letter : hint) {
    base += llvm::isAlnum(letter) ? letter : '_';
  }
  if (base.empty() || llvm::isDigit(base.front()) || base.front() == '_') {
    base = "x" + base;
  }
  std::string made = base;
  for (unsigned i = 1; !taken.insert(made).second; ++i) {
    made = base + "_" + std::to_string(i);
  }
  return made;
}

void KernelText::line(const Twine &content) {
  text += std::string(2 * depth, ' ') + content.str() + "\n";
}

void KernelText::open(const Twine &content) {
  std::string head = content.str();
  line(head.empty() ? "{" : head + " {");
  ++depth;
}

void KernelText::close(const Twine &end) {
  --depth;
  line(end);
}

std::string nameOf(Value value) {
  auto named = dyn_cast<NameLoc>(value.getLoc());
  return named ? named.getName().str() : "";
}

} // namespace recurra::cuda
