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

/// The function's only scan; an empty one if it has none, null if several.
ScanOp findScan(func::FuncOp function) {
  auto scans = llvm::to_vector(function.front().getOps<ScanOp>());
  if (scans.size() > 1) {
    function.emitError() << "derive-backward wants one scan, this function has "
                         << scans.size();
    return nullptr;
  }
  if (!scans.empty()) {
    return scans[0];
  }
  OpBuilder builder(function.front().getTerminator());
  auto scan = ScanOp::create(builder, function.getLoc(), false, ValueRange(),
                             ValueRange(), TypeRange());
  builder.setInsertionPointToStart(scan.getStep());
  YieldOp::create(builder, function.getLoc());
  return scan;
}

/// This token's entry of a sequence, which the scan reads from now on.
Value readSequence(ScanOp scan, Value sequence) {
  for (auto [known, token] : llvm::zip(scan.getSequences(), scan.getTokens())) {
    if (known == sequence) {
      return token;
    }
  }
  auto type = ValType::get(sequence.getContext(), axesOf(sequence));
  Value token = scan.getStep()->insertArgument(scan.getSequences().size(), type,
                                               sequence.getLoc());
  scan.getSequencesMutable().append(sequence);
  return token;
}

/// The scan with one emitted sequence for each that the function returns: not
/// the same one twice, nor an argument as it is.
ScanOp emitReturned(func::FuncOp function, ScanOp scan) {
  Operation *ret = function.front().getTerminator();
  SmallVector<OpOperand *> returned;
  SmallVector<Value> emitted;
  for (OpOperand &operand : ret->getOpOperands()) {
    if (isa<SeqType>(operand.get().getType())) {
      returned.push_back(&operand);
      auto result = dyn_cast<OpResult>(operand.get());
      emitted.push_back(
          result ? scan.getYield().getEmitted()[result.getResultNumber()]
                 : readSequence(scan, operand.get()));
    }
  }
  OpBuilder builder(scan);
  auto whole = ScanOp::create(builder, scan.getLoc(), scan.getReverse(),
                              scan.getSequences(), scan.getInits(),
                              ValueRange(emitted).getTypes());
  whole->setDiscardableAttrs(scan->getDiscardableAttrDictionary());
  whole.getBody().takeBody(scan.getBody());
  whole.getYield().getEmittedMutable().assign(emitted);
  for (auto [operand, result] : llvm::zip(returned, whole.getEmitted())) {
    operand->set(result);
  }
  for (auto [last, result] :
       llvm::zip(scan->getResults().take_back(whole.getInits().size()),
                 whole.getLast())) {
    last.replaceAllUsesWith(result);
  }
  scan.erase();
  return whole;
}

/// The scan, made ready: it reads every sequence whose gradient is wanted (one
/// without influence gets zeros), each once. Null after an error.
ScanOp prepareScan(func::FuncOp function) {
  ScanOp scan = findScan(function);
  if (!scan) {
    return nullptr;
  }
  llvm::DenseSet<Value> read(scan.getSequences().begin(),
                             scan.getSequences().end());
  if (read.size() != scan.getSequences().size()) {
    scan.emitError("derive-backward wants each sequence read once; "
                   "canonicalize first");
    return nullptr;
  }
  for (BlockArgument argument : function.getArguments()) {
    if (isa<SeqType>(argument.getType()) &&
        function.getArgAttr(argument.getArgNumber(), gradientAttr)) {
      readSequence(scan, argument);
    }
  }
  return emitReturned(function, scan);
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
