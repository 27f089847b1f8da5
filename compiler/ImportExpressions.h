// Writes a recurrence's expressions as `rec` ops.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/rec/Rec.h"
#include "dsl/Recurrence.h"

#include <map>

namespace recurra {

/// Where a thing was written, under the name that it has in the paper.
mlir::Location locate(mlir::MLIRContext *context, const SourceLocation &place,
                      const std::string &name = "");

/// Emits expressions at the builder's place, each node once, given the values
/// of inputs and states by name.
class Expressions {
public:
  using Leaves = std::map<std::string, mlir::Value>;

  Expressions(mlir::OpBuilder &builder, const Recurrence &recurrence,
              Leaves inputs, Leaves states)
      : builder(builder), recurrence(recurrence), inputs(std::move(inputs)),
        states(std::move(states)) {}

  mlir::Value emit(const NodeRef &node);

private:
  mlir::Value emit(const Node &node, llvm::ArrayRef<mlir::Value> x);
  mlir::Value emitCondition(const Node &node, mlir::Value value);
  mlir::Value emitBinary(const Node &node, mlir::Value x, mlir::Value y);
  mlir::Value emitUnary(const Node &node, mlir::Value x);
  mlir::Value emitOver(const Node &node, mlir::Value x);

  mlir::StringAttr axis(const std::string &name);
  mlir::Value number(double value);
  mlir::Value mul(mlir::Value x, mlir::Value y);
  mlir::Value neg(mlir::Value x);
  mlir::Value sum(mlir::Value x, mlir::ArrayAttr over);

  mlir::OpBuilder &builder;
  const Recurrence &recurrence;
  Leaves inputs, states;
  std::map<const Node *, mlir::Value> values;
  std::optional<mlir::Location> loc; ///< of the node being written
};

} // namespace recurra
