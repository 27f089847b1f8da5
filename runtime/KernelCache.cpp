// KernelCache: two maps in memory (by the texts as given, then by the canonical
// key) in front of the disk and the compiler.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/KernelCache.h"

#include "compiler/Compiler.h"
#include "dsl/Text.h"
#include "runtime/BuildId.h"
#include "runtime/Counters.h"
#include "runtime/CpuModule.h"
#include "runtime/CudaDriver.h"
#include "runtime/CudaModule.h"
#include "runtime/DiskCache.h"
#include "runtime/Options.h"

#include <chrono>
#include <cstdio>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace recurra {
namespace {

/// Where the threads that want one kernel meet. The first to lock the mutex
/// makes the kernel; a failure leaves it null for the next to try.
struct Slot {
  std::mutex mutex;
  const recurra_kernel *kernel = nullptr;
};

struct Memory {
  std::mutex mutex;
  std::unordered_map<std::string, const recurra_kernel *> byTexts;
  std::unordered_map<std::string, std::shared_ptr<Slot>> byKey;
};

Memory &memory() {
  static Memory *const instance = new Memory; // used until the process ends
  return *instance;
}

/// Before any parsing: the path of every call but the first.
const recurra_kernel *findByTexts(const std::string &texts) {
  std::lock_guard lock(memory().mutex);
  auto found = memory().byTexts.find(texts);
  return found == memory().byTexts.end() ? nullptr : found->second;
}

std::shared_ptr<Slot> slotOf(const std::string &key) {
  std::lock_guard lock(memory().mutex);
  std::shared_ptr<Slot> &slot = memory().byKey[key];
  if (!slot) {
    slot = std::make_shared<Slot>();
  }
  return slot;
}

std::string remarksOf(const Artifact &artifact) {
  std::string text;
  for (const std::string &remark : artifact.remarks) {
    text += remark + '\n';
  }
  return text;
}

/// A line for a user who wonders what the program is doing.
void reportSlow(const Recurrence &recurrence, const Spec &spec,
                const Artifact &artifact, double seconds) {
  if (seconds > 1 && !options().quiet) {
    std::fprintf(stderr,
                 "recurra: compiled %s %s for %s %s in %.1f s "
                 "(RECURRA_QUIET=1 silences this)\n",
                 recurrence.name.c_str(),
                 spec.direction == Direction::Forward ? "forward" : "backward",
                 artifact.target.c_str(), artifact.arch.c_str(), seconds);
  }
}

Status compileFresh(const Recurrence &recurrence, const Spec &spec,
                    Artifact &artifact) {
  auto start = std::chrono::steady_clock::now();
  Diagnostics diagnostics;
  ++counters().compilations;
  if (!compile(recurrence, spec, artifact, diagnostics)) {
    return {RECURRA_INVALID_DEFINITION, diagnostics.error};
  }
  artifact.remarks = diagnostics.remarks;
  std::chrono::duration<double> spent =
      std::chrono::steady_clock::now() - start;
  reportSlow(recurrence, spec, artifact, spent.count());
  return {};
}

Status linkObject(recurra_kernel &kernel) {
  std::vector<std::string> symbols;
  for (const Nest &nest : kernel.artifact.nests) {
    symbols.push_back(nest.entry);
  }
  std::vector<void *> addresses;
  Status status = loadObject(kernel.artifact.code, symbols, addresses);
  for (void *address : addresses) {
    kernel.entries.push_back(reinterpret_cast<NestEntry>(address));
  }
  return status;
}

Status load(const Spec &spec, Artifact artifact,
            const recurra_kernel *&kernel) {
  auto loaded = std::make_unique<recurra_kernel>();
  loaded->spec = spec;
  loaded->artifact = std::move(artifact);
  if (spec.target == "cuda") {
    loaded->module = new CudaModule; // lives as long as the kernel
  } else if (Status status = linkObject(*loaded); !status.ok()) {
    return status;
  }
  kernel = loaded.release();
  return {};
}

bool loadFromDisk(const DiskCache &disk, const std::string &key,
                  const Spec &spec, const recurra_kernel *&kernel) {
  Artifact artifact;
  DiskCache::Found found = disk.load(key, artifact);
  if (found == DiskCache::Found::Entry &&
      load(spec, std::move(artifact), kernel).ok()) {
    ++counters().diskHits;
    return true;
  }
  if (found != DiskCache::Found::Nothing) {
    ++counters().diskRejects;
    disk.drop(key);
  }
  return false;
}

Status make(const Recurrence &recurrence, const Spec &spec,
            const std::string &key, const recurra_kernel *&kernel) {
  Options current = options();
  DiskCache disk(current.cacheDirectory, current.cacheLimit);
  if (loadFromDisk(disk, key, spec, kernel)) {
    return {};
  }
  Artifact artifact;
  Status status = compileFresh(recurrence, spec, artifact);
  if (!status.ok()) {
    return status;
  }
  status = load(spec, artifact, kernel);
  if (status.ok()) {
    disk.store(key, artifact);
  }
  return status;
}

Status checkCpu(const Spec &spec) {
  bool known =
      spec.arch == "native" || spec.arch == "avx512" || spec.arch == "avx2";
  if (!known) {
    return {RECURRA_UNSUPPORTED, "arch '" + spec.arch +
                                     "' is not one of the cpu's: native, "
                                     "avx512, avx2"};
  }
  if (hostIsa() == "none" || (spec.arch == "avx512" && hostIsa() == "avx2")) {
    return {RECURRA_UNSUPPORTED, "this processor (" + hostIsa() +
                                     ") cannot run code for '" + spec.arch +
                                     "'; compiled kernels need AVX2 and FMA"};
  }
  return {};
}

/// Checks the target; on a GPU, "native" becomes the first device's name.
Status resolveTarget(Spec &spec) {
  if (spec.target == "cpu") {
    return checkCpu(spec);
  }
  if (spec.target == "cuda") {
    return spec.arch == "native" ? archOfDevice(0, spec.arch) : Status{};
  }
  return {RECURRA_UNSUPPORTED, "target '" + spec.target +
                                   "' is not in this build; it has 'cpu' and "
                                   "'cuda'"};
}

} // namespace

std::string cacheKey(const std::string &canonicalText, const Spec &spec) {
  bool native = spec.target == "cpu" && spec.arch == "native";
  std::string host = native ? hostProcessor() : "";
  return compilerVersion() + ' ' + buildId() + '\n' + host + '\n' +
         toText(spec) + canonicalText;
}

Status findKernel(const std::string &text, const std::string &specText,
                  const recurra_kernel *&kernel) {
  std::string texts = specText + '\0' + text;
  kernel = findByTexts(texts);
  if (kernel) {
    ++counters().memoryHits;
    return {RECURRA_SUCCESS, remarksOf(kernel->artifact)};
  }
  Spec spec;
  std::string malformed;
  if (!parseSpec(specText, spec, malformed)) {
    return {RECURRA_INVALID_DEFINITION, malformed};
  }
  if (Status status = resolveTarget(spec); !status.ok()) {
    return status;
  }
  Recurrence recurrence = parse(text);
  std::string key = cacheKey(toText(recurrence), spec);
  std::shared_ptr<Slot> slot = slotOf(key);
  std::lock_guard waiting(slot->mutex);
  if (slot->kernel) {
    ++counters().memoryHits;
  } else if (Status status = make(recurrence, spec, key, slot->kernel);
             !status.ok()) {
    return status;
  }
  kernel = slot->kernel;
  std::lock_guard lock(memory().mutex);
  memory().byTexts[texts] = kernel;
  return {RECURRA_SUCCESS, remarksOf(kernel->artifact)};
}

} // namespace recurra
