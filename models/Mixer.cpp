// The Palimpsa-D token mixer.
// SPDX-License-Identifier: Apache-2.0
#include "models/Mixer.h"

#include "models/Convolution.h"
#include "models/Elementwise.h"
#include "models/Timeline.h"
#include "ops/Ops.h"

#include <torch/torch.h>

namespace recurra {

using at::Tensor;

WeightModule::WeightModule(at::IntArrayRef shape,
                           const at::TensorOptions &options)
    : weight(register_parameter("weight", at::empty(shape, options))) {}

Tensor linearMap(const Tensor &x, const Tensor &weight) {
  return timed(Part::Matmul, {x}, [&](const std::vector<Tensor> &in) {
    return at::linear(in[0], weight);
  });
}

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
  const int64_t qkv = qProj.size(0) + kProj.size(0) + vProj.size(0);
  std::vector<Tensor> weights = {qProj,        kProj,        vProj,
                                 betaStepProj, timeStepProj, gateProj};
  std::vector<int64_t> sizes = {qkv, config.heads, config.heads,
                                gateProj.size(0)};
  if (config.mixer == "palimpsa") {
    weights.push_back(rankProj);
    sizes.push_back(config.betaRank);
  }
  std::vector<Tensor> columns =
      linearMap(h_BTC, at::cat(weights)).split_with_sizes(sizes, -1);
  columns.resize(5);
  return {columns[0], columns[1], columns[2], columns[3], columns[4]};
}

Tensor PalimpsaMixer::convolve(const Tensor &qkv) const {
  return timed(Part::Convolution, {qkv}, [&](const std::vector<Tensor> &in) {
    return shortConvolution(in[0], at::cat({qConv, kConv, vConv}),
                            config.convolutionForm);
  });
}

Tensor PalimpsaMixer::beta(const Projected &columns,
                           const Tensor &step_BTH) const {
  const Tensor b_BTHV = linearMap(columns.rank, betaProj)
                            .unflatten(-1, {config.heads, config.valueSize});
  return timed(Part::Gates, {b_BTHV, step_BTH},
               [&](const std::vector<Tensor> &in) {
                 return writtenCertainty(in[0], in[1] * at::softplus(betaScale),
                                         config.fused);
               });
}

Tensor PalimpsaMixer::recur(const Projected &columns, const Tensor &qk_BTHK,
                            const Tensor &z_BTHV) const {
  const Tensor unit =
      timed(Part::Norm, {qk_BTHK}, [&](const std::vector<Tensor> &in) {
        return unitOfSilu(in[0], config.fused);
      });
  const Tensor step_BTH =
      timed(Part::Gates, {columns.betaStep}, [](const std::vector<Tensor> &in) {
        return at::sigmoid(in[0].to(at::kFloat));
      });
  const Tensor v_BTHV = timed(Part::Gates, {z_BTHV, step_BTH},
                              [&](const std::vector<Tensor> &in) {
                                return writtenValue(in[0], in[1], config.fused);
                              });
  const Tensor g_BTH = timed(
      Part::Gates, {columns.timeStep}, [&](const std::vector<Tensor> &in) {
        return at::softplus(in[0] + timeStepBias) * -aLog.exp();
      });
  const std::vector<Tensor> qk = unit.chunk(2, 2);
  std::vector<Tensor> inputs = {qk[0], qk[1], v_BTHV, g_BTH};
  if (config.mixer == "simple_gla") {
    return timed(Part::Mixer, inputs, [](const std::vector<Tensor> &in) {
      return callCatalogue("simple_gla",
                           {in[0], in[1], in[2], in[3], std::nullopt})
          .outputs[0];
    });
  }
  inputs.push_back(beta(columns, step_BTH));
  return timed(Part::Mixer, inputs, [&](const std::vector<Tensor> &in) {
    return palimpsa(in[0], in[1], in[2], in[3], in[4], priorLog.exp())
        .outputs[0];
  });
}

Tensor PalimpsaMixer::forward(const Tensor &h_BTC) {
  const Projected columns = project(h_BTC);
  const std::vector<Tensor> parts =
      convolve(columns.qkv)
          .split_with_sizes({2 * qProj.size(0), vProj.size(0)}, -1);
  const auto ofHeads = [](const Tensor &x, int64_t heads) {
    return x.unflatten(-1, {heads, x.size(-1) / heads});
  };
  const Tensor z_BTHV = ofHeads(parts[1], config.heads);
  const Tensor gate_BTHV = ofHeads(columns.gate, config.heads);
  std::vector<Tensor> inputs = {z_BTHV, gate_BTHV};
  if (config.mixer != "convolution") {
    inputs.push_back(
        recur(columns, ofHeads(parts[0], 2 * config.heads), z_BTHV));
  }
  const Tensor out_BTHV =
      timed(Part::Norm, inputs, [&](const std::vector<Tensor> &in) {
        const Tensor y = in.size() > 2 ? in[2] : Tensor();
        return gatedNorm(y, in[0], skip, in[1], config.normEps, config.fused);
      });
  // The norm's weight is the same for all heads and all tokens: it may as well
  // scale the columns of the map behind it.
  return linearMap(out_BTHV.flatten(2), outProj * outNorm.repeat(config.heads));
}

} // namespace recurra
