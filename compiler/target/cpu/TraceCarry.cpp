// When a carry may live in its trace, and where.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cpu/TraceCarry.h"

#include "compiler/target/cpu/BodyGraph.h"

using namespace mlir;

namespace recurra::cpu {

/// The buffer is a window of tokens over whole tiles of these axes.
static bool isTraceOf(chunk::BufferType type, ArrayRef<Axis> axes,
                      StringAttr token, int64_t window) {
  if (type.getRank() != axes.size() + 1) {
    return false;
  }
  for (auto [name, size, per] :
       llvm::zip(type.getNames(), type.getWindows(), type.getPers())) {
    bool isToken = name == token;
    if (per != 1 || (isToken ? size != window : !hasAxis(axes, name))) {
      return false;
    }
  }
  return true;
}

chunk::StoreOp findTraceStore(chunk::ForOp loop, unsigned index,
                              ArrayRef<Axis> axes) {
  Value carry = loop.getCarries()[index];
  Value parent = loop.getParent();
  if (!parent || loop.getStep() != 1 || loop.getReverse()) {
    return {};
  }
  auto window = cast<chunk::SpanType>(parent.getType());
  for (Operation *user : carry.getUsers()) {
    auto store = dyn_cast<chunk::StoreOp>(user);
    if (!store || store->getBlock() != &loop.getBlock() ||
        store.getValue() != carry || store.getFirst() ||
        window.getAxis().getValue() != loop.getAxis() ||
        !isScratch(store.getBuffer()) ||
        chunk::findIndex(store.getIndices(), loop.getAxis()) !=
            loop.getSpan() ||
        !isTraceOf(store.getBuffer().getType(), axes, window.getAxis(),
                   window.getCapacity())) {
      continue;
    }
    bool isAlone =
        llvm::none_of(store.getBuffer().getUsers(), [&](Operation *other) {
          return other != store &&
                 (isa<chunk::StoreOp>(other) || loop->isProperAncestor(other));
        });
    if (isAlone) {
      return store;
    }
  }
  return {};
}

View traceSlot(Frame &f, Value trace, ArrayRef<Axis> axes, Value position) {
  View slot = makeDenseView(axes, f.lanes);
  int64_t stride = paddedElements(axes, f.lanes);
  slot.base = f.pointer(f.basePointer(f.scratchBuffer(trace)), f.element,
                        f.mul(position, f.integer(stride)));
  return slot;
}

} // namespace recurra::cpu
