// TimedCall: tensors as the kernels describe them, and a host that counts.
// SPDX-License-Identifier: Apache-2.0
#include "cli/TimedCall.h"

#include "runtime/Draw.h"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

namespace recurra::cli {
namespace {

using nlohmann::json;

std::vector<std::int64_t> resolve(const json &shape, const Call &call,
                                  std::int64_t interval) {
  std::vector<std::int64_t> sizes;
  for (const std::string symbol : shape) {
    sizes.push_back(symbol == "B" || symbol == "N" ? call.batch
                    : symbol == "T"                ? call.tokens
                    : symbol == "H"                ? call.heads
                    : symbol == "Hg"               ? call.heads / call.group
                    : symbol == "S"
                        ? call.batch * call.tokens / interval + call.batch
                        : std::stoll(symbol));
  }
  return sizes;
}

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
    std::string key = kind + ' ' + name;
    if (!tensors.count(key)) {
      tensors.emplace(
          key, makeTensor(kind, name,
                          *parseDType(argument["dtype"].get<std::string>()),
                          resolve(argument["shape"], call,
                                  description["checkpoint_interval"])));
    }
    launch.tensors.push_back(tensors.at(key).view());
  }
  launches.push_back(std::move(launch));
}

void *CountingHost::allocate(void *self, std::int64_t bytes) {
  auto &host = *static_cast<CountingHost *>(self);
  std::int64_t rounded = (bytes + 63) / 64 * 64;
  void *memory = std::aligned_alloc(64, static_cast<std::size_t>(rounded));
  host.blocks[memory] = bytes;
  host.lent += bytes;
  host.most = std::max(host.most, host.lent);
  return memory;
}

void CountingHost::release(void *self, void *memory) {
  auto &host = *static_cast<CountingHost *>(self);
  host.lent -= host.blocks[memory];
  host.blocks.erase(memory);
  std::free(memory);
}

recurra_host CountingHost::host() {
  auto parallelFor = [](void *self, std::int64_t count,
                        void (*body)(void *, std::int64_t, std::int64_t),
                        void *argument) {
    recurra_host pool = static_cast<CountingHost *>(self)->threads.host();
    pool.parallel_for(pool.context, count, body, argument);
  };
  return {this, allocate, release, parallelFor};
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
