// The evaluator of the chunk dialect.
// SPDX-License-Identifier: Apache-2.0
#include "tests/compiler/ChunkEvaluate.h"

#include "compiler/chunk/Chunk.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>
#include <functional>
#include <limits>
#include <random>

using namespace mlir;
using namespace recurra;
using namespace recurra::chunk;

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

/// A value: elements row-major in the type's axis order, and how far each axis
/// is valid.
struct Tile {
  TileType type;
  std::vector<double> values;
  std::map<std::string, int64_t> valid;
};

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

/// Calls `visit(index)` for every multi-index below `sizes`, row-major.
void forEachIndex(ArrayRef<int64_t> sizes,
                  llvm::function_ref<void(ArrayRef<int64_t>)> visit) {
  std::vector<int64_t> index(sizes.size(), 0);
  if (llvm::is_contained(sizes, 0)) {
    return;
  }
  while (true) {
    visit(index);
    size_t axis = sizes.size();
    while (axis > 0 && ++index[axis - 1] == sizes[axis - 1]) {
      index[--axis] = 0;
    }
    if (axis == 0) {
      return;
    }
  }
}

/// The position in `tile` of an index over `axes`, those it lacks ignored.
int64_t locate(TileType tile, ArrayRef<StringAttr> axes,
               ArrayRef<int64_t> index) {
  int64_t position = 0;
  for (auto [name, size] : llvm::zip(tile.getNames(), tile.getSizes())) {
    position *= size;
    for (auto [axis, entry] : llvm::zip(axes, index)) {
      position += axis == name ? entry : 0;
    }
  }
  return position;
}

Tile makeTile(TileType type, double value) {
  return {type, std::vector<double>(type.getNumElements(), value), {}};
}

/// `result` is valid no further than `operand` along their common axes.
void limit(Tile &result, const Tile &operand) {
  for (auto &[axis, length] : operand.valid) {
    if (result.type.hasAxis(axis)) {
      auto place = result.valid.emplace(axis, length).first;
      place->second = std::min(place->second, length);
    }
  }
}

double evaluateUnary(StringRef name, double x) {
  static const std::map<std::string, double (*)(double)> table = {
      {"arith.negf", [](double x) { return -x; }},
      {"math.absf", [](double x) { return std::fabs(x); }},
      {"math.exp", [](double x) { return std::exp(x); }},
      {"math.expm1", [](double x) { return std::expm1(x); }},
      {"math.log", [](double x) { return std::log(x); }},
      {"math.log1p", [](double x) { return std::log1p(x); }},
      {"math.sqrt", [](double x) { return std::sqrt(x); }},
      {"math.rsqrt", [](double x) { return 1 / std::sqrt(x); }},
      {"math.tanh", [](double x) { return std::tanh(x); }}};
  auto found = table.find(name.str());
  return found == table.end() ? nan : found->second(x);
}

double evaluateBinary(StringRef name, double x, double y) {
  static const std::map<std::string, double (*)(double, double)> table = {
      {"arith.addf", [](double x, double y) { return x + y; }},
      {"arith.subf", [](double x, double y) { return x - y; }},
      {"arith.mulf", [](double x, double y) { return x * y; }},
      {"arith.divf", [](double x, double y) { return x / y; }},
      {"arith.andi", [](double x, double y) { return x * y; }},
      {"arith.maximumf",
       [](double x, double y) {
         return std::isnan(x) || std::isnan(y) ? nan : std::max(x, y);
       }},
      {"arith.minimumf", [](double x, double y) {
         return std::isnan(x) || std::isnan(y) ? nan : std::min(x, y);
       }}};
  auto found = table.find(name.str());
  return found == table.end() ? nan : found->second(x, y);
}

double compare(arith::CmpFPredicate predicate, double x, double y) {
  switch (predicate) {
  case arith::CmpFPredicate::OLT:
    return x < y;
  case arith::CmpFPredicate::OLE:
    return x <= y;
  case arith::CmpFPredicate::OGT:
    return x > y;
  case arith::CmpFPredicate::OGE:
    return x >= y;
  case arith::CmpFPredicate::OEQ:
    return x == y;
  case arith::CmpFPredicate::UNE:
    return x != y;
  default:
    return nan;
  }
}

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

  // Values.
  void runMap(MapOp op);
  void runReduce(ReduceOp op);
  void runScan(ScanOp op);
  void runDot(DotOp op);
  void runRename(RenameOp op);
  void runIndex(IndexOp op);
  void runPlace(PlaceOp op);
  void runMask(MaskOp op);
  void runFirst(FirstOp op);
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

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

void Evaluator::runMap(MapOp op) {
  Tile result = makeTile(op.getResult().getType(), nan);
  llvm::DenseMap<Value, std::vector<double>> scalars;
  for (auto [argument, input] :
       llvm::zip(op.getBlock().getArguments(), op.getInputs())) {
    Tile &operand = tile(input);
    limit(result, operand);
    std::vector<double> &values = scalars[argument];
    forEachIndex(result.type.getSizes(), [&](ArrayRef<int64_t> index) {
      values.push_back(
          operand.values[locate(operand.type, result.type.getNames(), index)]);
    });
  }
  for (Operation &inner : op.getBlock().without_terminator()) {
    std::vector<double> values(result.values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      auto operand = [&](unsigned k) {
        return scalars[inner.getOperand(k)][i];
      };
      if (auto constant = dyn_cast<arith::ConstantOp>(inner)) {
        values[i] = cast<FloatAttr>(constant.getValue()).getValueAsDouble();
      } else if (auto cmp = dyn_cast<arith::CmpFOp>(inner)) {
        values[i] = compare(cmp.getPredicate(), operand(0), operand(1));
      } else if (isa<arith::SelectOp>(inner)) {
        values[i] = operand(0) != 0 ? operand(1) : operand(2);
      } else {
        StringRef name = inner.getName().getStringRef();
        values[i] = inner.getNumOperands() == 1
                        ? evaluateUnary(name, operand(0))
                        : evaluateBinary(name, operand(0), operand(1));
      }
    }
    scalars[inner.getResult(0)] = std::move(values);
  }
  result.values = scalars[op.getBlock().getTerminator()->getOperand(0)];
  int64_t at = 0;
  forEachIndex(result.type.getSizes(), [&](ArrayRef<int64_t> index) {
    for (auto [name, entry] : llvm::zip(result.type.getNames(), index)) {
      auto found = result.valid.find(name.str());
      if (found != result.valid.end() && entry >= found->second) {
        result.values[at] = nan;
      }
    }
    ++at;
  });
  tiles[op.getResult()] = std::move(result);
}

void Evaluator::runReduce(ReduceOp op) {
  Tile &input = tile(op.getInput());
  bool isMax = op.getKind() == "max";
  Tile result = makeTile(op.getResult().getType(), isMax ? -infinity : 0);
  limit(result, input);
  int64_t at = 0;
  forEachIndex(input.type.getSizes(), [&](ArrayRef<int64_t> index) {
    double &sum =
        result.values[locate(result.type, input.type.getNames(), index)];
    double x = input.values[at++];
    sum = isMax ? evaluateBinary("arith.maximumf", sum, x) : sum + x;
  });
  tiles[op.getResult()] = std::move(result);
}

void Evaluator::runScan(ScanOp op) {
  Tile result = tile(op.getInput());
  ArrayRef<StringAttr> names = result.type.getNames();
  int64_t at = 0;
  forEachIndex(result.type.getSizes(), [&](ArrayRef<int64_t> index) {
    std::vector<int64_t> before(index);
    for (auto [name, entry] : llvm::zip(names, before)) {
      if (name == op.getAlong() && --entry < 0) {
        ++at;
        return;
      }
    }
    double last = result.values[locate(result.type, names, before)];
    double &x = result.values[at++];
    x = op.getKind() == "max" ? std::max(x, last) : x + last;
  });
  tiles[op.getResult()] = std::move(result);
}

void Evaluator::runDot(DotOp op) {
  Tile &lhs = tile(op.getLhs()), &rhs = tile(op.getRhs());
  Tile result = makeTile(op.getResult().getType(), 0);
  limit(result, lhs);
  limit(result, rhs);
  if (op.getAcc()) {
    result.values = tile(op.getAcc()).values;
    limit(result, tile(op.getAcc()));
  }
  TileType product = lhs.type;
  for (auto [name, size] :
       llvm::zip(rhs.type.getNames(), rhs.type.getSizes())) {
    product = product.hasAxis(name) ? product : product.addAxis(name, size);
  }
  ArrayRef<StringAttr> names = product.getNames();
  forEachIndex(product.getSizes(), [&](ArrayRef<int64_t> index) {
    result.values[locate(result.type, names, index)] +=
        lhs.values[locate(lhs.type, names, index)] *
        rhs.values[locate(rhs.type, names, index)];
  });
  tiles[op.getResult()] = std::move(result);
}

void Evaluator::runRename(RenameOp op) {
  Tile &input = tile(op.getInput());
  Tile result = makeTile(op.getResult().getType(), 0);
  std::vector<StringAttr> names(input.type.getNames());
  for (StringAttr &name : names) {
    name = name == op.getFrom() ? op.getToAttr() : name;
  }
  for (auto &[axis, length] : input.valid) {
    result.valid[axis == op.getFrom() ? op.getTo().str() : axis] = length;
  }
  int64_t at = 0;
  forEachIndex(input.type.getSizes(), [&](ArrayRef<int64_t> index) {
    result.values[locate(result.type, names, index)] = input.values[at++];
  });
  tiles[op.getResult()] = std::move(result);
}

/// Copies between a tile and entry `position` of `axis` of a bigger one.
void copyEntry(Tile &big, Tile &small, StringRef axis, int64_t position,
               bool toSmall) {
  ArrayRef<StringAttr> names = big.type.getNames();
  int64_t at = 0;
  forEachIndex(big.type.getSizes(), [&](ArrayRef<int64_t> index) {
    for (auto [name, entry] : llvm::zip(names, index)) {
      if (name == axis && entry == position) {
        double &entryOfSmall = small.values[locate(small.type, names, index)];
        (toSmall ? entryOfSmall : big.values[at]) =
            toSmall ? big.values[at] : entryOfSmall;
      }
    }
    ++at;
  });
}

void Evaluator::runIndex(IndexOp op) {
  Tile result = makeTile(op.getResult().getType(), 0);
  limit(result, tile(op.getInput()));
  copyEntry(tile(op.getInput()), result, op.getAxis(), op.getPosition(), true);
  tiles[op.getResult()] = std::move(result);
}

void Evaluator::runPlace(PlaceOp op) {
  Tile result = makeTile(op.getResult().getType(), 0);
  limit(result, tile(op.getInput()));
  copyEntry(result, tile(op.getInput()), op.getAxis(), op.getPosition(), false);
  tiles[op.getResult()] = std::move(result);
}

void Evaluator::runMask(MaskOp op) {
  Tile result = tile(op.getInput());
  StringAttr axis = op.getSpan().getType().getAxis();
  int64_t length = spans[op.getSpan()].length, at = 0;
  forEachIndex(result.type.getSizes(), [&](ArrayRef<int64_t> index) {
    for (auto [name, entry] : llvm::zip(result.type.getNames(), index)) {
      if (name == axis && entry >= length) {
        result.values[at] = op.getMinusInfinity() ? -infinity : 0;
      }
    }
    ++at;
  });
  tiles[op.getResult()] = std::move(result);
}

void Evaluator::runFirst(FirstOp op) {
  Tile result = tile(op.getInput());
  if (spans[op.getSpan()].origin != 0) {
    result.values.assign(result.values.size(), 0);
  }
  tiles[op.getResult()] = std::move(result);
}

void Evaluator::runOp(Operation *op) {
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](ForallOp op) { runForall(op, 0); })
      .Case([&](ForOp op) { runFor(op); })
      .Case([&](AllocOp op) { runAlloc(op); })
      .Case([&](LoadOp op) { runLoad(op); })
      .Case([&](StoreOp op) { runStore(op); })
      .Case([&](FillOp op) {
        tiles[op.getResult()] =
            makeTile(op.getResult().getType(), op.getValue().convertToDouble());
      })
      .Case([&](MapOp op) { runMap(op); })
      .Case([&](ReduceOp op) { runReduce(op); })
      .Case([&](ScanOp op) { runScan(op); })
      .Case([&](DotOp op) { runDot(op); })
      .Case([&](RenameOp op) { runRename(op); })
      .Case([&](IndexOp op) { runIndex(op); })
      .Case([&](PlaceOp op) { runPlace(op); })
      .Case([&](MaskOp op) { runMask(op); })
      .Case([&](FirstOp op) { runFirst(op); })
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
