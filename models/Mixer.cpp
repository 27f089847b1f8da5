// The Palimpsa-D token mixer.
// SPDX-License-Identifier: Apache-2.0
#include "models/Mixer.h"

#include "models/Functions.h"
#include "ops/Ops.h"

#include <torch/torch.h>

namespace recurra {

using at::Tensor;

WeightModule::WeightModule(at::IntArrayRef shape,
                           const at::TensorOptions &options)
    : weight(register_parameter("weight", at::empty(shape, options))) {}

PalimpsaMixer::PalimpsaMixer(const ModelConfig &config,
                             const at::TensorOptions &options)
    : config(config) {
  const int64_t width = config.width, heads = config.heads;
  const int64_t keys = heads * config.keySize;
  const int64_t values = heads * config.valueSize;
  const auto weight = [&](const char *name, at::IntArrayRef shape) {
    return register_module(name, std::make_shared<WeightModule>(shape, options))
        ->weight;
  };
  const auto perHead = [&](const char *name, bool trained = true) {
    return register_parameter(name, at::empty({heads}, options), trained);
  };
  qProj = weight("q_proj", {keys, width});
  kProj = weight("k_proj", {keys, width});
  vProj = weight("v_proj", {values, width});
  qConv = weight("q_conv1d", {keys, 1, config.convolution});
  kConv = weight("k_conv1d", {keys, 1, config.convolution});
  vConv = weight("v_conv1d", {values, 1, config.convolution});
  rankProj = weight("b_rank_proj", {config.betaRank, width});
  betaProj = weight("b_proj", {values, config.betaRank});
  betaStepProj = weight("bs_proj", {heads, width});
  timeStepProj = weight("dt_proj", {heads, width});
  gateProj = weight("g_proj", {values, width});
  outNorm = weight("o_norm", {config.valueSize});
  outProj = weight("o_proj", {width, values});
  aLog = perHead("A_log");
  timeStepBias = perHead("dt_bias");
  betaScale = perHead("b_scale");
  skip = perHead("D");
  priorLog = perHead("Ip_log", /*trained=*/false);
}

PalimpsaMixer::Projected PalimpsaMixer::project(const Tensor &h_BTC) const {
  // One product; the parts keep their own names in the state dictionary.
  const Tensor weight = at::cat(
      {qProj, kProj, vProj, rankProj, betaStepProj, timeStepProj, gateProj});
  const int64_t qkv = qProj.size(0) + kProj.size(0) + vProj.size(0);
  const std::vector<Tensor> columns =
      at::linear(h_BTC, weight)
          .split_with_sizes({qkv, config.betaRank, config.heads, config.heads,
                             gateProj.size(0)},
                            -1);
  return {columns[0], columns[1], columns[2], columns[3], columns[4]};
}

Tensor PalimpsaMixer::mix(const Projected &columns) const {
  const int64_t heads = config.heads;
  const Tensor qkv =
      at::silu(shortConvolution(columns.qkv, at::cat({qConv, kConv, vConv})));
  const std::vector<Tensor> parts =
      qkv.split_with_sizes({2 * qProj.size(0), vProj.size(0)}, -1);
  const Tensor x_BTHV = parts[1].unflatten(-1, {heads, config.valueSize});
  Tensor skipped = skip.unsqueeze(-1) * x_BTHV;
  if (config.mixer == "convolution") {
    return skipped;
  }
  const Tensor qk = parts[0].unflatten(-1, {2 * heads, config.keySize});
  const Tensor unit = normalise(qk, /*scale=*/1, /*eps=*/1e-12);
  const Tensor q_BTHK = unit.narrow(2, 0, heads);
  const Tensor k_BTHK = unit.narrow(2, heads, heads);

  const Tensor step_BTH1 = at::sigmoid(columns.betaStep).unsqueeze(-1);
  const Tensor ranked = at::sigmoid(at::linear(columns.rank, betaProj))
                            .unflatten(-1, {heads, config.valueSize});
  const Tensor beta_BTHV =
      ranked * (step_BTH1 * at::softplus(betaScale).unsqueeze(-1));
  const Tensor g_BTH =
      at::softplus(columns.timeStep + timeStepBias) * -aLog.exp();
  const CallResult result = palimpsa(q_BTHK, k_BTHK, step_BTH1 * x_BTHV, g_BTH,
                                     beta_BTHV, priorLog.exp());
  return result.outputs[0] + skipped;
}

Tensor PalimpsaMixer::forward(const Tensor &h_BTC) {
  const Projected columns = project(h_BTC);
  const Tensor y_BTHV = mix(columns);
  const Tensor gate_BTHV =
      columns.gate.unflatten(-1, {config.heads, config.valueSize});
  const Tensor out_BTHV =
      rmsNorm(y_BTHV, outNorm, config.normEps) * at::silu(gate_BTHV);
  return at::linear(out_BTHV.flatten(2), outProj);
}

} // namespace recurra
