// First the loads of some tokens, then their steps; one by one what is left, or
// all if vectors are in pieces.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/VectorMemory.h"

#include "compiler/target/cuda/BlockPrinter.h"

using namespace mlir;

namespace recurra::cuda {

static std::string text(std::int64_t number) { return std::to_string(number); }

VectorMemory::VectorMemory(KernelFrame &frame, const VectorForm &form)
    : f(frame), form(form), areWide(frame.text.name("areWide")),
      next(frame.text.name("next")) {
  std::string all;
  for (chunk::LoadOp load : form.loads) {
    if (!load.getResult().use_empty()) {
      add(load, load.getBuffer());
      const std::string &wide = accesses[load].wide;
      all += wide.empty() ? "" : (all.empty() ? "" : " && ") + wide;
    }
  }
  f.text.line("const bool " + areWide + " = " + (all.empty() ? "true" : all) +
              ";");
  for (chunk::StoreOp store : form.stores) {
    add(store, store.getBuffer());
  }
}

/// Tokens have two dimensions, slots of tokens one.
VectorMemory::Access VectorMemory::makeAccess(Value buffer) const {
  auto type = cast<chunk::BufferType>(buffer.getType());
  Access access;
  access.buffer = f.buffers.lookup(buffer);
  access.type = storedName(type.getElement());
  access.tokenStride = access.buffer + ".strides[1]";
  std::int64_t dimension = type.findAxis(form.axis.getValue());
  if (dimension >= 0) {
    std::int64_t tokens = type.findAxis("T");
    dimension += tokens >= 0 && type.getPers()[tokens] == 1 ? 1 : 0;
    access.stride = access.buffer + ".strides[" + text(dimension) + "]";
    access.wide = "isWide<" + access.type + ", " + text(form.width) + ">(" +
                  access.buffer + ", " + text(dimension) + ")";
  }
  return access;
}

/// Prints whether its vectors are in one piece.
void VectorMemory::add(Operation *op, Value buffer) {
  Access access = makeAccess(buffer);
  if (!access.stride.empty()) {
    std::string wide = f.text.name(access.buffer + "_isWide");
    f.text.line("const bool " + wide + " = " + access.wide + ";");
    access.wide = wide;
  }
  accesses[op] = access;
}

/// To the thread's entries of the first token that the loop visits.
void VectorMemory::printPointers(chunk::ForOp op) {
  Axes axes = {{form.axis, form.size}};
  auto print = [&](Operation *access, Value buffer, OperandRange indices,
                   bool isStore) {
    auto found = accesses.find(access);
    if (found == accesses.end()) {
      return;
    }
    Access &at = found->second;
    MemoryView view = f.viewOf(buffer, indices, axes, isStore);
    at.pointer = view.pointer;
    at.words = f.text.name(at.buffer + "_words");
    if (!at.stride.empty()) {
      f.text.line(at.pointer + " += " + f.layout.first + " * " + at.stride +
                  ";");
    }
  };
  for (chunk::LoadOp load : form.loads) {
    print(load, load.getBuffer(), load.getIndices(), /*isStore=*/false);
  }
  for (chunk::StoreOp store : form.stores) {
    print(store, store.getBuffer(), store.getIndices(), /*isStore=*/true);
  }
}

void VectorMemory::printAdvance(const Access &access) {
  chunk::ForOp tokens = form.tokens;
  f.text.line(access.pointer + (tokens.getReverse() ? " -= " : " += ") +
              access.tokenStride + ";");
}

/// Declares the words of some tokens (`count` of them, or one) and fills them.
void VectorMemory::printTakes(const std::string &count) {
  SmallVector<const Access *> all;
  for (chunk::LoadOp load : form.loads) {
    if (accesses.contains(load)) {
      all.push_back(&accesses[load]);
    }
  }
  for (const Access *access : all) {
    f.text.line("Entries<" + access->type + ", " +
                text(access->stride.empty() ? 1 : form.width) + "> " +
                access->words + (count.empty() ? "" : "[" + count + "]") + ";");
  }
  if (!count.empty()) {
    openTokens(count);
  }
  for (const Access *access : all) {
    std::string isWide = count.empty() ? access->wide : "true";
    f.text.line(
        "take(" + access->words + index + ", " + access->pointer +
        (access->stride.empty() ? "" : ", " + access->stride + ", " + isWide) +
        ");");
    printAdvance(*access);
  }
  if (!count.empty()) {
    f.text.close();
  }
}

void VectorMemory::openTokens(const std::string &count) {
  f.text.line("#pragma unroll");
  f.text.open("for (int " + next + " = 0; " + next + " < " + count + "; ++" +
              next + ")");
}

void VectorMemory::printStep(chunk::ForOp op, ArrayRef<Home> carries) {
  BlockPrinter body(f, op.getBlock());
  body.print();
  body.printYields(carries);
}

bool VectorMemory::loop(chunk::ForOp op, ArrayRef<Home> carries) {
  if (op != form.tokens) {
    return false;
  }
  Value span = op.getSpan();
  std::string begin = f.beginOf(span), total = f.totalOf(span);
  bool isReverse = op.getReverse();
  f.spans[span] = {cast<chunk::SpanType>(span.getType()).getAxis(), 1,
                   isReverse ? "(" + begin + " + " + total + " - 1)" : begin,
                   ""};
  printPointers(op);
  std::string left = f.text.name("left"), count = text(form.ahead);
  f.text.line("Index " + left + " = " + total + ";");
  f.text.open("for (; " + areWide + " && " + left + " >= " + count + "; " +
              left + " -= " + count + ")");
  index = "[" + next + "]";
  printTakes(count);
  openTokens(count);
  printStep(op, carries);
  f.text.close();
  f.text.close();
  f.text.line("#pragma unroll 1");
  f.text.open("for (; " + left + " > 0; --" + left + ")");
  index = "";
  printTakes("");
  printStep(op, carries);
  f.text.close();
  return true;
}

/// What is loaded once, before tokens, comes as in other kernels: vectors would
/// take more instructions than they save.
bool VectorMemory::load(chunk::LoadOp op, const Home &home, const Axes &axes) {
  auto found = accesses.find(op);
  if (found == accesses.end()) {
    return false;
  }
  Point point;
  f.openLoops(axes, point);
  f.text.line(f.at(home, point) + " = entryOf(" + found->second.words + index +
              ", " + (point.empty() ? "0" : point.front().second) + ");");
  f.closeLoops(axes);
  return true;
}

bool VectorMemory::store(chunk::StoreOp op, const Home &home,
                         const Axes &axes) {
  auto found = accesses.find(op);
  bool isOfToken = found != accesses.end();
  Access access = isOfToken ? found->second : makeAccess(op.getBuffer());
  if (!isOfToken) {
    f.text.open("");
    MemoryView view =
        f.viewOf(op.getBuffer(), op.getIndices(), axes, /*isStore=*/true);
    access.pointer =
        view.pointer + " + " + f.layout.first + " * " + access.stride;
  }
  f.text.line("give<" + access.type + ", " + text(form.width) + ">(" +
              access.pointer + ", " + access.stride + ", " + access.wide +
              ", " + home.name + ");");
  if (isOfToken) {
    printAdvance(access);
  } else {
    f.text.close();
  }
  return true;
}

} // namespace recurra::cuda
