// Launch: check tensors, lend memory, run the nests one after the other.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Launch.h"

#include "runtime/CallSizes.h"
#include "runtime/TensorRules.h"

#include <atomic>
#include <cstdlib>
#include <memory>

namespace recurra {
namespace {

constexpr std::size_t alignment = 64;

/// The caller's allocator and pool, or plain ones where a member is null.
class Host {
public:
  explicit Host(const recurra_host *given)
      : given(given ? *given : recurra_host{}) {}

  char *allocate(std::int64_t bytes) const {
    if (lends()) {
      return static_cast<char *>(given.allocate(given.context, bytes));
    }
    std::size_t size = (static_cast<std::size_t>(bytes) + alignment - 1) /
                       alignment * alignment;
    return static_cast<char *>(std::aligned_alloc(alignment, size));
  }

  void release(void *memory) const {
    if (lends()) {
      given.release(given.context, memory);
    } else {
      std::free(memory);
    }
  }

  void parallelFor(std::int64_t count,
                   void (*body)(void *, std::int64_t, std::int64_t),
                   void *argument) const {
    if (given.parallel_for) {
      given.parallel_for(given.context, count, body, argument);
    } else {
      body(argument, 0, count);
    }
  }

private:
  recurra_host given;
  bool lends() const { return given.allocate && given.release; }
};

/// Memory of one launch or one range, returned to the host at the end.
class Loan {
public:
  Loan(const Host &host, std::int64_t bytes)
      : host(host), memory(bytes > 0 ? host.allocate(bytes) : nullptr),
        failed(bytes > 0 && !memory) {}
  ~Loan() {
    if (memory) {
      host.release(memory);
    }
  }
  Loan(const Loan &) = delete;
  Loan &operator=(const Loan &) = delete;
  char *data() const { return memory; }
  bool ok() const { return !failed; }

private:
  const Host &host;
  char *memory;
  bool failed;
};

Status outOfMemory(std::int64_t bytes) {
  return {RECURRA_INTERNAL, "the allocator returned nothing for " +
                                std::to_string(bytes) + " bytes of workspace"};
}

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

Status product(const std::vector<std::string> &factors, const CallSizes &sizes,
               std::int64_t &result) {
  result = 1;
  for (const std::string &factor : factors) {
    if (__builtin_mul_overflow(result, sizes.value(factor), &result)) {
      return {RECURRA_INVALID_ARGUMENT,
              "the sizes of this call do not fit in 64 bits"};
    }
  }
  return {};
}

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
    if (Status status = product(workspace.shape, sizes, elements);
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
    if (Status status = product(nest.tasks, sizes, tasks); !status.ok()) {
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
  std::vector<KernelBuffer> buffers;
  for (std::int64_t i = 0; i < count; ++i) {
    buffers.push_back(bufferOf(tensors[i]));
  }
  std::vector<std::unique_ptr<Loan>> loans;
  if (Status status = lendWorkspaces(kernel, sizes, host, buffers, loans);
      !status.ok()) {
    return status;
  }
  return runNests(kernel, sizes, host, buffers);
}

} // namespace recurra
