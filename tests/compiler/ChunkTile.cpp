// The ops of the chunk dialect that make tiles from tiles, in double.
// SPDX-License-Identifier: Apache-2.0
#include "tests/compiler/ChunkTile.h"

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace recurra;
using namespace recurra::chunk;

constexpr double notANumber = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

void recurra::forEachIndex(ArrayRef<int64_t> sizes,
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

int64_t recurra::locate(TileType tile, ArrayRef<StringAttr> axes,
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

Tile recurra::makeTile(TileType type, double value) {
  return {type, std::vector<double>(type.getNumElements(), value), {}};
}

namespace {

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
  return found == table.end() ? notANumber : found->second(x);
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
         return std::isnan(x) || std::isnan(y) ? notANumber : std::max(x, y);
       }},
      {"arith.minimumf", [](double x, double y) {
         return std::isnan(x) || std::isnan(y) ? notANumber : std::min(x, y);
       }}};
  auto found = table.find(name.str());
  return found == table.end() ? notANumber : found->second(x, y);
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
    return notANumber;
  }
}

using Tiles = ArrayRef<const Tile *>;

/// The values of the region's arguments, along the result.
llvm::DenseMap<Value, std::vector<double>> spread(MapOp op, Tiles operands,
                                                  const Tile &result) {
  llvm::DenseMap<Value, std::vector<double>> scalars;
  for (auto [argument, operand] :
       llvm::zip(op.getBlock().getArguments(), operands)) {
    std::vector<double> &values = scalars[argument];
    forEachIndex(result.type.getSizes(), [&](ArrayRef<int64_t> index) {
      values.push_back(operand->values[locate(operand->type,
                                              result.type.getNames(), index)]);
    });
  }
  return scalars;
}

double evaluateScalar(Operation &op, llvm::function_ref<double(unsigned)> get) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    return cast<FloatAttr>(constant.getValue()).getValueAsDouble();
  }
  if (auto cmp = dyn_cast<arith::CmpFOp>(op)) {
    return compare(cmp.getPredicate(), get(0), get(1));
  }
  if (isa<arith::SelectOp>(op)) {
    return get(0) != 0 ? get(1) : get(2);
  }
  StringRef name = op.getName().getStringRef();
  return op.getNumOperands() == 1 ? evaluateUnary(name, get(0))
                                  : evaluateBinary(name, get(0), get(1));
}

/// NaN beyond the valid length of each axis.
void poison(Tile &tile) {
  int64_t at = 0;
  forEachIndex(tile.type.getSizes(), [&](ArrayRef<int64_t> index) {
    for (auto [name, entry] : llvm::zip(tile.type.getNames(), index)) {
      auto found = tile.valid.find(name.str());
      if (found != tile.valid.end() && entry >= found->second) {
        tile.values[at] = notANumber;
      }
    }
    ++at;
  });
}

Tile evaluateMap(MapOp op, Tiles operands) {
  Tile result = makeTile(op.getResult().getType(), notANumber);
  for (const Tile *operand : operands) {
    limit(result, *operand);
  }
  auto scalars = spread(op, operands, result);
  for (Operation &inner : op.getBlock().without_terminator()) {
    std::vector<double> values(result.values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = evaluateScalar(
          inner, [&](unsigned k) { return scalars[inner.getOperand(k)][i]; });
    }
    scalars[inner.getResult(0)] = std::move(values);
  }
  result.values = scalars[op.getBlock().getTerminator()->getOperand(0)];
  poison(result);
  return result;
}

Tile evaluateReduce(ReduceOp op, const Tile &input) {
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
  return result;
}

Tile evaluateScan(ScanOp op, Tile result) {
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
  return result;
}

Tile evaluateDot(DotOp op, Tiles operands) {
  const Tile &lhs = *operands[0], &rhs = *operands[1];
  Tile result = makeTile(op.getResult().getType(), 0);
  if (operands.size() == 3) {
    result.values = operands[2]->values;
  }
  for (const Tile *operand : operands) {
    limit(result, *operand);
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
  return result;
}

Tile evaluateRename(RenameOp op, const Tile &input) {
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
  return result;
}

/// Calls `visit(element of big, element of small)` for entry `position`.
void forEachEntry(TileType big, TileType small, StringRef axis,
                  int64_t position,
                  llvm::function_ref<void(int64_t, int64_t)> visit) {
  int64_t at = 0;
  forEachIndex(big.getSizes(), [&](ArrayRef<int64_t> index) {
    for (auto [name, entry] : llvm::zip(big.getNames(), index)) {
      if (name == axis && entry == position) {
        visit(at, locate(small, big.getNames(), index));
      }
    }
    ++at;
  });
}

Tile evaluateEntry(Operation *op, const Tile &input, StringRef axis,
                   int64_t position) {
  Tile result = makeTile(cast<TileType>(op->getResult(0).getType()), 0);
  limit(result, input);
  bool isIndex = isa<IndexOp>(op);
  forEachEntry(isIndex ? input.type : result.type,
               isIndex ? result.type : input.type, axis, position,
               [&](int64_t big, int64_t small) {
                 if (isIndex) {
                   result.values[small] = input.values[big];
                 } else {
                   result.values[big] = input.values[small];
                 }
               });
  return result;
}

} // namespace

Tile recurra::mask(MaskOp op, Tile value, int64_t length) {
  StringAttr axis = op.getSpan().getType().getAxis();
  int64_t at = 0;
  forEachIndex(value.type.getSizes(), [&](ArrayRef<int64_t> index) {
    for (auto [name, entry] : llvm::zip(value.type.getNames(), index)) {
      if (name == axis && entry >= length) {
        value.values[at] = op.getMinusInfinity() ? -infinity : 0;
      }
    }
    ++at;
  });
  return value;
}

Tile recurra::evaluateTile(Operation *op, ArrayRef<const Tile *> operands) {
  return llvm::TypeSwitch<Operation *, Tile>(op)
      .Case([&](FillOp op) {
        return makeTile(op.getResult().getType(),
                        op.getValue().convertToDouble());
      })
      .Case([&](MapOp op) { return evaluateMap(op, operands); })
      .Case([&](ReduceOp op) { return evaluateReduce(op, *operands[0]); })
      .Case([&](ScanOp op) { return evaluateScan(op, *operands[0]); })
      .Case([&](DotOp op) { return evaluateDot(op, operands); })
      .Case([&](RenameOp op) { return evaluateRename(op, *operands[0]); })
      .Case([&](IndexOp op) {
        return evaluateEntry(op, *operands[0], op.getAxis(), op.getPosition());
      })
      .Case([&](PlaceOp op) {
        return evaluateEntry(op, *operands[0], op.getAxis(), op.getPosition());
      });
}
