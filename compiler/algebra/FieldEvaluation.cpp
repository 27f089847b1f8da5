// Arithmetic modulo 2^61 - 1, and the value of each op of `rec` in it.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/algebra/FieldEvaluation.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/xxhash.h"

#include <cmath>

using namespace mlir;
using namespace recurra::rec;

namespace recurra {

static constexpr std::uint64_t prime = (std::uint64_t(1) << 61) - 1;

FieldElement operator+(FieldElement x, FieldElement y) {
  return {(x.value + y.value) % prime};
}

FieldElement operator-(FieldElement x, FieldElement y) {
  return {(x.value + prime - y.value) % prime};
}

FieldElement operator*(FieldElement x, FieldElement y) {
  auto product = static_cast<unsigned __int128>(x.value) * y.value;
  return {static_cast<std::uint64_t>(product % prime)};
}

static FieldElement power(FieldElement base, std::uint64_t exponent) {
  FieldElement result{1};
  for (; exponent; exponent >>= 1) {
    if (exponent & 1) {
      result = result * base;
    }
    base = base * base;
  }
  return result;
}

FieldElement operator/(FieldElement x, FieldElement y) {
  return x * power(y, prime - 2);
}

FieldElement FieldElement::of(double number) {
  int exponent = 0;
  double mantissa = std::frexp(std::abs(number), &exponent);
  FieldElement result{static_cast<std::uint64_t>(std::ldexp(mantissa, 53)) %
                      prime};
  exponent -= 53;
  FieldElement scale = power({2}, std::abs(exponent));
  result = exponent < 0 ? result / scale : result * scale;
  return number < 0 ? FieldElement{} - result : result;
}

/// A fixed mixing function, the same in every process.
static std::uint64_t mix(std::uint64_t x, std::uint64_t y) {
  std::uint64_t words[2] = {x, y};
  return llvm::xxh3_64bits(
      ArrayRef(reinterpret_cast<const std::uint8_t *>(words), sizeof words));
}

FieldElement FieldEvaluation::random(std::uint64_t salt) const {
  return {mix(seed, salt) % prime};
}

/// Tells leaves apart, in the same way in every process: an argument's number
/// and the depth of its block.
static std::uint64_t identity(BlockArgument argument) {
  std::uint64_t depth = 0;
  for (Operation *op = argument.getOwner()->getParentOp(); op;
       op = op->getParentOp()) {
    ++depth;
  }
  return mix(depth, argument.getArgNumber());
}

FieldElement FieldEvaluation::of(Value value) {
  if (auto found = known.find(value); found != known.end()) {
    return found->second;
  }
  auto argument = dyn_cast<BlockArgument>(value);
  FieldElement result =
      argument ? random(identity(argument)) : compute(value.getDefiningOp());
  known[value] = result;
  return result;
}

/// exp as a function that obeys exp(-x) = 1 / exp(x).
FieldElement FieldEvaluation::exponential(FieldElement x) const {
  FieldElement mirrored = FieldElement{} - x;
  if (mirrored.value < x.value) {
    return FieldElement{1} / random(mix(mirrored.value, 1));
  }
  return x.value == 0 ? FieldElement{1} : random(mix(x.value, 1));
}

/// A pseudo-random function of the op's name, attributes, type and operands.
FieldElement FieldEvaluation::opaque(Operation *op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << op->getName() << op->getPropertiesAsAttribute()
         << op->getResult(0).getType();
  std::uint64_t salt = llvm::xxh3_64bits(text);
  for (Value operand : op->getOperands()) {
    salt = mix(salt, of(operand).value);
  }
  return random(salt);
}

FieldElement FieldEvaluation::compute(Operation *op) {
  const FieldElement one{1};
  return llvm::TypeSwitch<Operation *, FieldElement>(op)
      .Case([&](ConstOp op) {
        double number = op.getValue().convertToDouble();
        return std::isfinite(number) ? FieldElement::of(number) : opaque(op);
      })
      .Case([&](AddOp op) { return of(op.getLhs()) + of(op.getRhs()); })
      .Case([&](SubOp op) { return of(op.getLhs()) - of(op.getRhs()); })
      .Case([&](MulOp op) { return of(op.getLhs()) * of(op.getRhs()); })
      .Case([&](DivOp op) { return of(op.getLhs()) / of(op.getRhs()); })
      .Case([&](NegOp op) { return FieldElement{} - of(op.getOperand()); })
      .Case([&](BroadcastOp op) { return of(op.getOperand()); })
      .Case([&](ExpOp op) { return exponential(of(op.getOperand())); })
      .Case([&](Expm1Op op) { return exponential(of(op.getOperand())) - one; })
      .Case([&](SigmoidOp op) {
        FieldElement e = exponential(FieldElement{} - of(op.getOperand()));
        return one / (one + e);
      })
      .Default([&](Operation *op) { return opaque(op); });
}

} // namespace recurra
