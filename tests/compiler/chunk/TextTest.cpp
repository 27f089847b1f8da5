// The hand-written programs of this folder compute what the oracle says.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Pipeline.h"
#include "mlir/Parser/Parser.h"
#include "ops/catalogue/Catalogue.h"
#include "tests/compiler/ChunkRun.h"
#include "tests/dsl/RandomCall.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace recurra;

namespace {

constexpr double tolerance = 1e-10;

/// Palimpsa at the sizes of the texts, on packed sequences of 70, 0, 3 and 9
/// tokens: two runs of 64, a ragged one, an empty one.
struct TextTest : testing::Test {
  TextTest() : context(registry(), MLIRContext::Threading::DISABLED) {
    context.loadAllAvailableDialects();
    std::mt19937 random(11);
    Sizes sizes{1, 82, 2, 1, {0, 70, 70, 73, 82}, {{"K", 96}, {"V", 32}}};
    call = randomCall(palimpsa, sizes, random);
    cotangents = randomCotangents(palimpsa, call, random);
    cotangents.outputs.erase("o_var");
    expected = evaluate(palimpsa, call);
    expected.outputs.erase("o_var");
  }

  static DialectRegistry registry() {
    DialectRegistry registry;
    registerDialects(registry);
    return registry;
  }

  /// Runs the text of a file.
  void run(const std::string &file) {
    module = parseSourceFile<ModuleOp>(std::string(RECURRA_TEXT_DIR "/") + file,
                                       &context);
    ASSERT_TRUE(module);
    EXPECT_EQ(runChunk(*module->getOps<func::FuncOp>().begin(), call, values),
              "");
  }

  void expectForward() {
    std::string where;
    EXPECT_LE(distance(values.values.outputs, expected.outputs, where),
              tolerance)
        << where;
    EXPECT_LE(distance(values.values.finalStates, expected.finalStates, where),
              tolerance)
        << where;
  }

  const Recurrence &palimpsa = *findRecurrence("palimpsa");
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  Call call;
  Values cotangents, expected;
  ChunkValues values;
};

TEST_F(TextTest, Walk) {
  run("palimpsa-walk.mlir");
  expectForward();
}

TEST_F(TextTest, Scan) {
  run("palimpsa-scan.mlir");
  expectForward();
}

TEST_F(TextTest, BackwardFromTheCheckpointsOfEither) {
  Gradients gradients = differentiate(palimpsa, call, cotangents);
  gradients.inputs.erase("scale");
  for (const char *forward : {"palimpsa-walk.mlir", "palimpsa-scan.mlir"}) {
    values = ChunkValues();
    run(forward);
    values.cotangents = cotangents;
    run("palimpsa-backward.mlir");
    std::string where;
    EXPECT_LE(distance(values.gradients.inputs, gradients.inputs, where),
              tolerance)
        << where;
    EXPECT_LE(distance(values.gradients.initialStates, gradients.initialStates,
                       where),
              tolerance)
        << where;
  }
}

} // namespace
