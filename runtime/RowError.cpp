// RowError: a tensor seen as [batch, token, head, feature], row by row.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/RowError.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace recurra {
namespace {

/// Row-major sizes after merging the feature axes.
struct Grid {
  std::int64_t batches = 1, tokens = 1, heads = 1, features = 1;
  std::int64_t tokensPerRow = 1, headsPerRow = 1;

  std::size_t index(std::int64_t b, std::int64_t t, std::int64_t h,
                    std::int64_t f) const {
    return static_cast<std::size_t>(((b * tokens + t) * heads + h) * features +
                                    f);
  }
};

constexpr std::int64_t scalarsPerRow = 16;

Grid gridOf(const Array &array, Rows rows, bool hasHeads) {
  Grid grid;
  std::size_t axis = 0;
  auto next = [&] { return array.sizes.at(axis++); };
  if (rows == Rows::Token) {
    grid.batches = next();
    grid.tokens = next();
  } else if (rows == Rows::State) {
    grid.batches = next();
  }
  if (hasHeads && rows != Rows::Whole) {
    grid.heads = next();
  }
  bool scalars = axis == array.sizes.size();
  while (axis < array.sizes.size()) {
    grid.features *= next();
  }
  if (scalars && rows == Rows::Token) {
    grid.tokensPerRow = scalarsPerRow;
  } else if (scalars && rows == Rows::State) {
    // One number per sequence: sequences take the part of tokens.
    std::swap(grid.batches, grid.tokens);
    grid.tokensPerRow = scalarsPerRow;
  } else if (scalars && rows == Rows::Head) {
    grid.headsPerRow = std::max<std::int64_t>(grid.heads, 1);
  }
  return grid;
}

/// Squares of one row's error and of its oracle.
struct Squares {
  double difference = 0, oracle = 0;
};

Squares rowSquares(const Array &actual, const Array &oracle, const Grid &grid,
                   std::int64_t b, std::int64_t t, std::int64_t h) {
  Squares squares;
  std::int64_t lastToken = std::min(t + grid.tokensPerRow, grid.tokens);
  std::int64_t lastHead = std::min(h + grid.headsPerRow, grid.heads);
  for (std::int64_t i = t; i < lastToken; ++i) {
    for (std::int64_t j = h; j < lastHead; ++j) {
      for (std::int64_t f = 0; f < grid.features; ++f) {
        double x = actual.values[grid.index(b, i, j, f)];
        double y = oracle.values[grid.index(b, i, j, f)];
        if (x != y) { // equal infinities have no distance
          squares.difference += (x - y) * (x - y);
        }
        squares.oracle += std::isfinite(y) ? y * y : 0;
      }
    }
  }
  return squares;
}

double rowErrorOf(const Squares &squares, double floor) {
  if (squares.difference == 0) {
    return 0;
  }
  double error = std::sqrt(squares.difference) /
                 std::max(std::sqrt(squares.oracle), floor);
  return std::isfinite(error) ? error : std::numeric_limits<double>::infinity();
}

/// The least norm of a row that the dtype holds with full precision; where its
/// exponents are float's, with some room.
double leastNorm(DType dtype, const Grid &grid) {
  std::int64_t count = grid.features * grid.tokensPerRow * grid.headsPerRow;
  return dtype == DType::F16 ? 0x1p-14 * std::sqrt(static_cast<double>(count))
                             : 1e-30;
}

/// The mean row norm of one head (or of headsPerRow heads).
double meanNorm(const Array &array, const Grid &grid, std::int64_t head) {
  double norms = 0;
  std::int64_t rows = 0;
  for (std::int64_t b = 0; b < grid.batches; ++b) {
    for (std::int64_t t = 0; t < grid.tokens; t += grid.tokensPerRow) {
      norms += std::sqrt(rowSquares(array, array, grid, b, t, head).oracle);
      ++rows;
    }
  }
  return rows > 0 ? norms / static_cast<double>(rows) : 0;
}

/// The rows of one head (or of headsPerRow heads).
void visitHead(const Array &actual, const Array &oracle, const Grid &grid,
               std::int64_t head, double floor, RowError &worst) {
  for (std::int64_t b = 0; b < grid.batches; ++b) {
    for (std::int64_t t = 0; t < grid.tokens; t += grid.tokensPerRow) {
      double error =
          rowErrorOf(rowSquares(actual, oracle, grid, b, t, head), floor);
      if (error > worst.error) {
        worst = {error, b, t, head};
      }
    }
  }
}

} // namespace

RowError worstRow(const Array &actual, const Array &oracle, Rows rows,
                  bool hasHeads, const Array *other, DType dtype) {
  if (actual.sizes != oracle.sizes ||
      actual.values.size() != oracle.values.size()) {
    return {std::numeric_limits<double>::infinity(), 0, 0, 0};
  }
  Grid grid = gridOf(oracle, rows, hasHeads);
  RowError worst;
  for (std::int64_t h = 0; h < grid.heads; h += grid.headsPerRow) {
    double norm = meanNorm(oracle, grid, h);
    if (other) {
      norm = (norm + meanNorm(*other, grid, h)) / 2;
    }
    double floor = std::max(norm / 20, leastNorm(dtype, grid));
    visitHead(actual, oracle, grid, h, floor, worst);
  }
  return worst;
}

double errorBound(DType dtype, bool gradient) {
  switch (dtype) {
  case DType::F64:
    return gradient ? 1e-9 : 1e-10;
  case DType::F32:
    return gradient ? 1e-4 : 2e-5;
  case DType::F16:
    return gradient ? 4e-3 : 1e-3;
  case DType::BF16:
    return gradient ? 1.5e-2 : 5e-3;
  }
  return 0;
}

} // namespace recurra
