// Loading cubins, and launches by the convention of compiler/KernelAbi.h.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/CudaModule.h"

#include "runtime/CudaDriver.h"

#include <algorithm>

namespace recurra {
namespace {

constexpr int warpSize = 32;

/// Makes a context current for a scope.
class Current {
public:
  Current(const CudaDriver &driver, void *context) : driver(driver) {
    error = driver.contextPush(context);
  }
  ~Current() {
    void *previous = nullptr;
    if (error == 0) {
      driver.contextPop(&previous);
    }
  }
  Current(const Current &) = delete;
  Current &operator=(const Current &) = delete;
  int error = 0;

private:
  const CudaDriver &driver;
};

Status loadFunction(const CudaDriver &driver, int device, void *module,
                    const Nest &nest, CudaModule::Function &function) {
  constexpr int multiprocessorCount = 16; // of CUdevice_attribute
  constexpr int mostSharedBytes = 8;      // of CUfunction_attribute
  int multiprocessors = 0, blocks = 0;
  int error =
      driver.moduleGetFunction(&function.handle, module, nest.entry.c_str());
  error = error ? error
                : driver.deviceGetAttribute(&multiprocessors,
                                            multiprocessorCount, device);
  int sharedBytes = static_cast<int>(nest.sharedBytes);
  error = error || sharedBytes == 0
              ? error
              : driver.functionSetAttribute(function.handle, mostSharedBytes,
                                            sharedBytes);
  error = error
              ? error
              : driver.maxActiveBlocks(&blocks, function.handle,
                                       static_cast<int>(warpSize * nest.warps),
                                       nest.sharedBytes);
  function.residentBlocks =
      std::max<std::int64_t>(1, std::int64_t(multiprocessors) * blocks);
  return cudaStatus(driver, error, "loading a kernel");
}

Status loadModule(const CudaDriver &driver, int ordinal,
                  const Artifact &artifact, CudaModule::Device &device) {
  int id = 0;
  int error = driver.deviceGet(&id, ordinal);
  error = error ? error : driver.primaryContextRetain(&device.context, id);
  if (error) {
    return cudaStatus(driver, error, "opening the device");
  }
  Current current(driver, device.context);
  for (const Nest &nest : artifact.nests) {
    void *module = nullptr;
    error = current.error
                ? current.error
                : driver.moduleLoadData(&module,
                                        artifact.code.data() + nest.codeOffset);
    if (error) {
      return cudaStatus(driver, error, "loading a module");
    }
    CudaModule::Function function;
    if (Status status = loadFunction(driver, id, module, nest, function);
        !status.ok()) {
      return status;
    }
    device.functions.push_back(function);
  }
  return {};
}

/// One nest of one call.
struct NestLaunch {
  const CudaDriver &driver;
  const Nest &nest;
  const CudaModule::Function &function;
  std::int64_t tasks;

  std::int64_t blocks() const {
    std::int64_t wanted =
        (tasks + nest.workersPerBlock - 1) / nest.workersPerBlock;
    return std::min(wanted, function.residentBlocks);
  }

  Status run(const Host &host, KernelBuffer *buffers, KernelShape &shape) {
    std::int64_t bytes = nest.scratchBytes * nest.workersPerBlock * blocks();
    Loan scratch(host, bytes);
    if (!scratch.ok()) {
      return outOfMemory(bytes);
    }
    char *memory = scratch.data();
    void *parameters[] = {buffers, &shape, &tasks,
                          static_cast<void *>(&memory)};
    int error =
        driver.launchKernel(function.handle, static_cast<unsigned>(blocks()), 1,
                            1, static_cast<unsigned>(warpSize * nest.warps), 1,
                            1, static_cast<unsigned>(nest.sharedBytes),
                            host.stream(), parameters, nullptr);
    return cudaStatus(driver, error, nest.entry.c_str());
  }
};

} // namespace

Status CudaModule::on(int ordinal, const Artifact &artifact,
                      const Device *&device) {
  const CudaDriver *driver = nullptr;
  if (Status status = findCudaDriver(driver); !status.ok()) {
    return status;
  }
  std::lock_guard lock(mutex);
  auto place = devices.find(ordinal);
  if (place == devices.end()) {
    Device loaded;
    if (Status status = loadModule(*driver, ordinal, artifact, loaded);
        !status.ok()) {
      return status;
    }
    place = devices.emplace(ordinal, std::move(loaded)).first;
  }
  device = &place->second;
  return {};
}

Status runOnCuda(const recurra_kernel &kernel, const CallSizes &sizes,
                 const Host &host, const std::vector<KernelBuffer> &buffers) {
  const CudaModule::Device *device = nullptr;
  if (Status status = kernel.module->on(host.device(), kernel.artifact, device);
      !status.ok()) {
    return status;
  }
  const CudaDriver *driver = nullptr;
  findCudaDriver(driver);
  Current current(*driver, device->context);
  if (current.error) {
    return cudaStatus(*driver, current.error, "entering the device");
  }
  std::vector<KernelBuffer> arguments = buffers;
  KernelShape shape{sizes.rows,      sizes.tokens,  sizes.heads,
                    sizes.sequences, sizes.offsets, sizes.taskBits};
  for (std::size_t i = 0; i < kernel.artifact.nests.size(); ++i) {
    const Nest &nest = kernel.artifact.nests[i];
    std::int64_t tasks = 0;
    Status status = sizes.tasksOf(nest, tasks);
    if (status.ok() && tasks > 0) {
      NestLaunch launch{*driver, nest, device->functions[i], tasks};
      status = launch.run(host, arguments.data(), shape);
    }
    if (!status.ok()) {
      return status;
    }
  }
  return {};
}

} // namespace recurra
