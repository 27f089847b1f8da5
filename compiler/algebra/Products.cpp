// Reading products and affine forms.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/algebra/Products.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace recurra::rec;

namespace recurra {

/// Appends `factor` to `here`, or removes it from `there`.
static void cancelOrAppend(Value factor, SmallVectorImpl<Value> &here,
                           SmallVectorImpl<Value> &there) {
  auto *match = llvm::find(there, factor);
  if (match != there.end()) {
    there.erase(match);
  } else {
    here.push_back(factor);
  }
}

Product &Product::operator*=(const Product &other) {
  for (Value factor : other.top) {
    cancelOrAppend(factor, top, bottom);
  }
  for (Value factor : other.bottom) {
    cancelOrAppend(factor, bottom, top);
  }
  negative ^= other.negative;
  return *this;
}

Product factorsOf(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto mul = dyn_cast_if_present<MulOp>(op)) {
    return factorsOf(mul.getLhs()) *= factorsOf(mul.getRhs());
  }
  if (auto div = dyn_cast_if_present<DivOp>(op)) {
    return factorsOf(div.getLhs()) *= factorsOf(div.getRhs()).inverse();
  }
  if (auto neg = dyn_cast_if_present<NegOp>(op)) {
    Product result = factorsOf(neg.getOperand());
    result.negative ^= true;
    return result;
  }
  if (auto broadcast = dyn_cast_if_present<BroadcastOp>(op)) {
    return factorsOf(broadcast.getOperand());
  }
  Product result;
  if (constantOf(value) != 1.0) {
    result.top.push_back(value);
  }
  return result;
}

static bool reaches(Value value, Value leaf, llvm::DenseSet<Value> &visited) {
  if (value == leaf) {
    return true;
  }
  Operation *op = value.getDefiningOp();
  return op && visited.insert(value).second &&
         llvm::any_of(op->getOperands(), [&](Value operand) {
           return reaches(operand, leaf, visited);
         });
}

bool dependsOn(Value value, Value leaf) {
  llvm::DenseSet<Value> visited;
  return reaches(value, leaf, visited);
}

static void scale(std::vector<Product> &terms, const Product &factor) {
  for (Product &term : terms) {
    term *= factor;
  }
}

static std::optional<AffineForm> scaled(std::optional<AffineForm> form,
                                        const Product &factor) {
  if (form) {
    scale(form->slope, factor);
    scale(form->offset, factor);
  }
  return form;
}

static std::optional<AffineForm> sum(std::optional<AffineForm> left,
                                     std::optional<AffineForm> right) {
  if (!left || !right) {
    return std::nullopt;
  }
  llvm::append_range(left->slope, right->slope);
  llvm::append_range(left->offset, right->offset);
  return left;
}

std::optional<AffineForm> affineIn(Value x, Value value) {
  if (value == x) {
    return AffineForm{.slope = {Product{}}};
  }
  if (!dependsOn(value, x)) {
    return AffineForm{.offset = {factorsOf(value)}};
  }
  Operation *op = value.getDefiningOp();
  if (auto mul = dyn_cast<MulOp>(op)) {
    bool left = dependsOn(mul.getLhs(), x);
    if (left && dependsOn(mul.getRhs(), x)) {
      return std::nullopt;
    }
    return scaled(affineIn(x, left ? mul.getLhs() : mul.getRhs()),
                  factorsOf(left ? mul.getRhs() : mul.getLhs()));
  }
  if (auto div = dyn_cast<DivOp>(op); div && !dependsOn(div.getRhs(), x)) {
    return scaled(affineIn(x, div.getLhs()), factorsOf(div.getRhs()).inverse());
  }
  const Product minus{.negative = true};
  if (auto add = dyn_cast<AddOp>(op)) {
    return sum(affineIn(x, add.getLhs()), affineIn(x, add.getRhs()));
  }
  if (auto sub = dyn_cast<SubOp>(op)) {
    return sum(affineIn(x, sub.getLhs()),
               scaled(affineIn(x, sub.getRhs()), minus));
  }
  if (auto neg = dyn_cast<NegOp>(op)) {
    return scaled(affineIn(x, neg.getOperand()), minus);
  }
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    return affineIn(x, broadcast.getOperand());
  }
  return std::nullopt;
}

} // namespace recurra
