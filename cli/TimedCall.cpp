// TimedCall: tensors as the kernels describe them.
// SPDX-License-Identifier: Apache-2.0
#include "cli/TimedCall.h"

#include "runtime/ArgumentSizes.h"
#include "runtime/Draw.h"

#include <nlohmann/json.hpp>

namespace recurra::cli {
namespace {

using nlohmann::json;

std::int64_t bytesOf(DType dtype, const std::vector<std::int64_t> &sizes) {
  auto bytes = static_cast<std::int64_t>(sizeInBytes(dtype));
  for (std::int64_t size : sizes) {
    bytes *= size;
  }
  return bytes;
}

} // namespace

TimedCall::TimedCall(const Recurrence &recurrence, const Call &sizes,
                     const SpecOptions &options, bool backward, int threads)
    : call(sizes), host(threads) {
  drawInputs(recurrence, call, 1, false);
  cotangents = drawCotangents(recurrence, call, 2);
  Spec forward = options.spec(recurrence, Direction::Forward);
  forward.saveCheckpoints = backward;
  prepare(recurrence, forward);
  if (backward) {
    prepare(recurrence, options.spec(recurrence, Direction::Backward));
  }
}

HostTensor TimedCall::makeTensor(const std::string &kind,
                                 const std::string &name, DType dtype,
                                 const std::vector<std::int64_t> &sizes) {
  if (kind == "input") {
    return HostTensor(dtype, call.inputs.at(name));
  }
  if (kind == "output_cotangent") {
    return HostTensor(dtype, cotangents.outputs.at(name));
  }
  resultBytes += bytesOf(dtype, sizes);
  return HostTensor(dtype, sizes);
}

void TimedCall::prepare(const Recurrence &recurrence, const Spec &spec) {
  json description = json::parse(describeKernel(recurrence, spec));
  Launch launch{Kernel::compile(recurrence, spec), {}};
  for (const json &argument : description["arguments"]) {
    std::string kind = argument["kind"], name = argument["name"];
    std::string key = kind;
    key.append(" ").append(name);
    if (!tensors.count(key)) {
      tensors.emplace(
          key, makeTensor(kind, name,
                          *parseDType(argument["dtype"].get<std::string>()),
                          sizesOf(argument["shape"], call,
                                  description["checkpoint_interval"])));
    }
    launch.tensors.push_back(tensors.at(key).view());
  }
  launches.push_back(std::move(launch));
}

void TimedCall::run() {
  recurra_sizes sizes{call.batch, call.tokens, call.heads, call.batch, nullptr};
  recurra_host lender = host.host();
  for (const Launch &launch : launches) {
    launch.kernel.launch(launch.tensors, sizes, &lender);
  }
}

std::int64_t TimedCall::peakBytes() const {
  return resultBytes + host.mostLent();
}

} // namespace recurra::cli
