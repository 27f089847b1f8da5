// What the caller of a launch lends: memory, threads, a device and its stream.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Status.h"

#include <cstdlib>
#include <string>

namespace recurra {

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

  /// Of a CUDA launch.
  int device() const { return given.device; }
  void *stream() const { return given.stream; }
  bool lends() const { return given.allocate && given.release; }

private:
  static constexpr std::size_t alignment = 64;
  recurra_host given;
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

inline Status outOfMemory(std::int64_t bytes) {
  return {RECURRA_INTERNAL, "the allocator returned nothing for " +
                                std::to_string(bytes) + " bytes of workspace"};
}

} // namespace recurra
