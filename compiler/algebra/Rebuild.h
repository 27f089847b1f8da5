// Demand-driven copies of expressions: what a value needs, and nothing else, is
// cloned in front of an insertion point, each expression once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/algebra/Products.h"
#include "mlir/IR/IRMapping.h"

namespace recurra {

class Rebuild {
public:
  /// Clones definitions inside `scope` (a scan); what is defined outside of it
  /// stands for itself.
  Rebuild(mlir::OpBuilder &builder, rec::ScanOp scope)
      : builder(builder), scope(scope) {}

  /// From now on `value` stands for `replacement`.
  void map(mlir::Value value, mlir::Value replacement) {
    mapping.map(value, replacement);
  }
  void map(mlir::ValueRange values, mlir::ValueRange replacements) {
    mapping.map(values, replacements);
  }

  /// The copy of a value, made on first use.
  mlir::Value get(mlir::Value value);

  /// A product of copied factors, and its value: narrow factors first.
  Product get(const Product &product);
  mlir::Value emit(const Product &product);
  /// The sum of products; a constant zero if there are none.
  mlir::Value emit(llvm::ArrayRef<Product> terms);

private:
  mlir::Value reuseOr(mlir::Operation *op);
  mlir::Value magnitude(const Product &product);

  mlir::OpBuilder &builder;
  rec::ScanOp scope;
  mlir::IRMapping mapping;
};

/// Whether a value is the same for every token of `scan`.
bool isTimeConstant(mlir::Value value, rec::ScanOp scan);

} // namespace recurra
