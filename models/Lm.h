// The language model around the mixer: embedding, blocks, final norm, tied
// head.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Mixer.h"

#include <vector>

namespace recurra {

/// x + mixer(norm(x)), then x + mlp(norm(x)) where the model has an MLP.
class Block : public torch::nn::Module {
public:
  Block(const ModelConfig &config, const at::TensorOptions &options);
  at::Tensor forward(const at::Tensor &x_BTC);

private:
  double normEps;
  at::Tensor mixerNorm, mlpNorm, gateProj, upProj, downProj;
  std::shared_ptr<PalimpsaMixer> mixer;
  bool mixes, fused;
};

class LanguageModel : public torch::nn::Module {
public:
  /// Leaves the parameters as `at::empty` does; on the meta device nothing is
  /// allocated.
  LanguageModel(const ModelConfig &config, const at::TensorOptions &options);

  /// tokens [B, T] -> logits [B T, vocabulary], or [positions, vocabulary] if
  /// `positions` (flat indices into B T) is defined.
  at::Tensor forward(const at::Tensor &tokens_BT,
                     const at::Tensor &positions = {});

  /// The mean of the cross entropies of `targets`, without whole logits.
  at::Tensor loss(const at::Tensor &tokens_BT, const at::Tensor &targets,
                  const at::Tensor &positions = {});

  /// Draws every parameter from `seed`, by its name (palimpsa.md, part 5).
  void initialise(uint64_t seed);

private:
  /// What matrix products compute with: autocast's dtype, if it is on.
  at::ScalarType computeType() const;
  /// What the head reads, [N, C].
  at::Tensor hidden(const at::Tensor &tokens_BT, const at::Tensor &positions);
  at::Tensor initialValue(const std::string &name, const at::Tensor &parameter,
                          at::Generator &generator) const;
  ModelConfig config;
  at::Tensor embedding, finalNorm;
  std::vector<std::shared_ptr<Block>> blocks;
};

/// Width of the SwiGLU: 8/3 of the model's, rounded up to a multiple of 256.
int64_t mlpWidth(int64_t width);

} // namespace recurra
