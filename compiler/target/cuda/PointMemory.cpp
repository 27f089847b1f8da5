// Addresses of a worker's vectors, and what goes between memory and tiles.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/PointPrinter.h"

using namespace mlir;

namespace recurra::cuda {

static std::string text(std::int64_t number) { return std::to_string(number); }

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

PointPrinter::Access
PointPrinter::makeAccess(Value buffer, OperandRange indices, bool isStore) {
  auto type = cast<chunk::BufferType>(buffer.getType());
  Access access;
  access.buffer = f.buffers[buffer];
  access.type = storedName(type.getElement());
  access.words = f.text.name(access.buffer + "_words");
  access.pointer = f.text.name(access.buffer + (isStore ? "_to" : "_at"));
  unsigned dimension = 0;
  auto stride = [&] {
    return access.buffer + ".strides[" + std::to_string(dimension++) + "]";
  };
  auto add = [&](const std::string &index, const std::string &stride) {
    access.offset +=
        (access.offset.empty() ? "" : " + ") + index + " * " + stride;
  };
  for (auto [axis, per] : llvm::zip(type.getNames(), type.getPers())) {
    if (axis == "T") {
      add(row, stride());
      access.tokenStride = stride();
    } else if (axis == "H") {
      add(per == 1 ? head : head + " / " + text(per), stride());
    } else {
      std::int64_t last = dimension;
      access.stride = stride();
      add(f.layout.first, access.stride);
      if (form.width > 1) {
        access.wide = f.text.name(access.buffer + "_isWide");
        f.text.line("const bool " + access.wide + " = isWide<" + access.type +
                    ", " + text(form.width) + ">(" + access.buffer + ", " +
                    text(last) + ");");
      }
    }
  }
  return access;
}

void PointPrinter::findAccesses() {
  for (chunk::LoadOp load : form.loads) {
    if (!load.getResult().use_empty()) {
      accesses[load] = makeAccess(load.getBuffer(), load.getIndices(), false);
    }
  }
  for (chunk::StoreOp store : form.stores) {
    accesses[store] = makeAccess(store.getBuffer(), store.getIndices(), true);
  }
}

/// To what the worker has of its first token in a row.
void PointPrinter::printPointers() {
  auto print = [&](Operation *op, StringRef isConst) {
    if (!accesses.contains(op)) {
      return;
    }
    const Access &access = accesses[op];
    std::string first = access.offset;
    if (!access.tokenStride.empty()) {
      first += " + (" + share + ".begin + " + share + ".token) * " +
               access.tokenStride;
    }
    f.text.line(isConst.str() + access.type + " *" + access.pointer +
                " = reinterpret_cast<" + access.type + " *>(" + access.buffer +
                ".data)" + (first.empty() ? "" : " + " + first) + ";");
  };
  for (chunk::LoadOp load : form.loads) {
    print(load, "const ");
  }
  for (chunk::StoreOp store : form.stores) {
    print(store, "");
  }
}

/// Pointers go along with the loop: offsets from the first token would cost
/// products of 64 bits.
void PointPrinter::printAdvance() {
  auto print = [&](Operation *op) {
    auto found = accesses.find(op);
    if (found != accesses.end() && !found->second.tokenStride.empty()) {
      const Access &access = found->second;
      f.text.line(access.pointer + " = after(" + access.pointer + ", " +
                  (form.ahead > 1 ? text(form.ahead) + " * " : "") + apart +
                  ", " + access.tokenStride + ");");
    }
  };
  llvm::for_each(form.loads, print);
  llvm::for_each(form.stores, print);
}

std::string PointPrinter::address(const Access &access) const {
  return access.tokenStride.empty() || form.ahead == 1
             ? access.pointer
             : "after(" + access.pointer + ", " + next + " * " + apart + ", " +
                   access.tokenStride + ")";
}

/// The address of a vector of the lane.
std::string PointPrinter::vector(const Access &access, StringRef row) const {
  std::string apart = text(form.lanes * form.width);
  return address(access) +
         (form.rows == 1
              ? ""
              : (" + " + row + " * " + apart + " * ").str() + access.stride);
}

/// The condition that the lane has this vector; empty if it always has.
std::string PointPrinter::rowExists(StringRef row) const {
  if (form.capacity() == form.extent) {
    return "";
  }
  std::string position = f.layout.first;
  if (form.rows > 1) {
    position += (" + " + row + " * ").str() + text(form.lanes * form.width);
  }
  return position + " < " + text(form.extent);
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

/// What of the words belongs to a point, or, without [..], to all.
static std::string perPoint(bool ofToken, std::int64_t ahead,
                            const std::string &index) {
  return ofToken && ahead > 1 ? "[" + index + "]" : "";
}

void PointPrinter::printTake(const Access &access) {
  std::string words =
      access.words + perPoint(!access.tokenStride.empty(), form.ahead, next);
  if (access.stride.empty()) {
    f.text.line("take(" + words + ", " + address(access) + ");");
    return;
  }
  std::string exists = rowExists("i");
  if (form.rows > 1) {
    f.text.line("#pragma unroll");
    f.text.open("for (int i = 0; i < " + text(form.rows) + "; ++i)");
  }
  f.text.line(
      (exists.empty() ? "" : "if (" + exists + ") ") + "take(" + words +
      (form.rows > 1 ? "[i]" : "") + ", " + vector(access, "i") +
      (form.width > 1 ? ", " + access.stride + ", " + access.wide : "") + ");");
  if (form.rows > 1) {
    f.text.close();
  }
}

/// Declares and fills what comes from memory: per token, or before them all.
void PointPrinter::printWords(bool ofToken) {
  SmallVector<const Access *> all;
  for (chunk::LoadOp load : form.loads) {
    auto found = accesses.find(load);
    if (found != accesses.end() &&
        found->second.tokenStride.empty() != ofToken) {
      all.push_back(&found->second);
    }
  }
  for (const Access *access : all) {
    bool isVector = !access->stride.empty();
    f.text.line("Entries<" + access->type + ", " +
                text(isVector ? form.width : 1) + "> " + access->words +
                perPoint(ofToken, form.ahead, text(form.ahead)) +
                (isVector && form.rows > 1 ? "[" + text(form.rows) + "]" : "") +
                " = {};");
  }
  if (all.empty()) {
    return;
  }
  if (ofToken) {
    openPoints();
  }
  f.text.open("if (" + (ofToken ? isHere : isMine) + ")");
  llvm::for_each(all, [&](const Access *access) { printTake(*access); });
  f.text.close();
  if (ofToken) {
    closePoints();
  }
}

//===----------------------------------------------------------------------===//
// Between words and tiles
//===----------------------------------------------------------------------===//

bool PointPrinter::load(chunk::LoadOp op, const Home &home, const Axes &axes) {
  const Access &access = accesses[op];
  std::string words =
      access.words + perPoint(!access.tokenStride.empty(), form.ahead, next);
  Point point;
  f.openLoops(axes, point);
  std::string index = point.empty() ? "0" : point.front().second;
  if (!access.stride.empty() && form.rows > 1) {
    words += form.width == 1 ? "[" + index + "]"
                             : "[" + index + " / " + text(form.width) + "]";
    index = form.width == 1 ? "0" : index + " % " + text(form.width);
  }
  f.text.line(f.at(home, point) + " = entryOf(" + words + ", " + index + ");");
  f.closeLoops(axes);
  return true;
}

/// Numbers of a point are stored by its first lane.
bool PointPrinter::store(chunk::StoreOp op, const Home &home,
                         const Axes &axes) {
  const Access &access = accesses[op];
  std::string exists = rowExists("i");
  std::string here = "if (" + isHere +
                     (axes.empty()     ? " && " + f.layout.first + " == 0"
                      : exists.empty() ? ""
                                       : " && " + exists) +
                     ") ";
  if (axes.empty() || form.width * form.rows == 1) {
    f.text.line(here + "narrow(*(" + address(access) + "), " + f.at(home, {}) +
                ");");
    return true;
  }
  if (form.rows > 1) {
    f.text.line("#pragma unroll");
    f.text.open("for (int i = 0; i < " + text(form.rows) + "; ++i)");
  }
  if (form.width == 1) {
    f.text.line(here + "narrow(*(" + vector(access, "i") + "), " + home.name +
                "[i]);");
  } else {
    f.text.line(here + "give<" + access.type + ", " + text(form.width) + ">(" +
                vector(access, "i") + ", " + access.stride + ", " +
                access.wide + ", " + home.name +
                (form.rows > 1 ? " + i * " + text(form.width) : "") + ");");
  }
  if (form.rows > 1) {
    f.text.close();
  }
  return true;
}

} // namespace recurra::cuda
