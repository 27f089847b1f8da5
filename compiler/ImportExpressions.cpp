// What `rec` has no op for (square, silu, mean, softmax ..) is spelt out here.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/ImportExpressions.h"

#include "compiler/Import.h"

using namespace mlir;
using namespace recurra::rec;

namespace recurra {

Location locate(MLIRContext *context, const SourceLocation &place,
                const std::string &name) {
  Location loc =
      place.line > 0
          ? Location(FileLineColLoc::get(context, place.file, place.line, 0))
          : Location(UnknownLoc::get(context));
  return name.empty()
             ? loc
             : Location(NameLoc::get(StringAttr::get(context, name), loc));
}

static bool isCondition(const Node &node) {
  return node.op == Op::Less || node.op == Op::LessEqual;
}

Value Expressions::emit(const NodeRef &node) {
  auto [entry, isNew] = values.try_emplace(node.get());
  if (!isNew) {
    return entry->second;
  }
  SmallVector<Value> operands;
  for (const NodeRef &operand : node->operands) {
    bool condition =
        node->op == Op::Select && operands.empty() && isCondition(*operand);
    operands.push_back(condition ? Value() : emit(operand));
  }
  loc = locate(builder.getContext(), node->location);
  return values[node.get()] = emit(*node, operands);
}

Value Expressions::emit(const Node &node, ArrayRef<Value> x) {
  switch (node.op) {
  case Op::Constant:
    return number(node.value);
  case Op::Input:
    return inputs.at(node.name);
  case Op::State:
    return states.at(node.name);
  case Op::Extent:
    return ExtentOp::create(builder, *loc, axis(node.axis));
  case Op::Rename:
    return RenameOp::create(builder, *loc, x[0], axis(node.axis),
                            axis(node.target));
  case Op::At:
    return IndexOp::create(builder, *loc, x[0], axis(node.axis),
                           builder.getI64IntegerAttr(node.index));
  case Op::Select: {
    Value condition = emitCondition(*node.operands[0], x[0]);
    loc = locate(builder.getContext(), node.location);
    return SelectOp::create(builder, *loc, condition, x[1], x[2]);
  }
  default:
    return x.size() == 2       ? emitBinary(node, x[0], x[1])
           : node.axis.empty() ? emitUnary(node, x[0])
                               : emitOver(node, x[0]);
  }
}

Value Expressions::emitCondition(const Node &node, Value value) {
  if (!isCondition(node)) {
    return CmpOp::create(builder, *loc, Predicate::NotEqual, value, number(0));
  }
  Value x = emit(node.operands[0]), y = emit(node.operands[1]);
  loc = locate(builder.getContext(), node.location);
  auto predicate = node.op == Op::Less ? Predicate::Less : Predicate::LessEqual;
  return CmpOp::create(builder, *loc, predicate, x, y);
}

Value Expressions::emitBinary(const Node &node, Value x, Value y) {
  switch (node.op) {
  case Op::Add:
    return AddOp::create(builder, *loc, x, y);
  case Op::Sub:
    return SubOp::create(builder, *loc, x, y);
  case Op::Mul:
    return mul(x, y);
  case Op::Div:
    return DivOp::create(builder, *loc, x, y);
  case Op::Max:
    return MaxOp::create(builder, *loc, x, y);
  case Op::Min:
    return neg(MaxOp::create(builder, *loc, neg(x), neg(y)));
  default: {
    auto predicate =
        node.op == Op::Less ? Predicate::Less : Predicate::LessEqual;
    Value condition = CmpOp::create(builder, *loc, predicate, x, y);
    return SelectOp::create(builder, *loc, condition, number(1), number(0));
  }
  }
}

Value Expressions::emitUnary(const Node &node, Value x) {
  switch (node.op) {
#define SAME(Name)                                                             \
  case Op::Name:                                                               \
    return Name##Op::create(builder, *loc, x);
    SAME(Neg)
    SAME(Abs)
    SAME(Exp)
    SAME(Log)
    SAME(Expm1)
    SAME(Log1p)
    SAME(Sqrt)
    SAME(Rsqrt)
    SAME(Tanh)
    SAME(Sigmoid)
    SAME(Softplus)
    SAME(Detach)
#undef SAME
  case Op::LogSigmoid:
    return neg(SoftplusOp::create(builder, *loc, neg(x)));
  case Op::Silu:
    return mul(x, SigmoidOp::create(builder, *loc, x));
  default:
    assert(node.op == Op::Square && "an operator without a meaning in rec");
    return mul(x, x);
  }
}

Value Expressions::emitOver(const Node &node, Value x) {
  ArrayAttr over = builder.getArrayAttr(axis(node.axis));
  switch (node.op) {
  case Op::Sum:
    return sum(x, over);
  case Op::Mean:
    return DivOp::create(builder, *loc, sum(x, over),
                         ExtentOp::create(builder, *loc, axis(node.axis)));
  case Op::MaxOver:
    return AmaxOp::create(builder, *loc, x, over);
  case Op::Softmax: {
    // Its value does not depend on the shift: no gradient flows through it.
    Value shift = DetachOp::create(
        builder, *loc, Value(AmaxOp::create(builder, *loc, x, over)));
    Value e = ExpOp::create(builder, *loc,
                            Value(SubOp::create(builder, *loc, x, shift)));
    return DivOp::create(builder, *loc, e, sum(e, over));
  }
  default: {
    assert(node.op == Op::L2Norm && "an operator without a meaning in rec");
    Value squares = sum(mul(x, x), over);
    Value guarded = AddOp::create(builder, *loc, squares, number(1e-12));
    return mul(x, RsqrtOp::create(builder, *loc, guarded));
  }
  }
}

StringAttr Expressions::axis(const std::string &name) {
  return builder.getStringAttr(axisInIr(recurrence, name));
}
Value Expressions::number(double value) {
  return ConstOp::create(builder, *loc, ValType::get(builder.getContext(), {}),
                         builder.getF64FloatAttr(value));
}
Value Expressions::mul(Value x, Value y) {
  return MulOp::create(builder, *loc, x, y);
}
Value Expressions::neg(Value x) { return NegOp::create(builder, *loc, x); }
Value Expressions::sum(Value x, ArrayAttr over) {
  return SumOp::create(builder, *loc, x, over);
}

} // namespace recurra
