// CpuModule: one JITLink session per process, one dylib per object.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/CpuModule.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/Core.h"
#include "llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h"
#include "llvm/ExecutionEngine/Orc/SelfExecutorProcessControl.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/TargetParser/Host.h"

#include <algorithm>
#include <cstring>
#include <mutex>

namespace recurra {
namespace {

using namespace llvm;

/// Created at the first load and never destroyed, since kernels live for ever.
struct Session {
  std::mutex mutex;
  orc::ExecutionSession session;
  orc::ObjectLinkingLayer layer;
  unsigned dylibs = 0;

  explicit Session(std::unique_ptr<orc::ExecutorProcessControl> control)
      : session(std::move(control)), layer(session) {
    session.setErrorReporter([](Error error) {
      consumeError(std::move(error)); // the failing call returns it as well
    });
  }

  orc::SymbolMap libc() {
    orc::SymbolMap map;
    auto add = [&](const char *name, auto *function) {
      map[session.intern(name)] = {orc::ExecutorAddr::fromPtr(function),
                                   JITSymbolFlags::Exported};
    };
    add("memcpy", static_cast<void *(*)(void *, const void *, size_t)>(memcpy));
    add("memmove",
        static_cast<void *(*)(void *, const void *, size_t)>(memmove));
    add("memset", static_cast<void *(*)(void *, int, size_t)>(memset));
    return map;
  }
};

Expected<Session *> makeSession() {
  auto control = orc::SelfExecutorProcessControl::Create();
  if (!control) {
    return control.takeError();
  }
  return new Session(std::move(*control));
}

Expected<Session *> session() {
  static std::mutex mutex;
  static Session *instance = nullptr;
  std::lock_guard lock(mutex);
  if (!instance) {
    auto made = makeSession();
    if (!made) {
      return made.takeError();
    }
    instance = *made;
  }
  return instance;
}

Expected<std::vector<void *>> link(Session &session, const std::string &object,
                                   const std::vector<std::string> &symbols) {
  std::lock_guard lock(session.mutex);
  orc::JITDylib &dylib = session.session.createBareJITDylib(
      "kernel" + std::to_string(session.dylibs++));
  if (Error error = dylib.define(orc::absoluteSymbols(session.libc()))) {
    return std::move(error);
  }
  if (Error error = session.layer.add(
          dylib, MemoryBuffer::getMemBufferCopy(object, dylib.getName()))) {
    return std::move(error);
  }
  std::vector<void *> addresses;
  for (const std::string &symbol : symbols) {
    auto found = session.session.lookup({&dylib}, symbol);
    if (!found) {
      return found.takeError();
    }
    addresses.push_back(found->getAddress().toPtr<void *>());
  }
  return addresses;
}

} // namespace

Status loadObject(const std::string &object,
                  const std::vector<std::string> &symbols,
                  std::vector<void *> &addresses) {
  Expected<Session *> instance = session();
  if (!instance) {
    return {RECURRA_INTERNAL, "cannot start the linker in memory: " +
                                  toString(instance.takeError())};
  }
  auto linked = link(**instance, object, symbols);
  if (!linked) {
    return {RECURRA_INTERNAL,
            "compiled code does not link: " + toString(linked.takeError())};
  }
  addresses = std::move(*linked);
  return {};
}

const std::string &hostProcessor() {
  static const std::string description = [] {
    std::vector<std::string> features;
    for (const auto &feature : sys::getHostCPUFeatures()) {
      if (feature.second) {
        features.push_back("+" + feature.first().str());
      }
    }
    std::sort(features.begin(), features.end());
    std::string text = sys::getHostCPUName().str();
    for (const std::string &feature : features) {
      text += ' ' + feature;
    }
    return text;
  }();
  return description;
}

const std::string &hostIsa() {
  static const std::string isa = [] {
    auto features = sys::getHostCPUFeatures();
    auto all = [&](std::initializer_list<const char *> names) {
      return std::all_of(names.begin(), names.end(), [&](const char *name) {
        return features.lookup(name);
      });
    };
    bool avx2 = all({"avx2", "fma", "f16c", "bmi2"});
    bool avx512 = avx2 && all({"avx512f", "avx512bw", "avx512cd", "avx512dq",
                               "avx512vl"});
    return std::string(avx512 ? "avx512" : avx2 ? "avx2" : "none");
  }();
  return isa;
}

std::string llvmVersion() { return LLVM_VERSION_STRING; }

} // namespace recurra
