// Products of named-axis values as data: flattened into factors, and put
// together again in a cheaper order.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/rec/Rec.h"

#include <deque>

namespace recurra {

/// Work on one value of so many axes, in units of a scalar's.
double costOf(size_t rank);

/// coefficient * product(over) / product(under).
struct Term {
  double coefficient = 1;
  llvm::SmallVector<mlir::Value> over, under;
};

/// An expression that is not (yet) in the IR, with its cost.
struct Form {
  enum Kind { Leaf, Number, Mul, Div, Add, Neg, Sum } kind = Leaf;
  mlir::Value leaf;
  double number = 0;
  const Form *left = nullptr, *right = nullptr;
  rec::Axes axes;   ///< of the result
  rec::Axes summed; ///< Sum
  double cost = 0;  ///< of the whole tree
};

/// Whether flattening goes through products that have other users (of those
/// as large as the sum's operand; smaller ones are cheap to keep).
enum class Opening { SingleUser, AnyUser };

/// Flattens one product or sum of products and forms it anew.
class ProductForms {
public:
  /// The factors of `root`, which itself is opened in any case.
  Term flatten(mlir::Value root, Opening opening);

  /// The cheapest order found for a product.
  const Form *product(const Term &term);

  /// The cheapest form found for a sum of products, distributed over one
  /// addition if there is one; null if there is nothing to do.
  const Form *contraction(rec::SumOp sum, Opening opening);

  /// What the flattened ops cost that die with their root.
  double oldCost() const { return old; }
  /// Whether a product with other users was opened.
  bool openedShared() const { return opened; }
  /// Whether a sum was distributed over an addition.
  bool isDistributed() const { return distributed; }

private:
  void collect(mlir::Value value, Opening opening, bool dies, bool top,
               Term &term);
  const Form *sumOver(llvm::SmallVector<const Form *> factors,
                      llvm::SmallVector<const Form *> divisors, rec::Axes axes,
                      double coefficient);
  const Form *eliminate(mlir::StringAttr axis,
                        llvm::ArrayRef<const Form *> factors,
                        llvm::ArrayRef<const Form *> divisors,
                        const rec::Axes &axes, double coefficient);
  const Form *multiply(llvm::SmallVector<const Form *> factors,
                       llvm::SmallVector<const Form *> divisors);
  const Form *contract(const Term &term, const rec::Axes &axes);

  const Form *leaf(mlir::Value value);
  const Form *constant(double value);
  const Form *binary(Form::Kind kind, const Form *left, const Form *right);
  const Form *negate(const Form *operand);
  const Form *scale(const Form *operand, double coefficient);
  const Form *reduce(const Form *operand, rec::Axes axes);

  std::deque<Form> forms; ///< owns all of them; addresses stay
  mlir::Block *block = nullptr;
  double old = 0;
  size_t largest = 0; ///< axes of the operand of a sum
  bool opened = false, distributed = false;
};

/// Writes the formed expression.
mlir::Value emitForm(mlir::OpBuilder &builder, mlir::Location loc,
                     const Form *form);

} // namespace recurra
