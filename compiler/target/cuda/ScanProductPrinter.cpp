// Outer products in a kernel's text: the words that are prepared for them, and
// the instructions that multiply.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/ScanWalkers.h"

namespace recurra::cuda {

//===----------------------------------------------------------------------===//
// Warps that prepare
//===----------------------------------------------------------------------===//

/// Declares the leading parts of a value, named `name` and their number.
void ScanProducers::printParts(const std::string &name,
                               const std::string &value, std::int64_t count) {
  f.text.line("float " + name + " = " + value + ";");
  for (std::int64_t part = 0; part < count; ++part) {
    f.text.line("const unsigned " + name + "_" + number(part) + " = takePart(" +
                name + ");");
  }
}

/// Entry i of one of a product's vectors, scaled.
std::string ScanProducers::factorText(const Node *node, int degree,
                                      bool padded) {
  std::string value = prepared(node, "i");
  if (degree != 0 && form.hasVectorDecay()) {
    value += " * " + decayPower(degree);
  } else if (degree != 0) {
    value += " * " + read("now[" + number(values.power(-degree).offset) + "]");
  }
  return padded ? "(isEntry ? " + value + " : 0)" : "(" + value + ")";
}

/// The words of row i: each slot's part. Values are not read in a trace, and
/// what is taken away in the main walk is added there.
void ScanProducers::printRowWords(bool isTraced, bool padded) {
  llvm::SmallVector<std::string> slots(2 * ScanProducts::rowWords, "0u");
  for (const ScanProduct &product : values.products.list) {
    if (isTraced && !product.isAddition) {
      continue;
    }
    std::string name = f.text.name("rest");
    bool isNegative = product.isAddition && product.isNegative != isTraced;
    printParts(name,
               (isNegative ? "-" : "") +
                   factorText(product.row, product.rowDegree, padded),
               product.rowParts);
    for (std::int64_t slot = 0; slot < product.slots(); ++slot) {
      std::int64_t part = product.rowParts > 1 ? slot : 0;
      slots[product.slot + slot] = name + "_" + number(part);
    }
  }
  std::string rows = number(16 * tiles.rowTiles);
  std::int64_t perTile = 32 * 2;
  f.text.line("float *const words = now + " + number(values.products.offset) +
              " + i / " + rows + " * " + number(tiles.rowTiles * perTile) +
              " + i / 16 % " + number(tiles.rowTiles) + " * " +
              number(perTile) + " + i % 8 * 8 + i / 8 % 2;");
  f.text.comment("Lanes that store together meet on no bank.");
  f.text.line("const int turn = i % 8 / 4 * 2 ^ i / 16 % " +
              number(tiles.rowTiles) + " % 2;");
  for (std::int64_t word = 0; word < ScanProducts::rowWords; ++word) {
    f.text.line("words[(" + number(word) + " ^ turn) * 2] = pairOf(" +
                slots[2 * word] + ", " + slots[2 * word + 1] + ");");
  }
}

/// The words of column i: each vector's parts, once.
void ScanProducers::printColumnWords(bool isTraced, bool padded) {
  std::int64_t count = values.products.columnWords;
  llvm::SmallVector<std::string> entries(2 * count, "0u");
  for (const ScanProduct &product : values.products.list) {
    if (entries[product.entry] != "0u" || (isTraced && !product.isAddition)) {
      continue;
    }
    std::string name = f.text.name("rest");
    printParts(name, factorText(product.column, product.columnDegree, padded),
               product.columnParts);
    for (std::int64_t part = 0; part < product.columnParts; ++part) {
      entries[product.entry + part] = name + "_" + number(part);
    }
  }
  std::int64_t first =
      values.products.offset + ScanProducts::rowWords * tiles.rows();
  for (std::int64_t word = 0; word < count; ++word) {
    f.text.line("now[" + number(first + word) + " + i * " + number(count) +
                "] = pairOf(" + entries[2 * word] + ", " +
                entries[2 * word + 1] + ");");
  }
}

//===----------------------------------------------------------------------===//
// Warps that walk
//===----------------------------------------------------------------------===//

/// The two bytes of a word that a slot takes, or those of zero behind it.
static std::string pickOf(const ScanProduct &product, std::int64_t slot) {
  std::int64_t part = slot - product.slot;
  if (part < 0 || part >= product.slots()) {
    return "44";
  }
  bool isUpper = (product.entry + (product.columnParts > 1 ? part : 0)) % 2;
  return isUpper ? "32" : "10";
}

/// Which bytes of a column's word a lane hands to each product.
void ScanWalkers::printPicks() {
  for (const ScanProduct &product : values.products.list) {
    std::string text;
    for (std::int64_t c = 0; c < ScanProducts::rowWords; ++c) {
      text += (c < 3 ? "lane % 4 == " + number(c) + " ? " : std::string()) +
              "0x" + pickOf(product, 2 * c + 1) + pickOf(product, 2 * c) +
              (c < 3 ? "u : " : "u");
    }
    f.text.line("const unsigned " + product.pick + " = " + text + ";");
  }
}

void ScanWalkers::printProductFetches(bool isTraced) {
  const ScanProducts &products = values.products;
  if (products.list.empty()) {
    return;
  }
  f.text.line("float rowWords[" + number(tiles.rowTiles) +
              "][2], columnWords[" + number(tiles.columnTiles) + "][" +
              number(products.columnWords) + "];");
  unrolled("a", tiles.rowTiles);
  f.text.line("fetch(rowWords[a], now + " + number(products.offset) +
              " + (warpRow * " + number(tiles.rowTiles) +
              " + a) * 64 + (lane ^ lane / 16 * 2 ^ a % 2) * 2);");
  f.text.close();
  unrolled("n", tiles.columnTiles);
  std::string at =
      "now + " +
      number(products.offset + ScanProducts::rowWords * tiles.rows()) +
      " + (warpColumn * " + number(8 * tiles.columnTiles) +
      " + 8 * n + lane / 4) * " + number(products.columnWords);
  f.text.line(products.columnWords == 1 ? "columnWords[n][0] = *(" + at + ");"
                                        : "fetch(columnWords[n], " + at + ");");
  f.text.close();
  for (const ScanProduct &product : products.list) {
    if (isTraced && !product.isAddition) {
      continue;
    }
    f.text.line("unsigned " + product.right + "[" + number(tiles.columnTiles) +
                "];");
    unrolled("n", tiles.columnTiles);
    f.text.line(product.right +
                "[n] = __byte_perm(__float_as_uint(columnWords[n][" +
                number(product.entry / 2) + "]), 0u, " + product.pick + ");");
    f.text.close();
  }
}

void ScanWalkers::printMultiply(const ScanProduct &product,
                                const std::string &to) {
  f.text.line("multiplyParts(" + to + ", rowWords[a], " + product.right +
              "[n]);");
}

bool ScanWalkers::canStepInPlace() {
  ScanElement element(values, f.text, hints);
  std::function<bool(const Node *)> readsOld = [&](const Node *node) {
    return form.newState(node) < 0 &&
           (form.oldState(node) >= 0 || llvm::any_of(node->operands, readsOld));
  };
  bool areProducts = llvm::all_of(form.states, [&](const ScanState &state) {
    return llvm::all_of(state.step.terms, [&](const AffineStep::Term &term) {
      return element.addition(term);
    });
  });
  return form.isReverse && areProducts &&
         llvm::none_of(form.adjoints,
                       [&](const ScanCarry &adjoint) {
                         return readsOld(adjoint.value);
                       }) &&
         llvm::none_of(values.sums, [&](const ScanSum &sum) {
           return !isReady(sum) && readsOld(sum.reduce);
         });
}

/// For the four elements of a tile: the states after their additions, where
/// those are products, and the products that are read.
void ScanWalkers::printProducts(ScanElement &element) {
  additionNames.clear();
  for (auto [state, name] : llvm::zip(form.states, stateNames)) {
    std::string next;
    for (const AffineStep::Term &term : state.step.terms) {
      const ScanProduct *product = element.addition(term);
      if (isInPlace) {
        break;
      }
      if (product && next.empty()) {
        next = f.text.name(name + "_next");
        std::string four = name + "[a][n]";
        f.text.line("float " + next + "[4] = {" + four + "[0], " + four +
                    "[1], " + four + "[2], " + four + "[3]};");
      }
      if (product) {
        printMultiply(*product, next);
      }
    }
    additionNames.push_back(next);
  }
  for (const ScanProduct &product : values.products.list) {
    if (!product.isAddition) {
      f.text.line("float " + product.name + "[4] = {};");
      printMultiply(product, product.name);
    }
  }
}

} // namespace recurra::cuda
