// derive-backward: reverse mode on `rec`. Each op adds through its own rule, a
// scan through that of DeriveBackwardScan. See Passes.td for the IR before and
// after. SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/DeriveBackwardScan.h"
#include "compiler/passes/Passes.h"
#include "compiler/rec/Rec.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace recurra {
#define GEN_PASS_DEF_DERIVEBACKWARD
#include "compiler/passes/Passes.h.inc"
} // namespace recurra

using namespace mlir;
using namespace recurra;
using namespace recurra::rec;

namespace {

/// The function's only scan, reading every sequence whose gradient is wanted
/// (so that one without influence gets zeros); null after an error.
ScanOp prepareScan(func::FuncOp function) {
  auto scans = llvm::to_vector(function.front().getOps<ScanOp>());
  if (scans.size() != 1) {
    function.emitError() << "derive-backward wants one scan, this function has "
                         << scans.size();
    return nullptr;
  }
  ScanOp scan = scans[0];
  llvm::DenseSet<Value> read;
  for (Value sequence : scan.getSequences()) {
    if (!read.insert(sequence).second) {
      scan.emitError("derive-backward wants each sequence read once; "
                     "canonicalize first");
      return nullptr;
    }
  }
  for (BlockArgument argument : function.getArguments()) {
    if (isa<SeqType>(argument.getType()) && !read.contains(argument) &&
        function.getArgAttr(argument.getArgNumber(), gradientAttr)) {
      auto type = ValType::get(function.getContext(), axesOf(argument));
      scan.getStep()->insertArgument(scan.getSequences().size(), type,
                                     argument.getLoc());
      scan.getSequencesMutable().append(argument);
    }
  }
  return scan;
}

/// One argument per result of the forward function: its cotangent.
void addCotangentArguments(func::FuncOp function, Cotangents &cotangents) {
  MLIRContext *context = function.getContext();
  Operation *ret = function.front().getTerminator();
  for (auto [i, value] : llvm::enumerate(ret->getOperands())) {
    NamedAttrList attributes(function.getResultAttrDict(i));
    auto kind = dyn_cast_if_present<StringAttr>(attributes.get(kindAttr));
    bool state = kind ? kind == "finalState" : isa<ValType>(value.getType());
    attributes.set(kindAttr,
                   StringAttr::get(context, state ? "finalStateCotangent"
                                                  : "outputCotangent"));
    auto name = dyn_cast_if_present<StringAttr>(attributes.get(nameAttr));
    Location loc = NameLoc::get(StringAttr::get(
        context, "d" + (name ? name.str() : "r" + std::to_string(i))));
    unsigned position = function.getNumArguments();
    if (failed(function.insertArgument(position, value.getType(),
                                       attributes.getDictionary(context),
                                       loc))) {
      return;
    }
    cotangents.add(value, function.getArgument(position));
  }
}

/// The instances over which the gradient of an argument is added up.
StringRef reductionOf(bool token, bool state, StringRef share) {
  if (state) {
    return "";
  }
  if (token) {
    return share == "group" ? "group" : share == "all" ? "heads" : "";
  }
  return share == "group" ? "batchGroup" : share == "all" ? "all" : "batch";
}

/// Attributes of the gradient of argument `i`.
DictionaryAttr gradientAttributes(func::FuncOp function, unsigned i) {
  MLIRContext *context = function.getContext();
  auto text = [&](StringRef name) {
    auto value = function.getArgAttrOfType<StringAttr>(i, name);
    return value ? value.getValue() : StringRef();
  };
  bool state = text(kindAttr) == "initialState";
  NamedAttrList attributes;
  attributes.set(kindAttr,
                 StringAttr::get(context, state ? "initialStateGradient"
                                                : "inputGradient"));
  for (StringRef same : {StringRef(nameAttr), StringRef(shareAttr),
                         StringRef(layoutAttr), StringRef(dtypeAttr)}) {
    if (Attribute value = function.getArgAttr(i, same)) {
      attributes.set(same, value);
    }
  }
  bool token = isa<SeqType>(function.getArgument(i).getType());
  if (StringRef reduce = reductionOf(token, state, text(shareAttr));
      !reduce.empty()) {
    attributes.set(reduceAttr, StringAttr::get(context, reduce));
  }
  return attributes.getDictionary(context);
}

/// Returns the wanted gradients instead of the forward's results.
void returnGradients(func::FuncOp function, Cotangents &cotangents) {
  SmallVector<Value> gradients;
  SmallVector<DictionaryAttr> attributes;
  for (BlockArgument argument : function.getArguments()) {
    unsigned i = argument.getArgNumber();
    if (function.getArgAttr(i, gradientAttr)) {
      gradients.push_back(cotangents.findOrZero(argument));
      attributes.push_back(gradientAttributes(function, i));
    }
  }
  function.front().getTerminator()->setOperands(gradients);
  function.setType(FunctionType::get(function.getContext(),
                                     function.getArgumentTypes(),
                                     ValueRange(gradients).getTypes()));
  function.setAllResultAttrs(attributes);
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    function.removeArgAttr(i, gradientAttr);
  }
  function.setName((function.getName() + "_backward").str());
}

struct DeriveBackward : recurra::impl::DeriveBackwardBase<DeriveBackward> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    bool wanted = false;
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      wanted |= static_cast<bool>(function.getArgAttr(i, gradientAttr));
    }
    if (!wanted) {
      return;
    }
    ScanOp scan = prepareScan(function);
    if (!scan) {
      return signalPassFailure();
    }
    derive(function, scan);
  }

  static void derive(func::FuncOp function, ScanOp scan) {
    Activity activity(function);
    OpBuilder builder(function.front().getTerminator());
    Cotangents cotangents(builder);
    SmallVector<Operation *> ops;
    for (Operation &op : function.front().without_terminator()) {
      ops.push_back(&op);
    }
    addCotangentArguments(function, cotangents);
    for (Operation *op : llvm::reverse(ops)) {
      if (op == scan) {
        differentiateScan(scan, activity, cotangents, builder);
      } else {
        cotangents.sweep(op, [&](Value v) { return activity.contains(v); });
      }
    }
    returnGradients(function, cotangents);
    scan.erase();
    function.walk([](DetachOp op) {
      op.replaceAllUsesWith(op.getOperand());
      op.erase();
    });
  }
};

} // namespace
