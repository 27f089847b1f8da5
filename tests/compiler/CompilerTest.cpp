// The compiler's door: what each stage prints, what the artifact says, and what
// a user reads when something is wrong.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Compiler.h"

#include "dsl/Text.h"
#include "llvm/ADT/StringRef.h"
#include "ops/catalogue/Catalogue.h"

#include <gtest/gtest.h>

using namespace recurra;

namespace {

/// palimpsa, forward, output o, sizes 16.
Spec smallSpec(Direction direction = Direction::Forward) {
  Spec spec;
  spec.direction = direction;
  spec.extents = {{"K", 16}, {"V", 16}, {"D", 16}, {"N", 4}};
  spec.outputs = {"o"};
  if (direction == Direction::Backward) {
    spec.gradients = {"q", "k", "v", "g"};
  }
  return spec;
}

const Recurrence &entry(const std::string &name) {
  return *findRecurrence(name);
}

std::string inspected(const std::string &name, const Spec &spec,
                      const std::string &stage) {
  std::string text;
  Diagnostics diagnostics;
  EXPECT_TRUE(inspect(entry(name), spec, stage, text, diagnostics));
  EXPECT_EQ(diagnostics.error, "");
  return text;
}

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

TEST(Compiler, PrintsTheUsersNames) {
  std::string text = inspected("palimpsa", smallSpec(), "rec");
  for (const char *name : {"%q_t = %q", "%M = ", "%J1 = rec.add", "%o_t = "}) {
    EXPECT_TRUE(contains(text, name)) << name << "\n" << text;
  }
}

TEST(Compiler, RenamesAxesThatChunkOwns) {
  Spec spec = smallSpec();
  spec.outputs = {"y"};
  EXPECT_TRUE(contains(inspected("mamba1", spec, "rec"), "!rec.val<D, N_>"));
}

TEST(Compiler, ClampsLogGates) {
  std::string text = inspected("palimpsa", smallSpec(), "rec");
  EXPECT_TRUE(contains(text, "%g_c = rec.max %g_t")) << text;
}

TEST(Compiler, EveryStageHasItsDialect) {
  Spec forward = smallSpec(), backward = smallSpec(Direction::Backward);
  EXPECT_TRUE(contains(inspected("palimpsa", forward, "linear"),
                       "rec.form = \"scan\""));
  EXPECT_TRUE(
      contains(inspected("palimpsa", forward, "backward"), "rec.scan reverse"));
  std::string chunk = inspected("palimpsa", backward, "chunk");
  EXPECT_TRUE(contains(chunk, "chunk.forall"));
  EXPECT_FALSE(contains(chunk, "rec.scan"));
  EXPECT_TRUE(contains(inspected("palimpsa", backward, "llvm"), "define "));
  EXPECT_TRUE(contains(inspected("palimpsa", backward, "asm"), "vfmadd"));
}

/// 2^30 paths lead to the first of these values: no pass may walk them all.
TEST(Compiler, ValuesThatShareNodesAreWalkedOnce) {
  std::string text = "recurrence deep\naxis K\naxis V\ntoken x[V]\n"
                     "token k[K]\ntoken q[K]\nstate S[K, V] initial 0\n"
                     "let %1 = x * k\n";
  for (int i = 1; i <= 30; ++i) {
    std::string last = "%" + std::to_string(i);
    text += "let %" + std::to_string(i + 1) + " = 0.5 * " + last + " * " +
            last + " + x\n";
  }
  text += "next S = sigmoid(%31) * S + k * x\noutput o[V] = sum(S' * q, K)\n";
  Recurrence recurrence = parse(text);
  Spec spec = smallSpec(Direction::Backward);
  spec.extents = {{"K", 64}, {"V", 32}};
  spec.gradients = {"x", "q"};
  Diagnostics diagnostics;
  EXPECT_TRUE(inspect(recurrence, spec, "llvm", text, diagnostics))
      << diagnostics.error;
}

TEST(Compiler, BackwardReadsWhatForwardSaves) {
  for (const Recurrence &recurrence : catalogue()) {
    Spec spec = smallSpec();
    spec.extents = {{"K", 16}, {"V", 16}, {"D", 16},
                    {"N", 4},  {"R", 2},  {"E", 16}};
    spec.outputs = {recurrence.outputs[0].name};
    spec.saveCheckpoints = true;
    Artifact forward, backward;
    Diagnostics diagnostics;
    ASSERT_TRUE(plan(recurrence, spec, forward, diagnostics))
        << diagnostics.error;
    spec.direction = Direction::Backward;
    spec.gradients = {recurrence.inputs[0].name};
    ASSERT_TRUE(plan(recurrence, spec, backward, diagnostics))
        << diagnostics.error;
    auto checkpoints = [](const Artifact &artifact) {
      std::vector<std::string> shapes;
      for (const Argument &argument : artifact.arguments) {
        if (argument.kind == Argument::Checkpoint) {
          std::string shape = argument.name;
          for (const std::string &size : argument.shape) {
            shape += " " + size;
          }
          shapes.push_back(shape);
        }
      }
      return shapes;
    };
    EXPECT_EQ(checkpoints(forward), checkpoints(backward)) << recurrence.name;
    EXPECT_EQ(forward.checkpointInterval, backward.checkpointInterval);
  }
}

/// What crosses the boundary has the dtype of the definition; what is saved for
/// the backward has that of the arithmetic.
TEST(Compiler, TensorsOfAStateHaveItsDtype) {
  Recurrence recurrence = entry("palimpsa");
  recurrence.states[0].dtype = DType::BF16;
  for (bool isDouble : {false, true}) {
    for (Direction direction : {Direction::Forward, Direction::Backward}) {
      Spec spec = smallSpec(direction);
      spec.saveCheckpoints = direction == Direction::Forward;
      spec.initialStates = spec.finalStates = {"M", "J"};
      if (direction == Direction::Backward) {
        spec.gradients.insert(spec.gradients.end(), {"M", "J"});
      }
      for (const Input &input : recurrence.inputs) {
        spec.dtypes[input.name] = isDouble ? DType::F64 : DType::F32;
      }
      Artifact artifact;
      Diagnostics diagnostics;
      ASSERT_TRUE(plan(recurrence, spec, artifact, diagnostics));
      int count = 0;
      for (const Argument &argument : artifact.arguments) {
        bool isNarrow = argument.name == "M" && !isDouble &&
                        argument.kind != Argument::Checkpoint;
        EXPECT_EQ(argument.dtype, isNarrow   ? DType::BF16
                                  : isDouble ? DType::F64
                                             : DType::F32)
            << argument.name << " " << argument.kind;
        count += isNarrow;
      }
      int tensors = direction == Direction::Forward ? 2 : 3;
      EXPECT_EQ(count, isDouble ? 0 : tensors);
    }
  }
}

TEST(Compiler, PrintsTheDtypeOfAState) {
  Recurrence recurrence = entry("palimpsa");
  recurrence.states[1].dtype = DType::F16;
  Spec spec = smallSpec();
  spec.initialStates = spec.finalStates = {"J"};
  for (auto [stage, part] :
       {std::pair("rec", "rec.dtype = \"f16\""),
        {"chunk", "f16 {chunk.arg = \"final-state J\"}"}}) {
    std::string text;
    Diagnostics diagnostics;
    ASSERT_TRUE(inspect(recurrence, spec, stage, text, diagnostics));
    EXPECT_TRUE(contains(text, part)) << text;
  }
}

TEST(Compiler, PlansWithoutCode) {
  Artifact planned, compiled;
  Diagnostics diagnostics;
  Spec spec = smallSpec(Direction::Backward);
  ASSERT_TRUE(plan(entry("palimpsa"), spec, planned, diagnostics));
  ASSERT_TRUE(compile(entry("palimpsa"), spec, compiled, diagnostics));
  EXPECT_EQ(planned.code, "");
  EXPECT_NE(compiled.code, "");
  EXPECT_EQ(planned.plan, compiled.plan);
  ASSERT_EQ(planned.arguments.size(), compiled.arguments.size());
  ASSERT_EQ(planned.nests.size(), compiled.nests.size());
  for (size_t i = 0; i < planned.nests.size(); ++i) {
    EXPECT_EQ(planned.nests[i].entry, compiled.nests[i].entry);
    EXPECT_EQ(planned.nests[i].tasks, compiled.nests[i].tasks);
  }
}

TEST(Compiler, IsDeterministic) {
  Artifact first, second;
  Diagnostics diagnostics;
  ASSERT_TRUE(compile(entry("simple_gla"), smallSpec(), first, diagnostics));
  ASSERT_TRUE(compile(entry("simple_gla"), smallSpec(), second, diagnostics));
  EXPECT_EQ(serialise(first), serialise(second));
}

/// The error of a spec that cannot be compiled.
std::string mistake(const Spec &spec) {
  Artifact artifact;
  Diagnostics diagnostics;
  EXPECT_FALSE(compile(entry("palimpsa"), spec, artifact, diagnostics));
  return diagnostics.error;
}

TEST(CompilerErrors, NameTheThingAndTheRemedy) {
  Spec spec = smallSpec();
  spec.outputs = {"p"};
  EXPECT_TRUE(contains(mistake(spec), "output 'p'")) << mistake(spec);
  spec = smallSpec();
  spec.finalStates = {"Q"};
  EXPECT_TRUE(contains(mistake(spec), "state 'Q'")) << mistake(spec);
  spec = smallSpec(Direction::Backward);
  spec.gradients = {"M"};
  EXPECT_TRUE(contains(mistake(spec), "'M'")) << mistake(spec);
  spec = smallSpec();
  spec.outputs.clear();
  EXPECT_TRUE(contains(mistake(spec), "ask for one")) << mistake(spec);
  spec = smallSpec();
  spec.extents.erase("V");
  EXPECT_TRUE(contains(mistake(spec), "V")) << mistake(spec);
  spec = smallSpec();
  spec.target = "tpu";
  EXPECT_TRUE(contains(mistake(spec), "no target 'tpu'")) << mistake(spec);
  spec = smallSpec();
  spec.arch = "sparc";
  EXPECT_TRUE(contains(mistake(spec), "sparc")) << mistake(spec);
}

TEST(CompilerErrors, KeepTheSizesOfTheDefinition) {
  Spec spec = smallSpec();
  spec.extents["R"] = 3;
  Artifact artifact;
  Diagnostics diagnostics;
  EXPECT_FALSE(
      compile(entry("gated_delta_product"), spec, artifact, diagnostics));
  EXPECT_TRUE(contains(diagnostics.error, "the definition fixes it at 2"))
      << diagnostics.error;
}

TEST(CompilerErrors, ListTheStages) {
  std::string text;
  Diagnostics diagnostics;
  EXPECT_FALSE(
      inspect(entry("palimpsa"), smallSpec(), "ir", text, diagnostics));
  EXPECT_TRUE(contains(diagnostics.error, "rec, linear, backward"));
}

TEST(Compiler, RemarksNameTheUsersLine) {
  Artifact artifact;
  Diagnostics diagnostics;
  ASSERT_TRUE(plan(entry("palimpsa_mu"), smallSpec(), artifact, diagnostics));
  ASSERT_FALSE(diagnostics.remarks.empty());
  EXPECT_TRUE(contains(diagnostics.remarks[0], "PalimpsaMu.cpp:"))
      << diagnostics.remarks[0];
}

} // namespace
