// The measure of error, and rounding to dtypes.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/RowError.h"

#include "runtime/HostTensor.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace recurra {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// [1, 4, 2, 3], all ones.
Array ones() { return {{1, 4, 2, 3}, std::vector<double>(24, 1)}; }

TEST(RowError, FindsTheWorstRow) {
  Array oracle = ones(), actual = ones();
  EXPECT_EQ(worstRow(actual, oracle, Rows::Token).error, 0);
  actual.values[(2 * 2 + 1) * 3 + 0] += 0.3;
  actual.values[(2 * 2 + 1) * 3 + 2] += 0.4;
  actual.values[0] += 0.1;
  RowError worst = worstRow(actual, oracle, Rows::Token);
  EXPECT_NEAR(worst.error, 0.5 / std::sqrt(3.0), 1e-12);
  EXPECT_EQ(worst.batch, 0);
  EXPECT_EQ(worst.token, 2);
  EXPECT_EQ(worst.head, 1);
}

TEST(RowError, ASmallRowIsMeasuredByATwentiethOfItsHeadsMean) {
  Array oracle{{1, 2, 1, 1}, {0, 1}}, actual{{1, 2, 1, 1}, {0.5, 1}};
  EXPECT_NEAR(worstRow(actual, oracle, Rows::Token).error, 0.5 / (0.5 / 20),
              1e-12);
  // Another head does not matter.
  Array twoHeads{{1, 1, 2, 1}, {1, 1000}}, off{{1, 1, 2, 1}, {1.5, 1000}};
  EXPECT_NEAR(worstRow(off, twoHeads, Rows::Token).error, 0.5, 1e-12);
}

TEST(RowError, NumbersPerTokenMakeRowsOfSixteen) {
  Array oracle{{1, 40, 1}, std::vector<double>(40, 1)}, actual = oracle;
  actual.values[33] = 2;
  RowError worst = worstRow(actual, oracle, Rows::Token);
  EXPECT_NEAR(worst.error, 1 / std::sqrt(8.0), 1e-12); // the last row has 8
  EXPECT_EQ(worst.token, 32);
}

TEST(RowError, RowsOfStatesHeadsAndWholes) {
  Array state{{2, 2, 1}, {1, 1, 1, 1}}, off = state;
  off.values[3] = 1.5;
  RowError worst = worstRow(off, state, Rows::State);
  EXPECT_NEAR(worst.error, 0.5, 1e-12);
  EXPECT_EQ(worst.batch, 1);
  EXPECT_EQ(worst.head, 1);
  Array head{{2}, {0, 1}}, offHead{{2}, {0.5, 1}};
  EXPECT_NEAR(worstRow(offHead, head, Rows::Head).error, 0.5, 1e-12);
  Array whole{{}, {2}}, offWhole{{}, {3}};
  EXPECT_NEAR(worstRow(offWhole, whole, Rows::Whole).error, 0.5, 1e-12);
  Array shared{{1, 1, 2}, {3, 4}}, offShared{{1, 1, 2}, {3, 5}};
  EXPECT_NEAR(worstRow(offShared, shared, Rows::Token, false).error, 0.2,
              1e-12);
}

TEST(RowError, NanInfinityAndOtherShapesAreInfinitelyWrong) {
  Array oracle = ones(), actual = ones();
  actual.values[5] = std::nan("");
  EXPECT_EQ(worstRow(actual, oracle, Rows::Token).error, infinity);
  actual.values[5] = -infinity;
  EXPECT_EQ(worstRow(actual, oracle, Rows::Token).error, infinity);
  oracle.values[5] = -infinity;
  EXPECT_EQ(worstRow(actual, oracle, Rows::Token).error, 0);
  Array other{{1, 4, 2, 2}, std::vector<double>(16, 1)};
  EXPECT_EQ(worstRow(other, oracle, Rows::Token).error, infinity);
  Array zero{{1, 1, 1, 1}, {0}}, tiny{{1, 1, 1, 1}, {1e-20}},
      least{{1, 1, 1, 1}, {1e-35}};
  EXPECT_EQ(worstRow(zero, zero, Rows::Token).error, 0);
  EXPECT_GT(worstRow(tiny, zero, Rows::Token).error, 1e9);
  EXPECT_LT(worstRow(least, zero, Rows::Token).error, 1e-4); // float's end
}

TEST(RowError, WhatHalfCannotTellFromZeroCountsAsZero) {
  Array oracle{{1, 1, 4}, std::vector<double>(4, 1e-9)}, zero = oracle;
  zero.values.assign(4, 0);
  auto error = [&](DType dtype) {
    return worstRow(zero, oracle, Rows::State, true, nullptr, dtype).error;
  };
  EXPECT_EQ(error(DType::F32), 1);
  EXPECT_EQ(error(DType::BF16), 1);
  EXPECT_NEAR(error(DType::F16), 1e-9 * 0x1p14, 1e-12);
}

TEST(RowError, ASumThatCancelsIsMeasuredByItsUsualSize) {
  Array oracle{{}, {0.001}}, actual{{}, {0.002}}, usual{{}, {39.999}};
  EXPECT_NEAR(worstRow(actual, oracle, Rows::Whole).error, 1, 1e-9);
  EXPECT_NEAR(worstRow(actual, oracle, Rows::Whole, true, &usual).error, 0.001,
              1e-9);
}

TEST(RowError, EmptyTensorsAgree) {
  Array empty{{2, 0, 3, 4}, {}};
  EXPECT_EQ(worstRow(empty, empty, Rows::Token).error, 0);
}

TEST(HostTensor, RoundsToNearestEven) {
  Array array{{5}, {1, 1 + 1.0 / 256, 1 + 3.0 / 256, -1e30, infinity}};
  EXPECT_EQ(rounded(array, DType::F64).values, array.values);
  Array bf16 = rounded(array, DType::BF16);
  EXPECT_EQ(bf16.values[1], 1);            // a tie, to even
  EXPECT_EQ(bf16.values[2], 1 + 1.0 / 64); // a tie, to even
  EXPECT_EQ(bf16.values[4], infinity);
  EXPECT_EQ(rounded(array, DType::F16).values[3], -infinity);
  EXPECT_EQ(rounded({{1}, {1 + 1.0 / 2048}}, DType::F16).values[0], 1);
  EXPECT_TRUE(
      std::isnan(rounded({{1}, {std::nan("")}}, DType::BF16).values[0]));
}

TEST(HostTensor, NoticesStoresOutsideItsElements) {
  HostTensor tensor(DType::F32, {3});
  auto *data = static_cast<float *>(tensor.view().data);
  data[0] = data[1] = data[2] = 1;
  EXPECT_TRUE(tensor.guardsIntact());
  EXPECT_EQ(tensor.toArray().values, (std::vector<double>{1, 1, 1}));
  EXPECT_EQ(tensor.bytes().size(), 12u);
  data[3] = 1;
  EXPECT_FALSE(tensor.guardsIntact());
  HostTensor other(DType::F32, {3});
  static_cast<float *>(other.view().data)[-1] = 1;
  EXPECT_FALSE(other.guardsIntact());
}

TEST(HostTensor, LeavesGapsBetweenLines) {
  Array array{{2, 3}, {1, 2, 3, 4, 5, 6}};
  HostTensor tensor(DType::BF16, array, 5);
  TensorView view = tensor.view();
  EXPECT_EQ(view.strides, (std::vector<std::int64_t>{8, 1}));
  EXPECT_EQ(tensor.toArray().values, array.values);
  EXPECT_EQ(tensor.bytes(), HostTensor(DType::BF16, array).bytes());
  EXPECT_TRUE(tensor.guardsIntact());
  static_cast<std::uint16_t *>(view.data)[3] = 0; // behind the first line
  EXPECT_FALSE(tensor.guardsIntact());
}

TEST(HostTensor, StartsAsNan) {
  for (DType dtype : {DType::F32, DType::F64, DType::F16, DType::BF16}) {
    for (double value : HostTensor(dtype, {2, 3}).toArray().values) {
      EXPECT_TRUE(std::isnan(value));
    }
  }
}

} // namespace
} // namespace recurra
