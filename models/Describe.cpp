// A model's parameters as JSON, made on the meta device.
// SPDX-License-Identifier: Apache-2.0
#include "models/Learner.h"
#include "models/Outcome.h"

#include <torch/torch.h>

#include <nlohmann/json.hpp>
#include <ostream>

namespace recurra {
namespace {

using Json = nlohmann::json;

Json describe(const LanguageModel &model) {
  int64_t count = 0, trained = 0;
  Json tensors = Json::array();
  for (const auto &item : model.named_parameters()) {
    const at::Tensor &tensor = item.value();
    count += tensor.numel();
    trained += tensor.requires_grad() ? tensor.numel() : 0;
    tensors.push_back({{"name", item.key()},
                       {"shape", tensor.sizes().vec()},
                       {"decay", decays(item.key())},
                       {"frozen", !tensor.requires_grad()}});
  }
  return {{"parameters", count}, {"trained", trained}, {"tensors", tensors}};
}

} // namespace

TrainStatus describeModel(const TrainOptions &options, std::ostream &out) {
  return guarded([&] {
    TrainConfig config = loadConfig(options.config, options.overrides);
    if (config.model.vocabulary == 0) {
      const auto data = makeDataSet(config.data, uint64_t(config.run.seed));
      settleVocabulary(config, data->vocabulary());
    }
    const LanguageModel model(config.model,
                              at::TensorOptions(at::kFloat).device(at::kMeta));
    out << describe(model).dump(2) << std::endl;
    return TrainStatus::Done;
  });
}

} // namespace recurra
