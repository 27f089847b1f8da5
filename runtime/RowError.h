// How far a tensor is from the oracle's: the one measure of error, used by the
// numeric suite and by `recurra check`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dsl/DType.h"
#include "dsl/Evaluate.h"

namespace recurra {

/// What the leading axes of a tensor are, before its feature axes. Heads are
/// absent from inputs that all heads share.
enum class Rows {
  Token, ///< [B, T, H, axes..]
  State, ///< [N, H, axes..]
  Head,  ///< [H, axes..]
  Whole  ///< [axes..]: one row
};

/// The worst row and where it is; indices are 0 where a tensor lacks the axis.
/// `batch` counts sequences for states.
struct RowError {
  double error = 0;
  std::int64_t batch = 0, token = 0, head = 0;
};

/// A row is one token and head (16 tokens of one head if there is no feature
/// axis). Its error: |actual - oracle| over the larger of |oracle| and 1/20 of
/// the mean row norm of its head. NaN counts as infinite; numbers that
/// `dtype` cannot tell from 0 count as 0. `other`: the same tensor by the
/// oracle on other data, whose rows count in the mean too; for a sum over
/// everything, which is one row and may cancel.
RowError worstRow(const Array &actual, const Array &oracle, Rows rows,
                  bool hasHeads = true, const Array *other = nullptr,
                  DType dtype = DType::F32);

/// The bound on `worstRow` for tensors of a dtype (the least exact of the
/// call's inputs and outputs).
double errorBound(DType dtype, bool gradient);

} // namespace recurra
