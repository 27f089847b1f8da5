// Parts of spans, or of sequences that are not cut into spans, walked side by
// side, where there are few of those and heads, with the bits of one walk: a
// walk ahead makes what enters each part by the same steps, and nothing else.
// Its blocks have a piece of a state each: an element's step needs no other
// element, or those along one axis alone.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/ScanAhead.h"

#include "compiler/target/cuda/ScanSpans.h"

using namespace mlir;

namespace recurra::cuda {

/// How many of `all` each of the fewest pieces has that are no larger than
/// `most`.
static std::int64_t evenPiece(std::int64_t all, std::int64_t most) {
  return ceilDiv(all, ceilDiv(all, most));
}

/// Whether an element's step needs all entries along an axis: any of their
/// decays may end a segment, or they are summed up.
static bool needsAll(const ScanForm &form, bool isRow) {
  auto isAlong = [&](const Node *node) {
    return isRow ? form.isRow(node) : form.isColumn(node);
  };
  auto reads = [&](const Node *node) {
    return node && dependsOn(node, [&](const Node *part) {
             return part->kind == Node::Kind::Reduce &&
                    isAlong(part->operands[0]);
           });
  };
  return (form.hasVectorDecay() && isAlong(form.decay)) ||
         llvm::any_of(form.states,
                      [&](const ScanState &state) {
                        return reads(state.step.factor) ||
                               llvm::any_of(state.step.terms, [&](auto &term) {
                                 return reads(term.a) || reads(term.b);
                               });
                      }) ||
         llvm::any_of(form.adjoints, [&](const ScanCarry &adjoint) {
           return reads(adjoint.value);
         });
}

ScanTiles aheadTiles(const ScanForm &form, const ScanTiles &walk) {
  constexpr std::int64_t mostWarps = 4, heads = 16, atOnce = 256;
  ScanTiles tiles;
  std::int64_t rows = walk.rows() / 16, columns = walk.columns() / 8;
  tiles.columnTiles = evenPiece(columns, form.isReverse ? 2 : 3);
  std::int64_t warps = ceilDiv(columns, tiles.columnTiles);
  tiles.warpColumns = evenPiece(warps, mostWarps);
  // Two blocks fit a multiprocessor, or one of three times the rows.
  std::int64_t pieces =
      form.slices() * rows * ceilDiv(warps, tiles.warpColumns);
  bool isMuch = form.isReverse && heads * pieces > atOnce;
  tiles.warpRows = evenPiece(rows, isMuch ? 3 : 1);
  bool areRowsWhole = needsAll(form, true);
  bool areColumnsWhole = needsAll(form, false);
  if (areRowsWhole || areColumnsWhole) {
    tiles.warpRows = areRowsWhole ? rows : 1;
    tiles.warpColumns = areColumnsWhole ? warps : 1;
  }
  tiles.producerWarps = form.hasVectorDecay() ? vectorProducers : 4;
  tiles.adderWarps = 0;
  return tiles;
}

bool canWalkAhead(const ScanForm &form) {
  return llvm::isPowerOf2_64(form.interval) &&
         (form.spanTokens == 0 || llvm::isPowerOf2_64(form.spanTokens)) &&
         form.isBySequence() && form.totals.empty() && fewHeads(form) > 0;
}

std::int64_t fewHeads(const ScanForm &form) {
  bool isCheap = !form.hasVectorDecay();
  return (form.isReverse ? 48 : isCheap ? 64 : 12) / form.slices();
}

/// Where the walk finds the element (a, n, e) of one of its matrices.
std::string ScanWalkers::carriedAt(std::size_t matrix) {
  return "carriedAt<" + number(walkTiles.rowTiles) + ", " +
         number(walkTiles.columnTiles) + ", " + number(walkTiles.warpRows) +
         ", " + number(walkTiles.computeWarps()) + ", " +
         (form.isReverse ? "true" : "false") + ">(" +
         number(static_cast<std::int64_t>(matrix)) +
         ", rowOrigin + firstRow + 16 * a + e / 2 * 8, columnOrigin + "
         "firstColumn + 8 * n + e % 2)";
}

/// At the end of a run where a part does: what enters the next one.
void ScanWalkers::printLeft() {
  std::string cut = spanCut(form.spanTokens, true);
  f.text.line("const Index boundary = header[5]" +
              (form.isReverse ? std::string(";")
                              : " + " + number(form.interval) + ";"));
  f.text.open("if (boundary % " + cut + ".size() == 0)");
  f.text.line("float *const left = " +
              spanPlace(f, form, "partStates",
                        "firstSlot(" + cut + ", shape, " +
                            f.spans[sequenceSpan()].origin + ") + " + cut +
                            ".of(boundary) - 1") +
              ";");
  openElements();
  std::string condition = inside();
  for (auto [i, matrix] :
       llvm::enumerate(form.isReverse ? adjointNames : stateNames)) {
    f.text.line((condition.empty() ? "" : "if (" + condition + ") ") + "left[" +
                carriedAt(i) + "] = " + matrix + "[a][n][e];");
  }
  closeElements();
  f.text.close();
}

} // namespace recurra::cuda
