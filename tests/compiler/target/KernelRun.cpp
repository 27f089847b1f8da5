// Compiling, loading, and tensors surrounded by NaN.
// SPDX-License-Identifier: Apache-2.0
#include "tests/compiler/target/KernelRun.h"

#include "compiler/Pipeline.h"
#include "compiler/passes/RecToChunk.h"
#include "compiler/target/Target.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/TargetSelect.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <cmath>
#include <cstring>
#include <immintrin.h>
#include <numeric>

using namespace mlir;

namespace recurra {

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

static constexpr std::int64_t margin = 64; // elements of poison on each side

Tensor::Tensor(DType dtype, std::vector<std::int64_t> sizes, bool spread,
               std::int64_t shift, std::int64_t gap)
    : dtype(dtype), sizes(std::move(sizes)) {
  std::int64_t stride = spread ? 2 : 1;
  for (std::int64_t size : llvm::reverse(this->sizes)) {
    strides.insert(strides.begin(), stride);
    stride *= std::max<std::int64_t>(size, 1);
  }
  if (!strides.empty()) {
    strides[0] += gap;
    stride += gap * this->sizes[0];
  }
  first = margin + shift;
  bytes = sizeInBytes(dtype);
  // All ones are a NaN in every format.
  memory.assign((stride + shift + 2 * margin) * bytes, '\xff');
  original = memory;
}

std::int64_t Tensor::offset(std::int64_t index) const {
  std::int64_t offset = first;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    offset += index % sizes[i] * strides[i];
    index /= sizes[i];
  }
  return offset * bytes;
}

static std::uint16_t toBF16(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
}

void Tensor::write(const std::vector<double> &values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    char *target = memory.data() + offset(i);
    float single = values[i];
    if (dtype == DType::F64) {
      std::memcpy(target, &values[i], 8);
    } else if (dtype == DType::F32) {
      std::memcpy(target, &single, 4);
    } else if (dtype == DType::BF16) {
      std::uint16_t half = toBF16(single);
      std::memcpy(target, &half, 2);
    } else {
      _Float16 half = single;
      std::memcpy(target, &half, 2);
    }
  }
}

std::vector<double> Tensor::read() const {
  std::int64_t total = std::accumulate(sizes.begin(), sizes.end(),
                                       std::int64_t(1), std::multiplies<>());
  std::vector<double> values(total);
  for (std::int64_t i = 0; i < total; ++i) {
    const char *source = memory.data() + offset(i);
    if (dtype == DType::F64) {
      std::memcpy(&values[i], source, 8);
    } else if (dtype == DType::F32) {
      float single;
      std::memcpy(&single, source, 4);
      values[i] = single;
    } else if (dtype == DType::BF16) {
      std::uint16_t half;
      std::memcpy(&half, source, 2);
      std::uint32_t bits = std::uint32_t(half) << 16;
      float single;
      std::memcpy(&single, &bits, 4);
      values[i] = single;
    } else {
      _Float16 half;
      std::memcpy(&half, source, 2);
      values[i] = half;
    }
  }
  return values;
}

bool Tensor::isIntact() const {
  std::int64_t total = std::accumulate(sizes.begin(), sizes.end(),
                                       std::int64_t(1), std::multiplies<>());
  std::vector<char> left = memory;
  for (std::int64_t i = 0; i < total; ++i) {
    std::memset(left.data() + offset(i), 0xff, bytes);
  }
  return left == original;
}

KernelBuffer Tensor::buffer() const {
  KernelBuffer buffer{};
  buffer.data = const_cast<char *>(memory.data()) + first * bytes;
  std::copy(strides.begin(), strides.end(), buffer.strides);
  return buffer;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

std::string keyOf(const Argument &argument) {
  return std::to_string(argument.kind) + " " + argument.name;
}

KernelRun::KernelRun(const std::string &text, const std::string &arch,
                     bool withAssembly) {
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    error += diagnostic.str() + "\n";
    return success();
  });
  auto module = parseSourceString<ModuleOp>(text, &context);
  if (!module) {
    return;
  }
  auto function = *module->getOps<func::FuncOp>().begin();
  artifact.arguments = describeArguments(function);
  artifact.workspaces = describeWorkspaces(function);
  const Target *target = findTarget("cpu");
  PassManager passes(&context);
  target->lower(passes, arch);
  if (failed(passes.run(*module)) ||
      !target->emit(*module, arch, artifact, error) ||
      (withAssembly && !target->print(*module, arch, "asm", assembly, error))) {
    return;
  }
  load();
}

KernelRun::~KernelRun() = default;

void KernelRun::load() {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::ExitOnError check;
  jit = check(llvm::orc::LLJITBuilder().create());
  check(jit->addObjectFile(
      llvm::MemoryBuffer::getMemBufferCopy(artifact.code, "kernel")));
  for (const Nest &nest : artifact.nests) {
    entries.push_back(check(jit->lookup(nest.entry)).toPtr<NestEntry>());
  }
}

std::int64_t KernelRun::count(const std::string &size,
                              const KernelSizes &sizes) const {
  std::int64_t total = sizes.rows * sizes.tokens;
  return size == "B"    ? sizes.rows
         : size == "T"  ? sizes.tokens
         : size == "H"  ? sizes.heads
         : size == "Hg" ? sizes.heads / sizes.group
         : size == "N"  ? sizes.sequences()
         : size == "S" ? total / artifact.checkpointInterval + sizes.sequences()
                       : std::stoll(size);
}

Arrays KernelRun::run(const KernelSizes &sizes, const Arrays &given,
                      bool spread) {
  std::vector<Tensor> tensors;
  auto allocate = [&](DType dtype, const std::vector<std::string> &shape,
                      bool isSpread) {
    std::vector<std::int64_t> extents;
    for (const std::string &size : shape) {
      extents.push_back(count(size, sizes));
    }
    tensors.emplace_back(dtype, extents, isSpread);
  };
  for (const Argument &argument : artifact.arguments) {
    allocate(argument.dtype, argument.shape, spread);
    if (auto found = given.find(keyOf(argument)); found != given.end()) {
      tensors.back().write(found->second.values);
    }
  }
  for (const Workspace &workspace : artifact.workspaces) {
    allocate(workspace.dtype, workspace.shape, false);
  }
  std::vector<KernelBuffer> buffers;
  for (const Tensor &tensor : tensors) {
    buffers.push_back(tensor.buffer());
  }
  KernelShape shape{sizes.rows, sizes.tokens, sizes.heads, sizes.sequences(),
                    sizes.offsets.empty() ? nullptr : sizes.offsets.data()};
  for (auto [nest, entry] : llvm::zip(artifact.nests, entries)) {
    std::int64_t tasks = 1;
    for (const std::string &factor : nest.tasks) {
      tasks *= count(factor, sizes);
    }
    std::size_t lines = nest.scratchBytes / 64 + 2;
    struct alignas(64) Line {
      unsigned char bytes[64];
    };
    std::vector<Line> scratch(lines);
    unsigned control = _mm_getcsr() & ~0x3fu; // but for the sticky flags
    for (std::int64_t end = tasks; end > 0; end -= piece) {
      std::memset(scratch.data(), 0xff, lines * 64);
      entry(buffers.data(), &shape, std::max<std::int64_t>(0, end - piece), end,
            reinterpret_cast<char *>(scratch.data()));
      if ((_mm_getcsr() & ~0x3fu) != control) {
        error = nest.entry + " left the floating-point control word changed";
      }
      if (scratch[lines - 1].bytes[0] != 0xff) {
        error = nest.entry + " wrote beyond its scratch memory";
      }
    }
  }
  Arrays results;
  for (auto [argument, tensor] : llvm::zip(artifact.arguments, tensors)) {
    if (!tensor.isIntact()) {
      error = argument.name + ": wrote outside the tensor";
    }
    results[keyOf(argument)].values = tensor.read();
  }
  return results;
}

} // namespace recurra
