// The door: one compilation is a context of its own, so that any thread may
// compile at any time. Stops after any stage, to print it or to describe it.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Compiler.h"

#include "compiler/Import.h"
#include "compiler/Pipeline.h"
#include "compiler/passes/Passes.h"
#include "compiler/passes/RecToChunk.h"
#include "compiler/target/Target.h"
#include "dsl/CallCheck.h"
#include "llvm/ADT/BitVector.h"
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

  /// With all outputs and final states, or the wanted ones alone.
  bool import(bool everything);
  /// Linearises the whole recurrence, so that every spec of it changes the same
  /// variables, then drops what is not wanted.
  bool makeLinear();
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
  FailureOr<func::FuncOp> lowerInScanForm(const TargetDescription &description,
                                          Plan &plan);
  func::FuncOp function();
  bool fail(const std::string &message);
  bool run(llvm::function_ref<void(OpPassManager &)> addPasses);

  const Recurrence &recurrence;
  const Spec &spec;
  Diagnostics &diagnostics;
  MLIRContext context;
  ScopedDiagnosticHandler handler;
  OwningOpRef<ModuleOp> module;
  std::vector<PlanState> states; ///< of the linear form, all of them
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

bool Compilation::import(bool everything) {
  std::string message;
  Spec whole = spec;
  if (spec.outputs.empty() && spec.finalStates.empty()) {
    return fail("the spec wants no output and no final state; ask for one");
  }
  if (everything) {
    for (const Output &output : recurrence.outputs) {
      whole.outputs.push_back(output.name);
    }
    for (const State &state : recurrence.states) {
      whole.finalStates.push_back(state.name);
    }
  }
  module = importRecurrence(context, recurrence, whole, message);
  return module || fail(message);
}

/// The declared state that a state of the linear form comes from: linearise
/// appends to its name.
const State *findDeclared(const Recurrence &recurrence, llvm::StringRef name) {
  const State *found = nullptr;
  for (const State &state : recurrence.states) {
    llvm::StringRef rest = name;
    bool fits = rest.consume_front(state.name) &&
                (rest.empty() || rest.starts_with("_"));
    if (fits && (!found || found->name.size() < state.name.size())) {
      found = &state;
    }
  }
  return found;
}

/// The states of the linear form; their axes in the order of the declaration.
std::vector<PlanState> statesOf(func::FuncOp function,
                                const Recurrence &recurrence) {
  std::vector<PlanState> states = recurra::statesOf(function);
  for (PlanState &state : states) {
    if (const State *declared = findDeclared(recurrence, state.name)) {
      state.axes.clear();
      for (const std::string &axis : declared->axes) {
        state.axes.push_back(axisInIr(recurrence, axis));
      }
    }
  }
  return states;
}

/// Drops the results that the spec does not want.
void dropResults(func::FuncOp function, const Spec &spec) {
  llvm::BitVector unwanted(function.getNumResults());
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    auto kind = function.getResultAttrOfType<StringAttr>(i, rec::kindAttr);
    auto name = function.getResultAttrOfType<StringAttr>(i, rec::nameAttr);
    unwanted[i] = !llvm::is_contained(
        kind == "output" ? spec.outputs : spec.finalStates, name.str());
  }
  function.front().getTerminator()->eraseOperands(unwanted);
  (void)function.eraseResults(unwanted);
}

func::FuncOp Compilation::function() {
  return *module->getOps<func::FuncOp>().begin();
}

bool Compilation::makeLinear() {
  if (!run(addLinearise)) {
    return false;
  }
  states = statesOf(function(), recurrence);
  dropResults(function(), spec);
  return run(addTidy);
}

/// If the target can run it so; else leaves the module as it is, and says why
/// in the plan.
FailureOr<func::FuncOp>
Compilation::lowerInScanForm(const TargetDescription &description, Plan &plan) {
  auto scan = makeScanPlan(function(), spec, description, plan);
  if (!scan) {
    return failure();
  }
  OwningOpRef<ModuleOp> kept = module->clone();
  auto lowered = lowerToChunk(function(), spec, *scan);
  std::string why;
  if (succeeded(lowered) && target->hasScanForm(*module, why)) {
    plan = *scan;
    return lowered;
  }
  module = std::move(kept);
  plan.why = why;
  return failure();
}

bool Compilation::toChunk(Artifact &artifact) {
  target = findTarget(spec.target);
  if (!target) {
    return fail("this build has no target '" + spec.target +
                "'; use \"cpu\" or \"cuda\"");
  }
  TargetDescription description;
  std::string message;
  if (!target->describe(spec.arch, description, message)) {
    return fail(message);
  }
  message = findSizeMistake(recurrence, spec.extents);
  if (!message.empty()) {
    return fail(message);
  }
  if (!import(true) || !makeLinear() || !deriveBackward()) {
    return false;
  }
  auto plan = makePlan(function(), spec, description, states);
  if (failed(plan)) {
    return fail("no plan fits this recurrence");
  }
  auto lowered = lowerInScanForm(description, *plan);
  if (failed(lowered)) {
    lowered = lowerToChunk(function(), spec, *plan);
  }
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

/// What a target prints.
constexpr StringRef targetStages[] = {"llvm", "asm", "cuda", "ptx", "sass"};

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
  bool done = false, code = llvm::is_contained(targetStages, stage);
  if (stage == "rec") {
    done = run.import(false);
  } else if (stage == "linear" || derived) {
    done = run.import(true) && run.makeLinear() &&
           (!derived || run.deriveBackward()) && run.analyse();
  } else if (stage == "chunk" || code) {
    done = run.toChunk(artifact) && (!code || run.toTarget());
  } else {
    diagnostics.error = "there is no stage '" + stage +
                        "'; the stages are rec, linear, backward, chunk, "
                        "llvm and asm, or, for CUDA, cuda, ptx and sass";
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
