// A faulty library for tests: preloaded, it stands before the C door, lets each
// launch run, then spoils a result as RECURRA_MUTATION says. Whatever compares
// kernels with the oracle must notice.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/recurra.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>

namespace {

using nlohmann::json;

/// The arguments of every kernel that was compiled.
std::map<const recurra_kernel *, json> &descriptions() {
  static std::map<const recurra_kernel *, json> all;
  return all;
}

std::mutex &mutex() {
  static std::mutex lock;
  return lock;
}

template <typename Function>
Function *next(Function *, const char *name) {
  return reinterpret_cast<Function *>(dlsym(RTLD_NEXT, name));
}

std::size_t bytesOf(recurra_dtype dtype) {
  return dtype == RECURRA_F64 ? 8 : dtype == RECURRA_F32 ? 4 : 2;
}

/// Calls visit(offset, index) for every element, offset in bytes.
void forEach(
    const recurra_tensor &tensor,
    const std::function<void(char *, const std::vector<int64_t> &)> &visit) {
  std::vector<int64_t> index(tensor.rank, 0);
  int64_t count = 1;
  for (int i = 0; i < tensor.rank; ++i) {
    count *= tensor.sizes[i];
  }
  for (int64_t n = 0; n < count; ++n) {
    int64_t offset = 0, rest = n;
    for (int i = tensor.rank - 1; i >= 0; --i) {
      index[i] = rest % tensor.sizes[i];
      rest /= tensor.sizes[i];
      offset += index[i] * tensor.strides[i];
    }
    visit(static_cast<char *>(tensor.data) + offset * bytesOf(tensor.dtype),
          index);
  }
}

void zero(const recurra_tensor &tensor) {
  forEach(tensor, [&](char *element, const auto &) {
    std::memset(element, 0, bytesOf(tensor.dtype));
  });
}

/// Of [B, T, H, ..].
void zeroHead(const recurra_tensor &tensor) {
  forEach(tensor, [&](char *element, const auto &index) {
    if (index[2] == 0) {
      std::memset(element, 0, bytesOf(tensor.dtype));
    }
  });
}

/// Token t gets the value of token t - 1; the first keeps its own.
void shiftToken(const recurra_tensor &tensor) {
  std::map<std::vector<int64_t>, std::string> before;
  std::size_t bytes = bytesOf(tensor.dtype);
  forEach(tensor, [&](char *element, const auto &index) {
    before[index].assign(element, bytes);
  });
  forEach(tensor, [&](char *element, std::vector<int64_t> index) {
    if (index[1] > 0) {
      index[1] -= 1;
      std::memcpy(element, before[index].data(), bytes);
    }
  });
}

void spoil(const json &arguments, const recurra_tensor *tensors) {
  const char *wanted = std::getenv("RECURRA_MUTATION");
  std::string mutation = wanted ? wanted : "";
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string kind = arguments[i]["kind"], name = arguments[i]["name"];
    if (mutation == "drop_gate_gradient" && kind == "input_gradient" &&
        name == "g") {
      zero(tensors[i]);
    } else if (mutation == "zero_head" && kind == "output") {
      zeroHead(tensors[i]);
    } else if (mutation == "shift_token" && kind == "output") {
      shiftToken(tensors[i]);
    }
  }
}

} // namespace

recurra_status recurra_compile(const char *text, const char *spec,
                               recurra_kernel **kernel,
                               recurra_string **message) {
  auto real = next(recurra_compile, "recurra_compile");
  recurra_status status = real(text, spec, kernel, message);
  recurra_string *description = nullptr;
  if (status == RECURRA_SUCCESS &&
      recurra_describe(text, spec, &description) == RECURRA_SUCCESS) {
    std::lock_guard<std::mutex> guard(mutex());
    descriptions()[*kernel] =
        json::parse(recurra_string_data(description))["arguments"];
    recurra_string_free(description);
  }
  return status;
}

recurra_status recurra_launch(const recurra_kernel *kernel,
                              const recurra_tensor *tensors, int32_t count,
                              const recurra_sizes *sizes,
                              const recurra_host *host,
                              recurra_string **message) {
  auto real = next(recurra_launch, "recurra_launch");
  recurra_status status = real(kernel, tensors, count, sizes, host, message);
  std::lock_guard<std::mutex> guard(mutex());
  auto found = descriptions().find(kernel);
  if (status == RECURRA_SUCCESS && found != descriptions().end()) {
    spoil(found->second, tensors);
  }
  return status;
}
