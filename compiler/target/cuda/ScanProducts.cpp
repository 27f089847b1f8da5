// Which products get the slots of the matrix instruction.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/ScanProducts.h"

namespace recurra::cuda {

static constexpr std::int64_t allSlots = 8;

bool ScanProducts::isExact(const Node *node) {
  node = peel(node);
  if (node->kind != Node::Kind::CopyIn) {
    return false;
  }
  auto load = mlir::cast<chunk::LoadOp>(node->op);
  return load.getBuffer().getType().getElement().isBF16();
}

bool isSameProduct(const ScanProduct &x, const ScanProduct &y) {
  return x.isAddition == y.isAddition && x.isNegative == y.isNegative &&
         x.rowDegree == y.rowDegree && x.columnDegree == y.columnDegree &&
         isSame(x.row, y.row) && isSame(x.column, y.column);
}

const ScanProduct *ScanProducts::find(const ScanProduct &wanted) {
  auto known = llvm::find_if(list, [&](const ScanProduct &product) {
    return isSameProduct(product, wanted);
  });
  if (known != list.end()) {
    return &*known;
  }
  if (!isCollecting) {
    return nullptr;
  }
  list.push_back(wanted);
  return &list.back();
}

void ScanProducts::collect() {
  *this = {};
  isCollecting = true;
}

/// Its slots, and where its column's parts lie: parts of one vector within one
/// word, so that one instruction picks them.
void ScanProducts::place(ScanProduct &product) {
  bool isRowExact = product.rowDegree == 0 && isExact(product.row);
  bool isColumnExact = product.columnDegree == 0 && isExact(product.column);
  // A state keeps all digits of what it takes in: it is walked back.
  std::int64_t parts = product.isAddition ? 3 : 2;
  product.rowParts = isRowExact ? 1 : parts;
  product.columnParts = isColumnExact ? 1 : parts;
  bool fits = (isRowExact || isColumnExact) && product.columnParts <= 2 &&
              usedSlots + product.slots() <= allSlots;
  if (!fits) {
    return;
  }
  product.slot = usedSlots;
  usedSlots += product.slots();
  for (const ScanProduct &other : list) {
    if (&other != &product && other.slot >= 0 &&
        other.columnParts == product.columnParts &&
        other.columnDegree == product.columnDegree &&
        isSame(other.column, product.column)) {
      product.entry = other.entry;
      return;
    }
  }
  if (product.columnParts == 2) {
    usedEntries += usedEntries % 2;
  }
  product.entry = usedEntries;
  usedEntries += product.columnParts;
}

void ScanProducts::choose() {
  isCollecting = false;
  for (bool isAddition : {true, false}) {
    for (ScanProduct &product : list) {
      if (product.isAddition == isAddition) {
        place(product);
      }
    }
  }
  llvm::erase_if(list,
                 [](const ScanProduct &product) { return product.slot < 0; });
  std::int64_t words = (usedEntries + 1) / 2;
  columnWords = words > 2 ? 4 : words;
}

} // namespace recurra::cuda
