// Calls runtime/recurra.h and nothing else of librecurra; lends torch's thread
// pool or stream, and its allocator, to every launch.
// SPDX-License-Identifier: Apache-2.0
#include "ops/Door.h"

#include "dsl/Text.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <future>
#include <map>
#include <nlohmann/json.hpp>
#include <shared_mutex>
#include <unordered_map>

// Of the OpenMP library that torch brings and runs its own loops on.
void runParallel(void (*body)(void *), void *data, unsigned threads,
                 unsigned flags) __asm__("GOMP_parallel");
int countThreads() __asm__("omp_get_num_threads");
int numberOfThread() __asm__("omp_get_thread_num");

namespace recurra {
namespace {

void check(recurra_status status, recurra_string *message) {
  std::string text = takeString(message);
  TORCH_CHECK(status == RECURRA_SUCCESS, text);
}

Argument::Kind parseKind(const std::string &spelling) {
  static const std::map<std::string, Argument::Kind> kinds = {
      {"input", Argument::Input},
      {"initial_state", Argument::InitialState},
      {"checkpoint", Argument::Checkpoint},
      {"output_cotangent", Argument::OutputCotangent},
      {"final_state_cotangent", Argument::FinalStateCotangent},
      {"output", Argument::Output},
      {"final_state", Argument::FinalState},
      {"input_gradient", Argument::InputGradient},
      {"initial_state_gradient", Argument::InitialStateGradient}};
  auto place = kinds.find(spelling);
  TORCH_INTERNAL_ASSERT(place != kinds.end(), "unknown argument ", spelling);
  return place->second;
}

Argument parseArgument(const nlohmann::json &json) {
  Argument argument;
  argument.kind = parseKind(json.at("kind"));
  argument.name = json.at("name");
  std::optional<DType> type = parseDType(json.at("dtype").get<std::string>());
  TORCH_INTERNAL_ASSERT(type, "unknown dtype");
  argument.dtype = *type;
  argument.shape = json.at("shape").get<std::vector<std::string>>();
  return argument;
}

recurra_dtype toDoor(at::ScalarType type) {
  switch (type) {
  case at::kDouble:
    return RECURRA_F64;
  case at::kHalf:
    return RECURRA_F16;
  case at::kBFloat16:
    return RECURRA_BF16;
  default:
    return RECURRA_F32;
  }
}

void *allocateHost(void *, std::int64_t bytes) {
  return c10::GetCPUAllocator()->raw_allocate(static_cast<std::size_t>(bytes));
}

void releaseHost(void *, void *memory) {
  c10::GetCPUAllocator()->raw_deallocate(memory);
}

/// One loop over tasks on torch's own OpenMP threads.
struct Loop {
  std::int64_t count;
  void (*body)(void *, std::int64_t, std::int64_t);
  void *argument;

  /// This thread's contiguous share.
  static void run(void *self) {
    const Loop &loop = *static_cast<Loop *>(self);
    std::int64_t threads = countThreads(), mine = numberOfThread();
    std::int64_t begin = loop.count * mine / threads;
    std::int64_t end = loop.count * (mine + 1) / threads;
    if (begin < end) {
      loop.body(loop.argument, begin, end);
    }
  }
};

/// at::parallel_for is a header that stays serial unless the compiler speaks
/// torch's OpenMP, which clang does not; its run-time library is called
/// instead.
void parallelFor(void *, std::int64_t count,
                 void (*body)(void *, std::int64_t, std::int64_t),
                 void *argument) {
  Loop loop{count, body, argument};
  std::int64_t threads =
      at::in_parallel_region()
          ? 1
          : std::min<std::int64_t>(count, at::get_num_threads());
  if (threads <= 1) {
    body(argument, 0, count);
  } else {
    runParallel(Loop::run, &loop, static_cast<unsigned>(threads), 0);
  }
}

/// What a launch borrows from torch: on a GPU the caching allocator, whose
/// memory may be reused in the order of the stream, and the current stream.
class Lender {
public:
  explicit Lender(const std::vector<at::Tensor> &tensors)
      : device(tensors.empty() ? at::Device(at::kCPU) : tensors[0].device()) {}

  recurra_host host() {
    if (device.is_cpu()) {
      return {nullptr, allocateHost, releaseHost, parallelFor, 0, nullptr};
    }
    c10::impl::VirtualGuardImpl guard(device.type());
    c10::Stream stream = guard.getStream(device);
    return {this,    allocate,       keep,
            nullptr, device.index(), stream.native_handle()};
  }

private:
  static void *allocate(void *self, std::int64_t bytes) {
    auto &lender = *static_cast<Lender *>(self);
    lender.lent.push_back(at::empty(
        {bytes}, at::TensorOptions().dtype(at::kByte).device(lender.device)));
    return lender.lent.back().mutable_data_ptr();
  }

  /// All is given back when the launch is queued.
  static void keep(void *, void *) {}

  at::Device device;
  std::vector<at::Tensor> lent;
};

/// Grows for ever: kernels and definitions live as long as the process.
template <typename Value>
class Registry {
public:
  template <typename Make>
  Value &find(const std::string &key, Make make) {
    {
      std::shared_lock lock(mutex);
      if (auto place = values.find(key); place != values.end()) {
        return *place->second;
      }
    }
    std::unique_ptr<Value> made = make();
    std::unique_lock lock(mutex);
    return *values.try_emplace(key, std::move(made)).first->second;
  }

private:
  std::shared_mutex mutex;
  std::unordered_map<std::string, std::unique_ptr<Value>> values;
};

} // namespace

OpKernel::OpKernel(std::string textOfOp, const Spec &specOfOp)
    : text(std::move(textOfOp)), spec(toText(specOfOp)),
      way(specOfOp.direction) {
  recurra_string *result = nullptr;
  recurra_status status = recurra_describe(text.c_str(), spec.c_str(), &result);
  std::string description = takeString(result);
  TORCH_CHECK(status == RECURRA_SUCCESS, description);
  nlohmann::json json = nlohmann::json::parse(description);
  for (const nlohmann::json &argument : json.at("arguments")) {
    argumentList.push_back(parseArgument(argument));
  }
  interval = std::max<std::int64_t>(1, json.at("checkpoint_interval"));
}

const recurra_kernel *OpKernel::compiled() {
  std::lock_guard lock(mutex);
  if (!kernel) {
    recurra_string *message = nullptr;
    recurra_status status =
        recurra_compile(text.c_str(), spec.c_str(), &kernel, &message);
    check(status, message);
  }
  return kernel;
}

bool OpKernel::isCompiled() {
  std::lock_guard lock(mutex);
  return kernel != nullptr;
}

void OpKernel::compileWith(const Spec &other) {
  // A thread waits at its end for what it began; the main one does so before
  // anything static is destroyed.
  thread_local std::vector<std::future<void>> begun;
  auto compileOther = [text = text, spec = toText(other)] {
    recurra_kernel *ignored = nullptr;
    recurra_string *message = nullptr;
    recurra_compile(text.c_str(), spec.c_str(), &ignored, &message);
    takeString(message);
  };
  // Where there is no thread for it, who waits compiles it, or its own call.
  begun.push_back(std::async(std::launch::async | std::launch::deferred,
                             std::move(compileOther)));
  compiled();
  if (other.target == "cpu") { // soon done; a process may be forked after it
    begun.back().wait();
  }
}

void OpKernel::launch(const std::vector<at::Tensor> &tensors,
                      recurra_sizes sizes, const at::Tensor &offsets) {
  std::vector<recurra_tensor> views;
  views.reserve(tensors.size());
  for (const at::Tensor &tensor : tensors) {
    views.push_back({const_cast<void *>(tensor.const_data_ptr()),
                     toDoor(tensor.scalar_type()),
                     static_cast<std::int32_t>(tensor.dim()),
                     tensor.sizes().data(), tensor.strides().data()});
  }
  sizes.offsets =
      offsets.defined()
          ? static_cast<const std::int64_t *>(offsets.const_data_ptr())
          : nullptr;
  Lender lender(tensors);
  recurra_host host = lender.host();
  recurra_string *message = nullptr;
  recurra_status status = recurra_launch(
      compiled(), views.data(), static_cast<std::int32_t>(views.size()), &sizes,
      &host, &message);
  check(status, message);
}

OpKernel &findKernel(const std::string &text, const Spec &spec) {
  static Registry<OpKernel> kernels;
  return kernels.find(toText(spec) + text,
                      [&] { return std::make_unique<OpKernel>(text, spec); });
}

const Recurrence &parsed(const std::string &text) {
  static Registry<Recurrence> recurrences;
  return recurrences.find(text, [&] {
    try {
      return std::make_unique<Recurrence>(parse(text));
    } catch (const UserError &error) {
      TORCH_CHECK(false, error.what());
    }
  });
}

std::string takeString(recurra_string *string) {
  if (!string) {
    return {};
  }
  std::string text = recurra_string_data(string);
  recurra_string_free(string);
  return text;
}

at::ScalarType toTorch(DType type) {
  switch (type) {
  case DType::F64:
    return at::kDouble;
  case DType::F16:
    return at::kHalf;
  case DType::BF16:
    return at::kBFloat16;
  default:
    return at::kFloat;
  }
}

DType fromTorch(at::ScalarType type) {
  switch (type) {
  case at::kDouble:
    return DType::F64;
  case at::kHalf:
    return DType::F16;
  case at::kBFloat16:
    return DType::BF16;
  default:
    return DType::F32;
  }
}

} // namespace recurra
