// Checkpoints of a run: a folder each, written beside its place and renamed
// into it, so that a crash leaves whole ones only.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Safetensors.h"

#include <ATen/core/Tensor.h>

#include <map>
#include <optional>
#include <string>

namespace recurra {

using NamedTensors = std::map<std::string, at::Tensor>;

/// All that a run is at the end of a step. There is no generator state: data
/// are functions of seed and step, and training draws nothing else.
struct TrainingState {
  NamedTensors parameters; ///< to model.safetensors
  NamedTensors optimiser;  ///< to training.safetensors, as are the next three
  int64_t step = 0;
  double seconds = 0;                        ///< spent training so far
  std::map<std::string, std::string> config; ///< as of listKeys()
};

/// Writes `output`/step-000200 and removes all but the newest `keep`.
void saveCheckpoint(const std::string &output, const TrainingState &state,
                    int64_t keep);

/// The newest checkpoint's folder, if there is one.
std::optional<std::string> newestCheckpoint(const std::string &output);

/// Fills the tensors of `state` in place, and the rest of it. Throws UserError
/// if a tensor is missing, unknown or of another shape or dtype, or if a key of
/// `config` that decides the numbers has another value than at the time.
void loadCheckpoint(const std::string &folder, TrainingState &state);

/// Copies a file's tensors into `tensors`, name by name, with the same checks.
void loadTensors(const SafetensorsFile &file, const NamedTensors &tensors);

} // namespace recurra
