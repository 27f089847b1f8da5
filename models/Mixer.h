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

/// x weight^T.
at::Tensor linearMap(const at::Tensor &x, const at::Tensor &weight);

/// With `mixer = "simple_gla"` the same block without metaplasticity: beta and
/// its parameters have no part in it.
class PalimpsaMixer : public torch::nn::Module {
public:
  PalimpsaMixer(const ModelConfig &config, const at::TensorOptions &options);

  /// [B, T, C] -> [B, T, C]: normalised input to what the residual adds.
  at::Tensor forward(const at::Tensor &h_BTC);

private:
  /// The columns of the fused input projection, each [B, T, ..]: q, k and x
  /// before their convolution, one value per head (bs, dt) or per value channel
  /// (the output gate), and the factor of beta, if there is one.
  struct Projected {
    at::Tensor qkv, betaStep, timeStep, gate, rank;
  };
  Projected project(const at::Tensor &h_BTC) const;
  at::Tensor convolve(const at::Tensor &qkv) const;
  at::Tensor beta(const Projected &columns, const at::Tensor &step_BTH) const;
  /// Gates and recurrence: [B, T, H, V].
  at::Tensor recur(const Projected &columns, const at::Tensor &qk_BTHK,
                   const at::Tensor &z_BTHV) const;

  ModelConfig config;
  at::Tensor qProj, kProj, vProj, qConv, kConv, vConv;
  at::Tensor rankProj, betaProj, betaStepProj, betaScale;
  at::Tensor timeStepProj, timeStepBias, aLog, skip, priorLog;
  at::Tensor gateProj, outNorm, outProj;
};

} // namespace recurra
