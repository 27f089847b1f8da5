/* The C door of the Recurra library: canonical text and spec in, kernels or
 * diagnostics out, in the manner of NVRTC. No C++ object and no exception
 * crosses it. All functions are thread-safe.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
#define RECURRA_API __attribute__((visibility("default")))

typedef enum {
  RECURRA_SUCCESS = 0,
  RECURRA_INVALID_DEFINITION = 1, /* the text or the spec */
  RECURRA_INVALID_ARGUMENT = 2,   /* a tensor or a size at launch */
  RECURRA_UNSUPPORTED = 3,        /* e.g. a target this build lacks */
  RECURRA_INTERNAL = 4
} recurra_status;

typedef enum {
  RECURRA_F32,
  RECURRA_F64,
  RECURRA_F16,
  RECURRA_BF16
} recurra_dtype;

/* A strided tensor; strides in elements. data may be null if a size is 0. */
typedef struct {
  void *data;
  recurra_dtype dtype;
  int32_t rank;
  const int64_t *sizes, *strides;
} recurra_tensor;

/* A compiled op, owned by the cache: valid until the process ends. */
typedef struct recurra_kernel recurra_kernel;

/* Text that the caller frees; never null after a call that returns one. */
typedef struct recurra_string recurra_string;
RECURRA_API const char *recurra_string_data(const recurra_string *string);
RECURRA_API void recurra_string_free(recurra_string *string);

/* What the caller lends to a launch. Null members mean: malloc, and one thread.
 * allocate returns 64-byte aligned memory; the threads of parallel_for call it
 * and release too (give both or neither). parallel_for calls body(argument,
 * begin, end) over disjoint ranges that cover [0, count), from any threads, and
 * returns when all are done. For "cuda", allocate and release are needed and
 * lend memory of `device` that may be released once work is queued on `stream`
 * (a CUstream); nothing waits for the device. */
typedef struct {
  void *context;
  void *(*allocate)(void *context, int64_t bytes);
  void (*release)(void *context, void *memory);
  void (*parallel_for)(void *context, int64_t count,
                       void (*body)(void *argument, int64_t begin, int64_t end),
                       void *argument);
  int32_t device;
  void *stream;
} recurra_host;

/* Sizes of a call; heads: value heads. offsets: cu_seqlens, sequences + 1 of
 * them (for "cuda" on the device, unchecked), or null: sequences = batch. */
typedef struct {
  int64_t batch, tokens, heads, sequences;
  const int64_t *offsets;
} recurra_sizes;

/* Compiles, or finds in memory or on disk. text: canonical text; spec: the
 * text form of compiler/Spec.h. On failure *message says why; on success it
 * holds the remarks, one a line. message may be null. */
RECURRA_API recurra_status recurra_compile(const char *text, const char *spec,
                                           recurra_kernel **kernel,
                                           recurra_string **message);

/* Compiles several at once, on threads; the status is the first failure's. */
RECURRA_API recurra_status recurra_warmup(const char *const *texts,
                                          const char *const *specs,
                                          int32_t count,
                                          recurra_string **message);

/* The object file of the code that runs; the kernel owns it. */
RECURRA_API recurra_status recurra_object(const recurra_kernel *kernel,
                                          const void **data, int64_t *bytes);

/* Returns when done (cpu) or queued. tensors: in recurra_describe's order. */
RECURRA_API recurra_status recurra_launch(const recurra_kernel *kernel,
                                          const recurra_tensor *tensors,
                                          int32_t count,
                                          const recurra_sizes *sizes,
                                          const recurra_host *host,
                                          recurra_string **message);

/* JSON, without generating code: {"arguments": [{"kind", "name", "dtype",
 * "shape": ["B", "T", "H", "64"]}], "workspaces": [..], "checkpoint_interval":
 * 64, "plan": ".."}; shapes have the symbols of compiler/Artifact.h. */
RECURRA_API recurra_status recurra_describe(const char *text, const char *spec,
                                            recurra_string **json);

/* Stages: rec, linear, backward, chunk; cpu: llvm, asm; cuda: cuda, ptx, sass.
 */
RECURRA_API recurra_status recurra_inspect(const char *text, const char *spec,
                                           const char *stage,
                                           recurra_string **result);

/* JSON: "compilations", "memory_hits", "disk_hits", "disk_rejects". */
RECURRA_API recurra_string *recurra_counters(void);

/* JSON: version, LLVM version, host cpu and isa, cache directory and size. */
RECURRA_API recurra_string *recurra_about(void);

/* Options, and the variables that set their defaults: "cache_dir"
 * (RECURRA_CACHE_DIR), "cache_limit_bytes" (RECURRA_CACHE_LIMIT), "quiet"
 * (RECURRA_QUIET; 1: no line on stderr for a compilation of over a second). */
RECURRA_API recurra_status recurra_set_option(const char *name,
                                              const char *value,
                                              recurra_string **message);

#ifdef __cplusplus
}
#endif
