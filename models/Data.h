// What a model is trained on: batches as functions of a step number, so that a
// resumed run sees the same ones.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Config.h"

#include <ATen/core/Tensor.h>

#include <memory>

namespace recurra {

struct Batch {
  at::Tensor tokens;    ///< [B, T], int64
  at::Tensor targets;   ///< [M], the tokens to predict
  at::Tensor positions; ///< [M], where in the flat B T; undefined: everywhere
};

class DataSet {
public:
  virtual ~DataSet() = default;
  virtual int64_t vocabulary() const = 0;
  /// Batches count from 1, `optimiser.accumulate` of them to a step.
  virtual Batch trainBatch(int64_t index) const = 0;
  virtual Batch validationBatch(int64_t index) const = 0;

  /// Batches that hold at least the configured number of sequences.
  int64_t validationBatches() const { return batches; }

protected:
  explicit DataSet(const DataConfig &config)
      : batches((config.validation + config.batch - 1) / config.batch) {}

private:
  int64_t batches;
};

/// Throws UserError if the data cannot be read or is too short.
std::unique_ptr<DataSet> makeDataSet(const DataConfig &config, uint64_t seed);

} // namespace recurra
