// Sums over lanes that a loop over tokens makes with rows outside and tokens
// inside: vectors of partial sums per token, from which numbers come in bulk.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/target/cpu/NestEmitter.h"

namespace recurra::cpu {

class LaneSums {
public:
  /// Rows in all and at a time; tokens at a time.
  struct Shape {
    std::int64_t rows, blockRows, tokens;
  };

  explicit LaneSums(Frame &frame) : f(frame) {}
  void setShape(Shape shape, bool isOneBlock);
  /// Blocks have all lanes: each vector of a row's sums is written once.
  bool areBlocksWhole() const { return isOneBlock; }
  /// The node is a sum; `home` has its numbers of all tokens in the end.
  void keep(const Node *node, const View &home);
  /// The vector of a token and, where rows are kept, a row of the block.
  mlir::Value pointer(const Node *node, std::int64_t row, mlir::Value position);

  void startTokens();
  void startRows();
  void finishRows(mlir::Value row);
  void finishTokens();

private:
  /// Places in scratch, in bytes. `numbers` has each row's tokens, or, without
  /// rows, is the home.
  struct Sum {
    const Node *node;
    View home;
    std::int64_t partial, numbers;
    bool keepsRow() const { return !node->axes.empty(); }
  };
  mlir::Value at(std::int64_t offset, mlir::Value index);
  void fill(const Sum &sum, std::int64_t vectors);
  void transpose(const Sum &sum);

  Frame &f;
  Shape shape = {};
  bool isOneBlock = true;
  std::vector<Sum> sums;
};

} // namespace recurra::cpu
