// The Palimpsa-D token mixer (arXiv 2602.09075): projections, short
// convolution, gates, the recurrence, gated output norm. Names and shapes of
// its parameters are those of the reference code.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Config.h"

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <memory>

namespace recurra {

// Tensors are named by their shape: B batch, T token, C width, H head, K key
// size, V value size; N stands for B T.

/// A module of one trained tensor called "weight": a bias-free linear map, a
/// convolution, a norm or an embedding, to be initialised by its name.
struct WeightModule : torch::nn::Module {
  WeightModule(at::IntArrayRef shape, const at::TensorOptions &options);
  at::Tensor weight;
};

class PalimpsaMixer : public torch::nn::Module {
public:
  PalimpsaMixer(const ModelConfig &config, const at::TensorOptions &options);

  /// [B, T, C] -> [B, T, C]: normalised input to what the residual adds.
  at::Tensor forward(const at::Tensor &h_BTC);

private:
  /// The columns of the fused input projection, each [B, T, ..]: q, k and x
  /// before their convolution, the factor of beta, and one value per head (bs,
  /// dt) or per value channel (the output gate).
  struct Projected {
    at::Tensor qkv, rank, betaStep, timeStep, gate;
  };
  Projected project(const at::Tensor &h_BTC) const;
  /// Gates, recurrence and skip: [B, T, H, V].
  at::Tensor mix(const Projected &columns) const;

  ModelConfig config;
  at::Tensor qProj, kProj, vProj, qConv, kConv, vConv;
  at::Tensor rankProj, betaProj, betaStepProj, betaScale;
  at::Tensor timeStepProj, timeStepBias, aLog, skip, priorLog;
  at::Tensor gateProj, outNorm, outProj;
};

} // namespace recurra
