// Import and the passes on `rec`, on every entry of the catalogue: walked, they
// give the oracle's values and gradients.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Import.h"
#include "compiler/Pipeline.h"
#include "compiler/passes/Passes.h"
#include "dsl/dsl.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "ops/catalogue/Catalogue.h"
#include "tests/compiler/RecWalk.h"
#include "tests/dsl/EveryOperator.h"
#include "tests/dsl/RandomCall.h"

#include <cmath>
#include <gtest/gtest.h>

/// What canonicalization empties: states that never change, outputs that are an
/// input or one another, inputs without influence.
static recurra::Recurrence degenerate() {
  using namespace recurra::dsl;
  return define("degenerate", [](Builder &r) {
    Axis A = r.axis("D");
    Expr x = r.token("x", {A}), u = r.token("u", {A}), w = r.head("w", {A});
    recurra::dsl::State s = r.state("s", {A}, initial(w));
    recurra::dsl::State n = r.state("n", {});
    s = s * 1;
    n = n + 0 * sum(u, A);
    r.output("same", x);
    r.output("total", x + s);
    r.output("again", s + x + 0 * n);
  });
}

using namespace mlir;
using namespace recurra;

namespace {

DialectRegistry dialects() {
  DialectRegistry registry;
  registerDialects(registry);
  return registry;
}

/// The largest difference, relative to the size of the entry where above 1.
void expectClose(const Arrays &got, const Arrays &expected, double bound,
                 const std::string &text) {
  ASSERT_EQ(got.size(), expected.size());
  for (auto &[name, array] : expected) {
    ASSERT_TRUE(got.count(name)) << name;
    const Array &other = got.at(name);
    ASSERT_EQ(other.sizes, array.sizes) << name;
    for (size_t i = 0; i < array.values.size(); ++i) {
      double x = other.values[i], y = array.values[i];
      ASSERT_LE(std::abs(x - y), bound * std::max(1.0, std::abs(y)))
          << name << "[" << i << "]: " << x << " for " << y << "\n"
          << text;
    }
  }
}

struct RecTest : testing::TestWithParam<Recurrence> {
  RecTest() : context(dialects(), MLIRContext::Threading::DISABLED) {
    context.loadAllAvailableDialects();
    sizes.batch = 2;
    sizes.tokens = 6;
    sizes.heads = 4;
    sizes.group = 2;
  }

  /// Everything wanted.
  Spec fullSpec() const {
    const Recurrence &recurrence = GetParam();
    Spec spec;
    for (const Input &input : recurrence.inputs) {
      spec.gradients.push_back(input.name);
    }
    for (const State &state : recurrence.states) {
      spec.initialStates.push_back(state.name);
      spec.finalStates.push_back(state.name);
      spec.gradients.push_back(state.name);
    }
    for (const Output &output : recurrence.outputs) {
      spec.outputs.push_back(output.name);
    }
    return spec;
  }

  Call draw() {
    Call call = randomCall(GetParam(), sizes, random);
    return call;
  }

  /// Imports and runs the passes; the only function.
  func::FuncOp lower(const Spec &spec,
                     llvm::function_ref<void(OpPassManager &)> addPasses) {
    std::string error;
    module = importRecurrence(context, GetParam(), spec, error);
    EXPECT_TRUE(module && succeeded(verify(*module))) << error;
    PassManager passes(&context);
    addPasses(passes);
    ScopedDiagnosticHandler handler(&context, [](Diagnostic &diagnostic) {
      EXPECT_EQ(diagnostic.str().find("stopped"), std::string::npos);
      return success();
    });
    EXPECT_TRUE(succeeded(passes.run(*module)));
    text.clear();
    llvm::raw_string_ostream(text) << *module;
    return *module->getOps<func::FuncOp>().begin();
  }

  void checkForward(const Spec &spec, const Call &call,
                    llvm::function_ref<void(OpPassManager &)> addPasses) {
    func::FuncOp function = lower(spec, addPasses);
    RecResults got = walkCall(function, GetParam(), call);
    Values expected = evaluate(GetParam(), call);
    expectClose(got.values.outputs, expected.outputs, 1e-10, text);
    expectClose(got.values.finalStates, expected.finalStates, 1e-10, text);
  }

  void checkBackward(const Spec &spec, const Call &call,
                     llvm::function_ref<void(OpPassManager &)> addPasses) {
    func::FuncOp function = lower(spec, addPasses);
    Values cotangents = randomCotangents(GetParam(), call, random);
    RecResults got = walkCall(function, GetParam(), call, cotangents);
    Gradients expected = differentiate(GetParam(), call, cotangents);
    expectClose(got.gradients.inputs, expected.inputs, 1e-9, text);
    expectClose(got.gradients.initialStates, expected.initialStates, 1e-9,
                text);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  Sizes sizes;
  std::string text;
  std::mt19937 random = seeded(11);
};

void nothing(OpPassManager &) {}

void deriveOnly(OpPassManager &passes) {
  passes.addNestedPass<func::FuncOp>(createDeriveBackward());
}

void both(OpPassManager &passes) {
  addLinearPhase(passes);
  addBackwardPhase(passes);
}

TEST_P(RecTest, importIsTheDefinition) {
  checkForward(fullSpec(), draw(), nothing);
}

TEST_P(RecTest, linearPhaseKeepsTheNumbers) {
  checkForward(fullSpec(), draw(), addLinearPhase);
}

TEST_P(RecTest, derivedBackwardIsTheGradient) {
  checkBackward(fullSpec(), draw(), deriveOnly);
}

TEST_P(RecTest, backwardPhaseIsTheGradient) {
  checkBackward(fullSpec(), draw(), both);
}

TEST_P(RecTest, sequencesMayBePackedAndEmpty) {
  sizes.batch = 1;
  sizes.tokens = 7;
  sizes.offsets = {0, 3, 3, 7};
  Call call = draw();
  checkForward(fullSpec(), call, addLinearPhase);
  checkBackward(fullSpec(), call, both);
}

/// Without given states, gradients reach what the initial values are made of.
TEST_P(RecTest, statesStartFromTheirDefaults) {
  Spec spec = fullSpec();
  for (const std::string &name : spec.initialStates) {
    llvm::erase(spec.gradients, name);
  }
  spec.initialStates.clear();
  Call call = draw();
  call.initialStates.clear();
  checkForward(spec, call, addLinearPhase);
  checkBackward(spec, call, both);
}

/// One forward scan that emits states only, one reverse scan.
TEST_P(RecTest, backwardHasTwoScans) {
  func::FuncOp function = lower(fullSpec(), both);
  int forward = 0, reverse = 0;
  for (auto scan : function.front().getOps<rec::ScanOp>()) {
    ++(scan.getReverse() ? reverse : forward);
    if (!scan.getReverse()) {
      EXPECT_LE(scan.getEmitted().size(), scan.getInits().size());
    }
  }
  EXPECT_EQ(reverse, 1);
  EXPECT_LE(forward, 1);
}

/// Only what is asked for is returned, and each wanted alone is the same.
TEST_P(RecTest, gradientsOneByOne) {
  Spec spec = fullSpec();
  Call call = draw();
  Values cotangents = randomCotangents(GetParam(), call, random);
  Gradients expected = differentiate(GetParam(), call, cotangents);
  for (const Input &input : GetParam().inputs) {
    spec.gradients = {input.name};
    func::FuncOp function = lower(spec, both);
    ASSERT_EQ(function.getNumResults(), 1u);
    RecResults got = walkCall(function, GetParam(), call, cotangents);
    expectClose(got.gradients.inputs,
                {{input.name, expected.inputs.at(input.name)}}, 1e-9, text);
  }
}

struct GateTest : RecTest {};

/// A gate of -inf forgets everything and has gradient zero.
TEST_P(GateTest, mayBeMinusInfinity) {
  Call call = draw();
  Array &g = call.inputs.at("g");
  for (size_t i = 0; i < g.values.size(); i += 3) {
    g.values[i] = -std::numeric_limits<double>::infinity();
  }
  checkForward(fullSpec(), call, addLinearPhase);
  func::FuncOp function = lower(fullSpec(), both);
  Values cotangents = randomCotangents(GetParam(), call, random);
  RecResults got = walkCall(function, GetParam(), call, cotangents);
  const Array &dg = got.gradients.inputs.at("g");
  for (size_t i = 0; i < dg.values.size(); ++i) {
    EXPECT_TRUE(std::isfinite(dg.values[i])) << i;
    EXPECT_TRUE(i % 3 != 0 || dg.values[i] == 0) << i;
  }
}

std::string nameOf(const testing::TestParamInfo<Recurrence> &info) {
  return info.param.name;
}

std::vector<Recurrence> allEntries() {
  std::vector<Recurrence> entries = catalogue();
  entries.push_back(everyOperator());
  entries.push_back(degenerate());
  return entries;
}

std::vector<Recurrence> gated() {
  std::vector<Recurrence> entries;
  for (const Recurrence &recurrence : catalogue()) {
    if (recurrence.findInput("g")) {
      entries.push_back(recurrence);
    }
  }
  return entries;
}

INSTANTIATE_TEST_SUITE_P(Catalogue, RecTest, testing::ValuesIn(allEntries()),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Gated, GateTest, testing::ValuesIn(gated()), nameOf);

} // namespace
