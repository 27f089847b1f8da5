// The polynomials of expand-math and the quotients of expand-division against
// libm in long double, over the whole range of arguments, and at special ones.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Artifact.h"
#include "compiler/Pipeline.h"
#include "compiler/target/Target.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/TargetSelect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace mlir;
using namespace recurra;

namespace {

using Exact = long double (*)(long double);

/// One unary op on vectors, compiled.
class Compiled {
public:
  Compiled(const std::string &op, const std::string &element,
           const std::string &arch) {
    DialectRegistry registry;
    registerDialects(registry);
    registry
        .insert<LLVM::LLVMDialect, scf::SCFDialect, vector::VectorDialect>();
    MLIRContext context(registry, MLIRContext::Threading::DISABLED);
    int bits = element == "f64" ? 64 : 32;
    lanes = (arch == "avx512" ? 512 : 256) / bits;
    std::string vector =
        "vector<" + std::to_string(lanes) + "x" + element + ">";
    std::string text = R"(
      func.func @apply(%x: !llvm.ptr, %y: !llvm.ptr, %z: !llvm.ptr) {
        %a = llvm.load %x {alignment = 1 : i64} : !llvm.ptr -> VECTOR
        %b = llvm.load %y {alignment = 1 : i64} : !llvm.ptr -> VECTOR
        %r = OP : VECTOR
        llvm.store %r, %z {alignment = 1 : i64} : VECTOR, !llvm.ptr
        return
      })";
    auto replace = [&](const std::string &from, const std::string &to) {
      for (auto at = text.find(from); at != std::string::npos;
           at = text.find(from)) {
        text.replace(at, from.size(), to);
      }
    };
    replace("OP", op);
    replace("VECTOR", vector);
    auto module = parseSourceString<ModuleOp>(text, &context);
    PassManager passes(&context);
    const Target *target = findTarget("cpu");
    target->lower(passes, arch);
    Artifact artifact;
    std::string message;
    if (!module || failed(passes.run(*module)) ||
        !target->print(*module, arch, "asm", assembly, message) ||
        !target->emit(*module, arch, artifact, message)) {
      ADD_FAILURE() << message << text;
      return;
    }
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::ExitOnError check;
    jit = check(llvm::orc::LLJITBuilder().create());
    check(jit->addObjectFile(
        llvm::MemoryBuffer::getMemBufferCopy(artifact.code, "math")));
    entry = check(jit->lookup("apply"))
                .toPtr<void (*)(const void *, const void *, void *)>();
  }

  template <typename T>
  std::vector<T> operator()(std::vector<T> x, std::vector<T> y = {}) const {
    std::size_t count = x.size();
    x.resize((count + lanes - 1) / lanes * lanes);
    y.resize(x.size());
    std::vector<T> z(x.size());
    for (std::size_t i = 0; i < x.size(); i += lanes) {
      entry(&x[i], &y[i], &z[i]);
    }
    z.resize(count);
    return z;
  }

  std::string assembly;

private:
  int lanes;
  std::unique_ptr<llvm::orc::LLJIT> jit;
  void (*entry)(const void *, const void *, void *) = nullptr;
};

struct Function {
  const char *name;
  Exact exact;
};

const Function functions[] = {
    {"exp", expl},   {"expm1", expm1l},
    {"log", logl},   {"log1p", log1pl},
    {"tanh", tanhl}, {"rsqrt", [](long double x) { return 1 / sqrtl(x); }},
};

/// Error in units of the last place of a value of type T.
template <typename T>
long double ulps(T found, long double exact) {
  if (std::isnan(found) || std::isnan(exact)) {
    return std::isnan(found) && std::isnan(exact)
               ? 0
               : std::numeric_limits<long double>::infinity();
  }
  T rounded = exact;
  if (found == rounded) {
    return 0;
  }
  if (std::isinf(found) || std::isinf(rounded)) {
    return std::numeric_limits<long double>::infinity();
  }
  T least = std::numeric_limits<T>::denorm_min();
  long double unit = std::max<long double>(
      least, std::ldexp(1.0L, std::ilogb(rounded) -
                                  std::numeric_limits<T>::digits + 1));
  return std::fabs(found - exact) / unit;
}

template <typename T>
std::vector<T> arguments() {
  T inf = std::numeric_limits<T>::infinity();
  std::vector<T> x = {0,
                      -T(0),
                      inf,
                      -inf,
                      std::numeric_limits<T>::quiet_NaN(),
                      1,
                      -1,
                      -1e4,
                      1e4,
                      T(-103.5),
                      T(-87.5),
                      T(88.7),
                      T(-745),
                      T(709.5),
                      std::numeric_limits<T>::denorm_min(),
                      std::numeric_limits<T>::min(),
                      std::numeric_limits<T>::max()};
  std::mt19937_64 random(5);
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  for (int i = 0; i < 200000; ++i) { // every exponent
    Bits bits = random();
    T value;
    std::memcpy(&value, &bits, sizeof(T));
    x.push_back(value);
  }
  for (int i = 0; i < 200000; ++i) { // where the functions live
    x.push_back(std::ldexp(T(i - 100000) / 100000, i % 10 - 1));
    x.push_back(1 + T(i - 100000) / 100000 / 4);
  }
  return x;
}

std::vector<std::string> archs() {
  std::vector<std::string> archs = {"avx2"};
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) {
    archs.push_back("avx512");
  }
  return archs;
}

template <typename T>
void checkFunctions(const std::string &element, long double limit) {
  std::vector<T> x = arguments<T>();
  for (const std::string &arch : archs()) {
    for (const Function &function : functions) {
      Compiled compiled("math." + std::string(function.name) + " %a", element,
                        arch);
      std::vector<T> y = compiled(x);
      long double worst = 0;
      T where = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        long double error = ulps(y[i], function.exact(x[i]));
        if (error > worst) {
          worst = error;
          where = x[i];
        }
      }
      EXPECT_LE(worst, limit) << function.name << " of " << where << " on "
                              << arch << " " << element;
      EXPECT_EQ(compiled.assembly.find("call"), std::string::npos);
    }
  }
}

// An ulp of f32 is 1.2e-7 at the most, of f64 2.2e-16.
TEST(MathTest, Single) { checkFunctions<float>("f32", 3); }

TEST(MathTest, Double) { checkFunctions<double>("f64", 5); }

TEST(MathTest, ExponentialEnds) {
  for (const std::string &arch : archs()) {
    Compiled compiled("math.exp %a", "f32", arch);
    std::vector<float> y = compiled(
        std::vector<float>{-1e4f, -std::numeric_limits<float>::infinity(),
                           -104.5f, -100.0f, 0.0f, 89.0f});
    EXPECT_EQ(y[0], 0);
    EXPECT_EQ(y[1], 0);
    EXPECT_EQ(y[2], 0);
    EXPECT_NEAR(y[3], 3.8e-44, 1e-45); // subnormal
    EXPECT_EQ(y[4], 1);
    EXPECT_TRUE(std::isinf(y[5]));
  }
}

TEST(MathTest, Quotients) {
  for (const std::string &arch : archs()) {
    Compiled compiled("arith.divf %a, %b", "f32", arch);
    std::mt19937 random(1);
    std::uniform_real_distribution<float> mantissa(1, 2);
    std::vector<float> x, y;
    for (int i = 0; i < 200000; ++i) {
      x.push_back(std::ldexp(mantissa(random), i % 60 - 30));
      y.push_back(std::ldexp(mantissa(random), i % 120 - 60) *
                  (i % 2 ? 1 : -1));
    }
    std::vector<float> z = compiled(x, y);
    long double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      worst =
          std::max(worst, ulps(z[i], static_cast<long double>(x[i]) / y[i]));
    }
    EXPECT_LE(worst, 2) << arch;
    float inf = std::numeric_limits<float>::infinity();
    std::vector<float> ends =
        compiled(std::vector<float>{1, -1, 1, 0, 1, inf},
                 std::vector<float>{0, 0, inf, 0, -0.0f, inf});
    EXPECT_EQ(ends[0], inf);
    EXPECT_EQ(ends[1], -inf);
    EXPECT_EQ(ends[2], 0);
    EXPECT_TRUE(std::isnan(ends[3]));
    EXPECT_EQ(ends[4], -inf);
    EXPECT_TRUE(std::isnan(ends[5]));
  }
}

} // namespace
