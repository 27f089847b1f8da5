// The evaluator of the chunk dialect.
// SPDX-License-Identifier: Apache-2.0
#include "tests/compiler/ChunkEvaluate.h"

#include "llvm/ADT/TypeSwitch.h"
#include "tests/compiler/ChunkTile.h"

#include <limits>
#include <random>

using namespace mlir;
using namespace recurra;
using namespace recurra::chunk;

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
/// A run of an axis. For T, `origin` counts within sequence `sequence`, whose
/// first token is `start`.
struct Span {
  int64_t origin = 0, length = 0, sequence = 0, start = 0;
};

struct Memory {
  BufferType type;
  std::vector<int64_t> sizes;
  std::vector<double> owned;
  std::vector<double> *values = nullptr;
  std::vector<bool> stored;
  bool scratch = false;
};

class Evaluator {
public:
  Evaluator(func::FuncOp function, const ChunkSizes &sizes, unsigned seed)
      : function(function), sizes(sizes), random(seed) {}

  std::string run(std::vector<Array> &arguments);
  std::vector<int64_t> sizesOf(BufferType type);

private:
  void complain(Operation *op, const Twine &message) {
    if (complaint.empty()) {
      complaint = (op->getName().getStringRef() + ": " + message).str();
    }
  }
  Tile &tile(Value value) { return tiles[value]; }

  // Loops.
  std::vector<Span> spansOf(Value span, Value parent);
  void runBlock(Block &block);
  void runForall(ForallOp op, unsigned iterator);
  void runFor(ForOp op);

  // Memory.
  void runAlloc(AllocOp op);
  int64_t position(Operation *op, Memory &memory, unsigned axis, Value index,
                   int64_t entry);
  void access(Operation *op, Value buffer, OperandRange indices, Tile &value,
              bool isStore);
  void runLoad(LoadOp op);
  void runStore(StoreOp op);

  void runOp(Operation *op);

  func::FuncOp function;
  const ChunkSizes &sizes;
  std::mt19937 random;
  std::string complaint;
  llvm::DenseMap<Value, Tile> tiles;
  llvm::DenseMap<Value, Span> spans;
  llvm::DenseMap<Value, Memory> memories;
};

std::vector<int64_t> Evaluator::sizesOf(BufferType type) {
  std::vector<int64_t> result;
  int64_t allTokens =
      sizes.offsets.empty() ? sizes.rows * sizes.tokens : sizes.tokens;
  for (auto [name, window, per] :
       llvm::zip(type.getNames(), type.getWindows(), type.getPers())) {
    int64_t entries = window        ? window
                      : name == "T" ? allTokens
                      : name == "H" ? sizes.heads
                      : name == "N"
                          ? sizes.sequences()
                          : getExtent(&function.front().front(), name);
    bool slots = name == "T" && !window && per > 1;
    result.push_back(slots ? entries / per + sizes.sequences()
                           : (entries + per - 1) / per);
  }
  return result;
}

std::string Evaluator::run(std::vector<Array> &arguments) {
  for (auto [argument, array] : llvm::zip(function.getArguments(), arguments)) {
    Memory &memory = memories[argument];
    memory.type = cast<BufferType>(argument.getType());
    memory.sizes = sizesOf(memory.type);
    memory.values = &array.values;
    int64_t count = 1;
    for (int64_t size : memory.sizes) {
      count *= size;
    }
    if (count != static_cast<int64_t>(array.values.size())) {
      return "argument " + std::to_string(argument.getArgNumber()) +
             " has the wrong size";
    }
    memory.stored.resize(count);
  }
  runBlock(function.front());
  return complaint;
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

std::vector<Span> Evaluator::spansOf(Value span, Value parent) {
  auto type = cast<SpanType>(span.getType());
  StringRef axis = type.getAxis();
  Span whole;
  if (parent && cast<SpanType>(parent.getType()).getAxis() == type.getAxis()) {
    whole = spans[parent];
  } else if (axis == "T") {
    whole.sequence = spans[parent].origin;
    whole.start = sizes.offsets.empty() ? whole.sequence * sizes.tokens
                                        : sizes.offsets[whole.sequence];
    whole.length = sizes.offsets.empty()
                       ? sizes.tokens
                       : sizes.offsets[whole.sequence + 1] - whole.start;
  } else {
    whole.length = axis == "H"   ? sizes.heads
                   : axis == "N" ? sizes.sequences()
                                 : getExtent(getLoop(span), axis);
  }
  std::vector<Span> result;
  for (int64_t at = 0; at < whole.length; at += type.getCapacity()) {
    Span part = whole;
    part.origin = whole.origin + at;
    part.length = std::min(type.getCapacity(), whole.length - at);
    result.push_back(part);
  }
  return result;
}

void Evaluator::runBlock(Block &block) {
  for (Operation &op : block) {
    if (complaint.empty()) {
      runOp(&op);
    }
  }
}

void Evaluator::runForall(ForallOp op, unsigned iterator) {
  if (iterator == op.getNumIterators()) {
    return runBlock(op.getBlock());
  }
  std::vector<Span> all = spansOf(op.getSpan(iterator), op.getParent(iterator));
  std::shuffle(all.begin(), all.end(), random);
  for (Span &span : all) {
    spans[op.getSpan(iterator)] = span;
    runForall(op, iterator + 1);
  }
}

void Evaluator::runFor(ForOp op) {
  std::vector<Span> all = spansOf(op.getSpan(), op.getParent());
  if (op.getReverse()) {
    std::reverse(all.begin(), all.end());
  }
  std::vector<Tile> carries;
  for (Value init : op.getInits()) {
    carries.push_back(tile(init));
  }
  for (Span &span : all) {
    spans[op.getSpan()] = span;
    for (auto [argument, carry] : llvm::zip(op.getCarries(), carries)) {
      tiles[argument] = carry;
    }
    runBlock(op.getBlock());
    for (auto [carry, next] :
         llvm::zip(carries, op.getBlock().getTerminator()->getOperands())) {
      carry = tile(next);
    }
  }
  for (auto [result, carry] : llvm::zip(op.getResults(), carries)) {
    tiles[result] = carry;
  }
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

void Evaluator::runAlloc(AllocOp op) {
  Memory memory;
  memory.type = op.getBuffer().getType();
  memory.sizes = sizesOf(memory.type);
  memory.scratch = op.getScratch();
  int64_t count = 1;
  for (int64_t size : memory.sizes) {
    count *= size;
  }
  memory.owned.assign(count, nan);
  memory.stored.resize(count);
  Memory &place = memories[op.getBuffer()] = std::move(memory);
  place.values = &place.owned;
}

/// The position on one axis of `entry` within the accessed run; -1 beyond the
/// valid length.
int64_t Evaluator::position(Operation *op, Memory &memory, unsigned axis,
                            Value index, int64_t entry) {
  int64_t per = memory.type.getPers()[axis];
  int64_t window = memory.type.getWindows()[axis];
  if (!index) {
    return entry;
  }
  Span &span = spans[index];
  if (entry * per >= span.length) {
    return -1;
  }
  if (window) {
    Span &base = spans[getWindowSpan(index, window)];
    return (span.origin - base.origin) / per + entry;
  }
  if (memory.type.getNames()[axis] != "T") {
    return span.origin / per + entry;
  }
  return per == 1
             ? span.start + span.origin + entry
             : span.start / per + span.sequence + span.origin / per + entry;
}

void Evaluator::access(Operation *op, Value buffer, OperandRange indices,
                       Tile &value, bool isStore) {
  Memory &memory = memories[buffer];
  ArrayRef<StringAttr> names = memory.type.getNames();
  std::vector<int64_t> entries;
  for (StringAttr name : names) {
    entries.push_back(std::max<int64_t>(1, value.type.getSize(name)));
  }
  forEachIndex(entries, [&](ArrayRef<int64_t> index) {
    int64_t at = 0;
    for (unsigned axis = 0; axis < names.size(); ++axis) {
      int64_t entry = position(op, memory, axis,
                               findIndex(indices, names[axis]), index[axis]);
      if (entry < 0) {
        return; // padding: dropped, or left zero
      }
      if (entry >= memory.sizes[axis]) {
        return complain(op,
                        "outside the buffer on axis " + names[axis].getValue());
      }
      at = at * memory.sizes[axis] + entry;
    }
    double &element = value.values[locate(value.type, names, index)];
    if (!isStore) {
      element = (*memory.values)[at];
      return;
    }
    if (!memory.scratch && memory.stored[at]) {
      return complain(op, "stores an element twice");
    }
    memory.stored[at] = true;
    (*memory.values)[at] = element;
  });
}

void Evaluator::runLoad(LoadOp op) {
  Tile value = makeTile(op.getResult().getType(), 0);
  for (Value index : op.getIndices()) {
    StringRef axis = cast<SpanType>(index.getType()).getAxis();
    if (value.type.hasAxis(axis)) {
      int64_t per = op.getBuffer()
                        .getType()
                        .getPers()[op.getBuffer().getType().findAxis(axis)];
      value.valid[axis.str()] = (spans[index].length + per - 1) / per;
    }
  }
  access(op, op.getBuffer(), op.getIndices(), value, false);
  tiles[op.getResult()] = std::move(value);
}

void Evaluator::runStore(StoreOp op) {
  if (op.getFirst() && spans[op.getFirst()].origin != 0) {
    return;
  }
  access(op, op.getBuffer(), op.getIndices(), tile(op.getValue()), true);
}

void Evaluator::runOp(Operation *op) {
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](ForallOp op) { runForall(op, 0); })
      .Case([&](ForOp op) { runFor(op); })
      .Case([&](AllocOp op) { runAlloc(op); })
      .Case([&](LoadOp op) { runLoad(op); })
      .Case([&](StoreOp op) { runStore(op); })
      .Case([&](MaskOp op) {
        tiles[op.getResult()] =
            mask(op, tile(op.getInput()), spans[op.getSpan()].length);
      })
      .Case([&](FirstOp op) {
        Tile value = tile(op.getInput());
        if (spans[op.getSpan()].origin != 0) {
          value.values.assign(value.values.size(), 0);
        }
        tiles[op.getResult()] = std::move(value);
      })
      .Case<FillOp, MapOp, ReduceOp, ScanOp, DotOp, RenameOp, IndexOp, PlaceOp>(
          [&](Operation *op) {
            std::vector<const Tile *> operands;
            for (Value operand : op->getOperands()) {
              operands.push_back(&tile(operand));
            }
            Tile value = evaluateTile(op, operands);
            tiles[op->getResult(0)] = std::move(value);
          })
      .Case<YieldOp, func::ReturnOp>([](Operation *) {})
      .Default([&](Operation *op) { complain(op, "unknown op"); });
}

} // namespace

std::string recurra::evaluateChunk(func::FuncOp function,
                                   const ChunkSizes &sizes,
                                   std::vector<Array> &arguments,
                                   unsigned seed) {
  return Evaluator(function, sizes, seed).run(arguments);
}

std::int64_t recurra::countElements(func::FuncOp function, unsigned index,
                                    const ChunkSizes &sizes) {
  Evaluator evaluator(function, sizes, 0);
  std::int64_t count = 1;
  for (std::int64_t size : evaluator.sizesOf(
           cast<BufferType>(function.getArgument(index).getType()))) {
    count *= size;
  }
  return count;
}
