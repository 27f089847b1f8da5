// Names and operators. f32 functions are the accurate ones, never the
// intrinsics of two leading underscores.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/ScalarPrinter.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/ErrorHandling.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>

using namespace mlir;

namespace recurra::cuda {

std::string printNumber(Attribute value) {
  auto number = dyn_cast<FloatAttr>(value);
  if (!number) {
    return cast<IntegerAttr>(value).getInt() != 0 ? "true" : "false";
  }
  bool isSingle = number.getType().isF32();
  double x = number.getValueAsDouble();
  if (std::isinf(x) || std::isnan(x)) {
    std::string bits = std::isnan(x) ? "0x7fffffff" : "0x7f800000";
    return (x < 0 ? "-" : "") + ("__int_as_float(" + bits + ")");
  }
  char text[40];
  snprintf(text, sizeof(text), isSingle ? "%.9g" : "%.17g", x);
  std::string result = text;
  if (result.find_first_of(".e") == std::string::npos) {
    result += ".0";
  }
  return (x < 0 ? "(" : "") + result + (isSingle ? "f" : "") +
         (x < 0 ? ")" : "");
}

/// The operator of a binary op; empty for others.
static StringRef operatorOf(StringRef name) {
  return llvm::StringSwitch<StringRef>(name)
      .Case("arith.addf", "+")
      .Case("arith.subf", "-")
      .Case("arith.mulf", "*")
      .Case("arith.divf", "/")
      .Case("arith.andi", "&")
      .Case("arith.ori", "|")
      .Case("arith.xori", "^")
      .Default("");
}

/// The function of the f64 form; that of f32 ends in "f".
static StringRef functionOf(StringRef name) {
  return llvm::StringSwitch<StringRef>(name)
      .Case("math.exp", "exp")
      .Case("math.log", "log")
      .Case("math.log1p", "log1p")
      .Case("math.expm1", "expm1")
      .Case("math.tanh", "tanh")
      .Case("math.sqrt", "sqrt")
      .Case("math.rsqrt", "rsqrt")
      .Case("math.absf", "fabs")
      .Case("math.fma", "fma")
      .Default("");
}

static std::string printCompare(const cpu::Node &node,
                                ArrayRef<std::string> operands) {
  auto predicate = static_cast<arith::CmpFPredicate>(
      cast<IntegerAttr>(node.attributes.get("predicate")).getInt());
  StringRef sign = "==";
  switch (predicate) {
  case arith::CmpFPredicate::OLT:
    sign = "<";
    break;
  case arith::CmpFPredicate::OLE:
    sign = "<=";
    break;
  case arith::CmpFPredicate::OGT:
    sign = ">";
    break;
  case arith::CmpFPredicate::OGE:
    sign = ">=";
    break;
  case arith::CmpFPredicate::UNE:
    sign = "!=";
    break;
  case arith::CmpFPredicate::OEQ:
    break;
  default:
    llvm::report_fatal_error("a comparison that rec cannot express");
  }
  return "(" + operands[0] + " " + sign.str() + " " + operands[1] + ")";
}

std::string printScalar(const cpu::Node &node, ArrayRef<std::string> operands) {
  StringRef name = node.name->getStringRef();
  if (StringRef sign = operatorOf(name); !sign.empty()) {
    // BodyGraph makes every f32 quotient of tiles a product with 1 / x.
    if (sign == "/" && node.element.isF32() && operands[0] == "1.0f") {
      return "reciprocal(" + operands[1] + ")";
    }
    return "(" + operands[0] + " " + sign.str() + " " + operands[1] + ")";
  }
  if (StringRef function = functionOf(name); !function.empty()) {
    std::string call = function.str() + (node.element.isF32() ? "f(" : "(");
    for (auto [i, operand] : llvm::enumerate(operands)) {
      call += (i ? ", " : "") + operand;
    }
    return call + ")";
  }
  if (name == "arith.negf") {
    return "(-" + operands[0] + ")";
  }
  if (name == "arith.maximumf") {
    return "larger(" + operands[0] + ", " + operands[1] + ")";
  }
  if (name == "arith.cmpf") {
    return printCompare(node, operands);
  }
  if (name == "arith.select") {
    return "(" + operands[0] + " ? " + operands[1] + " : " + operands[2] + ")";
  }
  llvm::report_fatal_error("no CUDA expression for " + Twine(name));
}

} // namespace recurra::cuda
