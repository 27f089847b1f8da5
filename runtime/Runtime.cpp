// The C door: turns texts, handles and exceptions into what runtime/recurra.h
// promises. Nothing else of the library is visible outside.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Compiler.h"
#include "dsl/Error.h"
#include "dsl/Text.h"
#include "runtime/Describe.h"
#include "runtime/KernelCache.h"
#include "runtime/Launch.h"
#include "runtime/Options.h"

#include <exception>

struct recurra_string {
  std::string text;
};

namespace recurra {
namespace {

recurra_status deliver(const Status &status, recurra_string **message) {
  if (message) {
    *message = new recurra_string{status.message};
  }
  return status.code;
}

/// Runs `work`, a function that returns Status, and lets no exception out.
template <typename Work>
recurra_status atDoor(recurra_string **message, Work work) {
  try {
    return deliver(work(), message);
  } catch (const UserError &error) {
    return deliver({RECURRA_INVALID_DEFINITION, error.what()}, message);
  } catch (const std::exception &error) {
    return deliver({RECURRA_INTERNAL, error.what()}, message);
  }
}

Status inspectTexts(const std::string &text, const std::string &specText,
                    const std::string &stage) {
  Spec spec;
  Status result;
  if (!parseSpec(specText, spec, result.message)) {
    return {RECURRA_INVALID_DEFINITION, result.message};
  }
  Diagnostics diagnostics;
  if (!inspect(parse(text), spec, stage, result.message, diagnostics)) {
    return {RECURRA_INVALID_DEFINITION, diagnostics.error};
  }
  return result;
}

} // namespace
} // namespace recurra

using namespace recurra;

const char *recurra_string_data(const recurra_string *string) {
  return string->text.c_str();
}

void recurra_string_free(recurra_string *string) { delete string; }

recurra_status recurra_compile(const char *text, const char *spec,
                               recurra_kernel **kernel,
                               recurra_string **message) {
  return atDoor(message, [&] {
    const recurra_kernel *found = nullptr;
    Status status = findKernel(text, spec, found);
    *kernel = const_cast<recurra_kernel *>(found);
    return status;
  });
}

recurra_status recurra_warmup(const char *const *texts,
                              const char *const *specs, int32_t count,
                              recurra_string **message) {
  return atDoor(message, [&] {
    return findKernels({texts, texts + count}, {specs, specs + count});
  });
}

recurra_status recurra_launch(const recurra_kernel *kernel,
                              const recurra_tensor *tensors, int32_t count,
                              const recurra_sizes *sizes,
                              const recurra_host *host,
                              recurra_string **message) {
  return atDoor(message,
                [&] { return launch(*kernel, tensors, count, *sizes, host); });
}

recurra_status recurra_object(const recurra_kernel *kernel, const void **data,
                              int64_t *bytes) {
  *data = kernel->artifact.code.data();
  *bytes = static_cast<int64_t>(kernel->artifact.code.size());
  return RECURRA_SUCCESS;
}

recurra_status recurra_describe(const char *text, const char *spec,
                                recurra_string **json) {
  return atDoor(json, [&] { return describeTexts(text, spec); });
}

recurra_status recurra_inspect(const char *text, const char *spec,
                               const char *stage, recurra_string **result) {
  return atDoor(result, [&] { return inspectTexts(text, spec, stage); });
}

recurra_string *recurra_counters(void) {
  return new recurra_string{describeCounters()};
}

recurra_string *recurra_about(void) {
  return new recurra_string{describeProcess()};
}

recurra_status recurra_set_option(const char *name, const char *value,
                                  recurra_string **message) {
  return atDoor(message, [&] { return setOption(name, value); });
}
