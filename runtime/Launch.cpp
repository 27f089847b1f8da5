// Launch: check tensors, lend memory, run the nests one after the other.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Launch.h"

#include "runtime/CallSizes.h"
#include "runtime/CudaModule.h"
#include "runtime/Host.h"
#include "runtime/TensorRules.h"

#include <atomic>
#include <memory>

namespace recurra {
namespace {

/// What the body of a parallel loop needs.
struct NestCall {
  NestEntry entry;
  const KernelBuffer *buffers;
  const KernelShape *shape;
  const Host *host;
  std::int64_t scratchBytes;
  std::atomic<bool> outOfMemory{false};

  static void run(void *self, std::int64_t begin, std::int64_t end) {
    auto &call = *static_cast<NestCall *>(self);
    Loan scratch(*call.host, call.scratchBytes);
    if (!scratch.ok()) {
      call.outOfMemory = true;
      return;
    }
    call.entry(call.buffers, call.shape, begin, end, scratch.data());
  }
};

KernelBuffer bufferOf(const recurra_tensor &tensor) {
  KernelBuffer buffer{static_cast<char *>(tensor.data), {}};
  for (std::int32_t i = 0; i < tensor.rank; ++i) {
    buffer.strides[i] = tensor.strides[i];
  }
  return buffer;
}

KernelBuffer bufferOf(const Workspace &workspace, const CallSizes &sizes,
                      char *data) {
  KernelBuffer buffer{data, {}};
  std::int64_t stride = 1;
  for (std::size_t i = workspace.shape.size(); i-- > 0;) {
    buffer.strides[i] = stride;
    stride *= sizes.value(workspace.shape[i]);
  }
  return buffer;
}

/// Appends the workspaces to the buffers; the loans own their memory.
Status lendWorkspaces(const recurra_kernel &kernel, const CallSizes &sizes,
                      const Host &host, std::vector<KernelBuffer> &buffers,
                      std::vector<std::unique_ptr<Loan>> &loans) {
  for (const Workspace &workspace : kernel.artifact.workspaces) {
    std::int64_t elements = 0;
    if (Status status = sizes.product(workspace.shape, elements);
        !status.ok()) {
      return status;
    }
    std::int64_t bytes =
        elements * static_cast<std::int64_t>(sizeInBytes(workspace.dtype));
    loans.push_back(std::make_unique<Loan>(host, bytes));
    if (!loans.back()->ok()) {
      return outOfMemory(bytes);
    }
    buffers.push_back(bufferOf(workspace, sizes, loans.back()->data()));
  }
  return {};
}

Status runNests(const recurra_kernel &kernel, const CallSizes &sizes,
                const Host &host, const std::vector<KernelBuffer> &buffers) {
  KernelShape shape{sizes.rows, sizes.tokens, sizes.heads, sizes.sequences,
                    sizes.offsets};
  for (std::size_t i = 0; i < kernel.entries.size(); ++i) {
    const Nest &nest = kernel.artifact.nests[i];
    std::int64_t tasks = 0;
    if (Status status = sizes.product(nest.tasks, tasks); !status.ok()) {
      return status;
    }
    if (tasks == 0) {
      continue;
    }
    NestCall call{kernel.entries[i], buffers.data(), &shape, &host,
                  nest.scratchBytes};
    host.parallelFor(tasks, NestCall::run, &call);
    if (call.outOfMemory) {
      return outOfMemory(nest.scratchBytes);
    }
  }
  return {};
}

} // namespace

Status launch(const recurra_kernel &kernel, const recurra_tensor *tensors,
              std::int64_t count, const recurra_sizes &given,
              const recurra_host *lent) {
  CallSizes sizes;
  if (Status status = readSizes(kernel, given, sizes); !status.ok()) {
    return status;
  }
  if (Status status = checkTensors(kernel, tensors, count, sizes);
      !status.ok()) {
    return status;
  }
  Host host(lent);
  if (kernel.artifact.target == "cuda" && !host.lends()) {
    return {RECURRA_INVALID_ARGUMENT,
            "a launch on a GPU needs the caller's allocator; set allocate and "
            "release of recurra_host to functions that give device memory"};
  }
  std::vector<KernelBuffer> buffers;
  for (std::int64_t i = 0; i < count; ++i) {
    buffers.push_back(bufferOf(tensors[i]));
  }
  std::vector<std::unique_ptr<Loan>> loans;
  if (Status status = lendWorkspaces(kernel, sizes, host, buffers, loans);
      !status.ok()) {
    return status;
  }
  return kernel.artifact.target == "cuda"
             ? runOnCuda(kernel, sizes, host, buffers)
             : runNests(kernel, sizes, host, buffers);
}

} // namespace recurra
