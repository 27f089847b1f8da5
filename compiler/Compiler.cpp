// The door: one compilation is a context of its own, so that any thread may
// compile at any time. Stops after any stage, to print it or to describe it.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Compiler.h"

#include "compiler/Import.h"
#include "compiler/Pipeline.h"
#include "compiler/passes/Passes.h"
#include "compiler/passes/RecToChunk.h"
#include "compiler/target/Target.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace recurra;

namespace {

DialectRegistry allDialects() {
  DialectRegistry registry;
  registerDialects(registry);
  return registry;
}

/// "file:line: message", as far as the place is known.
std::string describe(Diagnostic &diagnostic) {
  std::string text;
  diagnostic.getLocation()->walk([&](Location loc) {
    auto place = dyn_cast<FileLineColLoc>(loc);
    if (!place) {
      return WalkResult::advance();
    }
    text = place.getFilename().str() + ":" + std::to_string(place.getLine()) +
           ": ";
    return WalkResult::interrupt();
  });
  return text + diagnostic.str();
}

/// One run through the stages; every step returns false once one has failed.
class Compilation {
public:
  Compilation(const Recurrence &recurrence, const Spec &spec,
              Diagnostics &diagnostics)
      : recurrence(recurrence), spec(spec), diagnostics(diagnostics),
        context(allDialects(), MLIRContext::Threading::DISABLED),
        handler(&context,
                [this](Diagnostic &diagnostic) { return take(diagnostic); }) {
    context.loadAllAvailableDialects();
    diagnostics = {};
  }

  bool import();
  bool makeLinear() { return run(addLinearPhase); }
  bool analyse() {
    return run([](OpPassManager &passes) {
      passes.addNestedPass<func::FuncOp>(createAnalyseStates());
    });
  }
  bool deriveBackward() {
    return spec.direction == Direction::Forward || run(addBackwardPhase);
  }
  /// Everything before the target's passes; fills what a launch must know.
  bool toChunk(Artifact &artifact);
  bool toTarget();
  bool emit(Artifact &artifact);
  bool print(const std::string &stage, std::string &text);
  std::string text();

private:
  LogicalResult take(Diagnostic &diagnostic);
  bool fail(const std::string &message);
  bool run(llvm::function_ref<void(OpPassManager &)> addPasses);

  const Recurrence &recurrence;
  const Spec &spec;
  Diagnostics &diagnostics;
  MLIRContext context;
  ScopedDiagnosticHandler handler;
  OwningOpRef<ModuleOp> module;
  const Target *target = nullptr;
};

LogicalResult Compilation::take(Diagnostic &diagnostic) {
  if (diagnostic.getSeverity() == DiagnosticSeverity::Error) {
    return diagnostics.error.empty() ? (fail(describe(diagnostic)), success())
                                     : success();
  }
  diagnostics.remarks.push_back(describe(diagnostic));
  return success();
}

bool Compilation::fail(const std::string &message) {
  if (diagnostics.error.empty()) {
    diagnostics.error = message;
  }
  return false;
}

bool Compilation::run(llvm::function_ref<void(OpPassManager &)> addPasses) {
  PassManager passes(&context);
  addPasses(passes);
  return succeeded(passes.run(*module)) ||
         fail("a pass failed without a message; please report this");
}

bool Compilation::import() {
  std::string message;
  module = importRecurrence(context, recurrence, spec, message);
  return module || fail(message);
}

std::vector<PlanState> statesInIr(const Recurrence &recurrence) {
  std::vector<PlanState> states;
  for (const State &state : recurrence.states) {
    PlanState &saved = states.emplace_back();
    saved.name = state.name;
    for (const std::string &axis : state.axes) {
      saved.axes.push_back(axisInIr(recurrence, axis));
    }
  }
  return states;
}

bool Compilation::toChunk(Artifact &artifact) {
  target = findTarget(spec.target);
  if (!target) {
    return fail("this build has no target '" + spec.target + "'; use \"cpu\"");
  }
  TargetDescription description;
  std::string message;
  if (!target->describe(spec.arch, description, message)) {
    return fail(message);
  }
  if (!import() || !makeLinear() || !deriveBackward()) {
    return false;
  }
  auto function = *module->getOps<func::FuncOp>().begin();
  auto plan = makePlan(function, spec, description, statesInIr(recurrence));
  if (failed(plan)) {
    return fail("no plan fits this recurrence");
  }
  auto lowered = lowerToChunk(function, spec, *plan);
  if (failed(lowered)) {
    return fail("this recurrence cannot be lowered");
  }
  artifact = {};
  artifact.target = spec.target;
  artifact.arch = spec.arch;
  artifact.arguments = describeArguments(*lowered);
  artifact.workspaces = describeWorkspaces(*lowered);
  artifact.nests = describeNests(*lowered);
  artifact.checkpointInterval = plan->interval;
  artifact.plan = toText(*plan);
  return true;
}

bool Compilation::toTarget() {
  return run([&](OpPassManager &passes) { target->lower(passes, spec.arch); });
}

bool Compilation::emit(Artifact &artifact) {
  std::string message;
  return target->emit(*module, spec.arch, artifact, message) || fail(message);
}

bool Compilation::print(const std::string &stage, std::string &text) {
  std::string message;
  return target->print(*module, spec.arch, stage, text, message) ||
         fail(message);
}

std::string Compilation::text() {
  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os, OpPrintingFlags().printNameLocAsPrefix());
  return text;
}

/// The spec of a backward whose gradients nobody listed: all of them.
Spec withGradients(Spec spec, const Recurrence &recurrence) {
  if (spec.direction == Direction::Backward) {
    return spec;
  }
  spec.direction = Direction::Backward;
  if (spec.gradients.empty()) {
    for (const Input &input : recurrence.inputs) {
      spec.gradients.push_back(input.name);
    }
    spec.gradients.insert(spec.gradients.end(), spec.initialStates.begin(),
                          spec.initialStates.end());
  }
  return spec;
}

} // namespace

bool recurra::compile(const Recurrence &recurrence, const Spec &spec,
                      Artifact &artifact, Diagnostics &diagnostics) {
  Compilation run(recurrence, spec, diagnostics);
  return run.toChunk(artifact) && run.toTarget() && run.emit(artifact);
}

bool recurra::plan(const Recurrence &recurrence, const Spec &spec,
                   Artifact &artifact, Diagnostics &diagnostics) {
  Compilation run(recurrence, spec, diagnostics);
  return run.toChunk(artifact);
}

bool recurra::inspect(const Recurrence &recurrence, const Spec &spec,
                      const std::string &stage, std::string &text,
                      Diagnostics &diagnostics) {
  bool derived = stage == "backward";
  Spec wanted = derived ? withGradients(spec, recurrence) : spec;
  Compilation run(recurrence, wanted, diagnostics);
  Artifact artifact;
  bool done = false, code = stage == "llvm" || stage == "asm";
  if (stage == "rec") {
    done = run.import();
  } else if (stage == "linear" || derived) {
    done = run.import() && run.makeLinear() &&
           (!derived || run.deriveBackward()) && run.analyse();
  } else if (stage == "chunk" || code) {
    done = run.toChunk(artifact) && (!code || run.toTarget());
  } else {
    diagnostics.error = "there is no stage '" + stage +
                        "'; the stages are rec, linear, backward, chunk, llvm "
                        "and asm";
  }
  if (done && code) {
    return run.print(stage, text);
  }
  if (done) {
    text = run.text();
  }
  return done;
}

std::string recurra::compilerVersion() {
  return "recurra " RECURRA_VERSION " llvm " LLVM_VERSION_STRING;
}
