// Outer products of prepared vectors by matrix instructions on bf16 operands:
// what states take in, and what is read of two vectors. An exact vector (its
// entries are bf16 in memory) times one in up to three parts of bf16 each is as
// good as a product in f32.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/target/cuda/ScanForm.h"

#include <vector>

namespace recurra::cuda {

/// A row vector times a column vector, each times G^-degree.
struct ScanProduct {
  const Node *row = nullptr, *column = nullptr;
  int rowDegree = 0, columnDegree = 0;
  bool isAddition = false; ///< to a state; else a value of its own
  bool isNegative = false; ///< is taken away in the main walk
  /// The factors' parts; one of them has a single part.
  std::int64_t rowParts = 1, columnParts = 1;
  std::int64_t slot = -1; ///< first of the instruction's eight; -1: not chosen
  std::int64_t entry = 0; ///< of the first part among a column's parts
  /// What the printed text calls the value, a column's parts as the instruction
  /// takes them, and what picks those of a lane.
  std::string name, right, pick;

  std::int64_t slots() const { return std::max(rowParts, columnParts); }
};

/// Of the same vectors, for the same purpose.
bool isSameProduct(const ScanProduct &x, const ScanProduct &y);

/// The products of one kernel that share an instruction's eight slots.
class ScanProducts {
public:
  /// Forgets all; from now on those who ask get what they ask for.
  void collect();
  /// Keeps of what was asked for what fits the slots.
  void choose();

  /// The product, or null if it was not chosen.
  const ScanProduct *find(const ScanProduct &wanted);
  /// Whether the vector is bf16 in memory.
  static bool isExact(const Node *node);

  std::vector<ScanProduct> list;
  /// Words of two parts that a row and a column have in shared memory.
  static constexpr std::int64_t rowWords = 4;
  std::int64_t columnWords = 0;
  std::int64_t offset = 0; ///< of the rows' words, then the columns'

private:
  void place(ScanProduct &product);

  bool isCollecting = false;
  std::int64_t usedSlots = 0, usedEntries = 0;
};

} // namespace recurra::cuda
