// Saves and loads checkpoints.
// SPDX-License-Identifier: Apache-2.0
#include "models/Checkpoint.h"

#include "dsl/Error.h"
#include "models/Folder.h"

#include <torch/torch.h>

#include <cinttypes>
#include <cstring>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sstream>
#include <unistd.h>

namespace recurra {
namespace {

constexpr const char *kModelFile = "model.safetensors";
constexpr const char *kTrainingFile = "training.safetensors";
constexpr const char *kPrefix = "step-";

const char *dtypeName(at::ScalarType type) {
  switch (type) {
  case at::kFloat:
    return "F32";
  case at::kDouble:
    return "F64";
  case at::kHalf:
    return "F16";
  case at::kBFloat16:
    return "BF16";
  case at::kLong:
    return "I64";
  default:
    throw UserError("a checkpoint cannot hold tensors of type " +
                    std::string(at::toString(type)));
  }
}

void writeTensors(const std::string &path, const NamedTensors &tensors,
                  const Metadata &metadata) {
  NamedTensors dense; // keeps the bytes alive until they are written
  std::map<std::string, RawTensor> raw;
  for (const auto &[name, tensor] : tensors) {
    const at::Tensor bytes = tensor.detach().cpu().contiguous();
    dense[name] = bytes;
    raw[name] = {dtypeName(bytes.scalar_type()), bytes.sizes().vec(),
                 std::string_view(static_cast<const char *>(bytes.data_ptr()),
                                  bytes.nbytes())};
  }
  writeSafetensors(path, raw, metadata);
}

/// Step number to folder, of the finished checkpoints.
std::map<int64_t, std::string> listCheckpoints(const std::string &output) {
  const size_t prefix = std::strlen(kPrefix);
  std::map<int64_t, std::string> found;
  for (const std::string &name : listFolder(output)) {
    const bool numbered =
        name.size() > prefix && name.size() < prefix + 18 &&
        name.compare(0, prefix, kPrefix) == 0 &&
        name.find_first_not_of("0123456789", prefix) == std::string::npos;
    if (numbered) {
      found[std::stoll(name.substr(prefix))] = inFolder(output, name);
    }
  }
  return found;
}

/// Keys that may change between the parts of a run. Of these only run.threads
/// and run.device touch the numbers, and those only in the last bits.
bool mayChange(const std::string &key) {
  return key.rfind("run.", 0) == 0 && key != "run.seed" &&
         key != "run.precision";
}

void checkConfig(const std::string &folder,
                 const std::map<std::string, std::string> &now,
                 const std::map<std::string, std::string> &then) {
  for (const auto &[key, value] : now) {
    const auto old = then.find(key);
    if (!mayChange(key) && old != then.end() && old->second != value) {
      std::ostringstream message;
      message << "cannot resume " << folder << ": '" << key << "' is " << value
              << " now and was " << old->second
              << "; set it back, or start anew in another folder";
      throw UserError(message.str());
    }
  }
}

} // namespace

void saveCheckpoint(const std::string &output, const TrainingState &state,
                    int64_t keep) {
  char name[32];
  std::snprintf(name, sizeof name, "%s%06" PRId64, kPrefix, state.step);
  const std::string target = inFolder(output, name);
  const std::string temporary = target + ".tmp";
  removeFolder(temporary);
  makeFolders(temporary);
  writeTensors(inFolder(temporary, kModelFile), state.parameters,
               {{"format", "pt"}});
  writeTensors(inFolder(temporary, kTrainingFile), state.optimiser,
               {{"step", std::to_string(state.step)},
                {"seconds", std::to_string(state.seconds)},
                {"config", nlohmann::json(state.config).dump()}});
  syncFolder(temporary);
  removeFolder(target);
  renamePath(temporary, target);
  syncFolder(output);
  std::map<int64_t, std::string> all = listCheckpoints(output);
  for (; int64_t(all.size()) > keep; all.erase(all.begin())) {
    removeFolder(all.begin()->second);
  }
}

std::optional<std::string> newestCheckpoint(const std::string &output) {
  const std::map<int64_t, std::string> all = listCheckpoints(output);
  if (all.empty()) {
    return std::nullopt;
  }
  return all.rbegin()->second;
}

void loadTensors(const SafetensorsFile &file, const NamedTensors &tensors) {
  at::NoGradGuard noGrad;
  for (const auto &[name, raw] : file.tensors()) {
    if (!tensors.count(name)) {
      throw UserError(file.path() + " holds '" + name +
                      "', which this model does not have");
    }
  }
  for (const auto &[name, tensor] : tensors) {
    const auto found = file.tensors().find(name);
    if (found == file.tensors().end()) {
      throw UserError(file.path() + " lacks '" + name +
                      "', which this model has");
    }
    const RawTensor &raw = found->second;
    if (at::IntArrayRef(raw.shape) != tensor.sizes() ||
        raw.dtype != dtypeName(tensor.scalar_type())) {
      std::ostringstream message;
      message << file.path() << ": '" << name << "' is " << raw.dtype
              << at::IntArrayRef(raw.shape) << " and this model has "
              << dtypeName(tensor.scalar_type()) << tensor.sizes();
      throw UserError(message.str());
    }
    tensor.copy_(at::from_blob(const_cast<char *>(raw.data.data()), raw.shape,
                               tensor.options().device(at::kCPU)));
  }
}

void loadCheckpoint(const std::string &folder, TrainingState &state) {
  const SafetensorsFile training(inFolder(folder, kTrainingFile));
  try {
    const nlohmann::json config =
        nlohmann::json::parse(training.metadata().at("config"));
    checkConfig(folder, state.config, config);
    state.step = std::stoll(training.metadata().at("step"));
    state.seconds = std::stod(training.metadata().at("seconds"));
  } catch (const UserError &) {
    throw;
  } catch (const std::exception &) {
    throw UserError(training.path() +
                    " lacks 'step', 'seconds' or 'config' in its metadata; it "
                    "is no checkpoint of this trainer");
  }
  loadTensors(training, state.optimiser);
  loadTensors(SafetensorsFile(inFolder(folder, kModelFile)), state.parameters);
}

} // namespace recurra
