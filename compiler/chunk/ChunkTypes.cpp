// Printing, parsing and verifying the types of the chunk dialect.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/chunk/Chunk.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace recurra::chunk;

#define GET_TYPEDEF_CLASSES
#include "compiler/chunk/ChunkTypes.cpp.inc"

void ChunkDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "compiler/chunk/ChunkTypes.cpp.inc"
      >();
}

namespace {

/// Parses a list in angle brackets whose last element may be a float type.
/// `parseAxis` takes one axis, its name already read.
ParseResult
parseAxes(AsmParser &parser, Type &element,
          llvm::function_ref<ParseResult(StringAttr name)> parseAxis) {
  element = parser.getBuilder().getF32Type();
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::LessGreater, [&]() -> ParseResult {
        FloatType type;
        OptionalParseResult isType = parser.parseOptionalType(type);
        if (isType.has_value()) {
          element = type;
          return *isType;
        }
        std::string name;
        if (parser.parseKeywordOrString(&name)) {
          return failure();
        }
        return parseAxis(parser.getBuilder().getStringAttr(name));
      });
}

} // namespace

//===----------------------------------------------------------------------===//
// tile
//===----------------------------------------------------------------------===//

TileType TileType::getSorted(MLIRContext *context,
                             ArrayRef<std::pair<StringRef, int64_t>> axes,
                             Type element) {
  SmallVector<std::pair<StringRef, int64_t>> sorted(axes);
  llvm::sort(sorted);
  SmallVector<StringAttr> names;
  SmallVector<int64_t> sizes;
  for (auto [name, size] : sorted) {
    names.push_back(StringAttr::get(context, name));
    sizes.push_back(size);
  }
  return get(context, names, sizes, element);
}

bool TileType::hasAxis(StringRef axis) const { return getSize(axis) != 0; }

int64_t TileType::getSize(StringRef axis) const {
  for (auto [name, size] : llvm::zip(getNames(), getSizes())) {
    if (name.getValue() == axis) {
      return size;
    }
  }
  return 0;
}

int64_t TileType::getNumElements() const {
  int64_t product = 1;
  for (int64_t size : getSizes()) {
    product *= size;
  }
  return product;
}

TileType TileType::dropAxes(ArrayRef<StringRef> axes) const {
  SmallVector<std::pair<StringRef, int64_t>> kept;
  for (auto [name, size] : llvm::zip(getNames(), getSizes())) {
    if (!llvm::is_contained(axes, name.getValue())) {
      kept.emplace_back(name.getValue(), size);
    }
  }
  return getSorted(getContext(), kept, getElement());
}

TileType TileType::addAxis(StringRef axis, int64_t size) const {
  SmallVector<std::pair<StringRef, int64_t>> axes{{axis, size}};
  for (auto [name, old] : llvm::zip(getNames(), getSizes())) {
    axes.emplace_back(name.getValue(), old);
  }
  return getSorted(getContext(), axes, getElement());
}

Type TileType::parse(AsmParser &parser) {
  SmallVector<std::pair<StringRef, int64_t>> axes;
  Type element;
  auto parseAxis = [&](StringAttr name) -> ParseResult {
    int64_t size = 0;
    if (parser.parseColon() || parser.parseInteger(size)) {
      return failure();
    }
    axes.emplace_back(name.getValue(), size);
    return success();
  };
  SMLoc loc = parser.getCurrentLocation();
  if (parseAxes(parser, element, parseAxis)) {
    return {};
  }
  llvm::sort(axes);
  SmallVector<StringAttr> names;
  SmallVector<int64_t> sizes;
  for (auto [name, size] : axes) {
    names.push_back(StringAttr::get(parser.getContext(), name));
    sizes.push_back(size);
  }
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(),
                    names, sizes, element);
}

void TileType::print(AsmPrinter &printer) const {
  printer << "<";
  llvm::interleaveComma(
      llvm::zip(getNames(), getSizes()), printer, [&](auto axis) {
        printer.printKeywordOrString(std::get<0>(axis).getValue());
        printer << ":" << std::get<1>(axis);
      });
  if (!getElement().isF32()) {
    printer << (getNames().empty() ? "" : ", ") << getElement();
  }
  printer << ">";
}

LogicalResult
TileType::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                 ArrayRef<StringAttr> names, ArrayRef<int64_t> sizes,
                 Type element) {
  if (!element.isF32() && !element.isF64()) {
    return emitError() << "a tile's element type is f32 or f64, not "
                       << element;
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (sizes[i] < 1) {
      return emitError() << "axis " << names[i] << " has size " << sizes[i]
                         << "; a size is at least 1";
    }
    if (i > 0 && names[i - 1].getValue() >= names[i].getValue()) {
      return emitError() << "axis " << names[i] << " stands twice in a tile";
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// span
//===----------------------------------------------------------------------===//

Type SpanType::parse(AsmParser &parser) {
  std::string name;
  int64_t capacity = 0;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseKeywordOrString(&name) ||
      parser.parseColon() || parser.parseInteger(capacity) ||
      parser.parseGreater()) {
    return {};
  }
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(),
                    StringAttr::get(parser.getContext(), name), capacity);
}

void SpanType::print(AsmPrinter &printer) const {
  printer << "<";
  printer.printKeywordOrString(getAxis().getValue());
  printer << ":" << getCapacity() << ">";
}

LogicalResult
SpanType::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                 StringAttr axis, int64_t capacity) {
  if (capacity < 1) {
    return emitError() << "a span's capacity is at least 1, not " << capacity;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// buf
//===----------------------------------------------------------------------===//

int64_t BufferType::findAxis(StringRef axis) const {
  for (auto [position, name] : llvm::enumerate(getNames())) {
    if (name.getValue() == axis) {
      return position;
    }
  }
  return -1;
}

Type BufferType::parse(AsmParser &parser) {
  SmallVector<StringAttr> names;
  SmallVector<int64_t> windows, pers;
  Type element;
  auto parseAxis = [&](StringAttr name) -> ParseResult {
    int64_t window = 0, per = 1;
    if (succeeded(parser.parseOptionalColon()) && parser.parseInteger(window)) {
      return failure();
    }
    if (succeeded(parser.parseOptionalKeyword("per")) &&
        parser.parseInteger(per)) {
      return failure();
    }
    names.push_back(name);
    windows.push_back(window);
    pers.push_back(per);
    return success();
  };
  SMLoc loc = parser.getCurrentLocation();
  if (parseAxes(parser, element, parseAxis)) {
    return {};
  }
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(),
                    names, windows, pers, element);
}

void BufferType::print(AsmPrinter &printer) const {
  printer << "<";
  for (auto [name, window, per] :
       llvm::zip(getNames(), getWindows(), getPers())) {
    printer.printKeywordOrString(name.getValue());
    if (window != 0) {
      printer << ":" << window;
    }
    if (per != 1) {
      printer << " per " << per;
    }
    printer << ", ";
  }
  printer << getElement() << ">";
}

LogicalResult
BufferType::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                   ArrayRef<StringAttr> names, ArrayRef<int64_t> windows,
                   ArrayRef<int64_t> pers, Type element) {
  if (!element.isF32() && !element.isF64() && !element.isF16() &&
      !element.isBF16()) {
    return emitError() << "a buffer's element type is f32, f64, f16 or bf16, "
                          "not "
                       << element;
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (windows[i] < 0 || pers[i] < 1) {
      return emitError() << "axis " << names[i]
                         << ": a window or run has at least one entry";
    }
    for (size_t j = 0; j < i; ++j) {
      if (names[i] == names[j]) {
        return emitError() << "axis " << names[i]
                           << " stands twice in a buffer";
      }
    }
  }
  return success();
}
