// Order of the states, their steps, their reads, and the form.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/StateAnalysis.h"

#include "compiler/algebra/Products.h"
#include "compiler/algebra/Ranges.h"
#include "compiler/algebra/Transition.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace recurra::rec;

namespace recurra {

namespace {

/// What the verdicts are made from.
struct StateFacts {
  unsigned component = 0;
  SmallVector<Value> versions;      ///< from the old value to the new one
  std::vector<Transition> segments; ///< between versions
  bool nonlinear = false, maxPlus = false, assigned = false;
  bool shared = false; ///< with other states in one cycle
  std::string reason;
};

struct Analysis {
  explicit Analysis(ScanOp scan);

  void orderStates();
  void analyseStep(unsigned state);
  std::string describe(unsigned state, const Transition &segment);
  std::string chain(unsigned state);
  std::string read(unsigned state);
  void chooseForm(ScanVerdict &verdict);
  std::string refuseMatmul(unsigned state, bool allowLowRank);
  bool isMatrix(unsigned state) { return axesOf(before[state]).size() >= 2; }

  ScanOp scan;
  SmallVector<Value> before, after;
  std::vector<StateFacts> facts;
  SmallVector<std::string> reads;
};

} // namespace

// Paths
// -------------------------------------------------------------------------

/// The position of a value in the step; arguments stand in front.
static int position(ScanOp scan, Value value) {
  Operation *op = value.getDefiningOp();
  if (!op) {
    return -1;
  }
  int result = 0;
  for (Operation &other : *scan.getStep()) {
    if (&other == op) {
      return result;
    }
    ++result;
  }
  return result;
}

/// The values on paths from `from` to `to`, both included, in step order.
static SmallVector<Value> between(ScanOp scan, Value from, Value to) {
  SmallVector<Value> result;
  if (dependsOn(to, from)) {
    result.push_back(from);
  }
  for (Operation &op : scan.getStep()->without_terminator()) {
    if (op.getNumResults() == 1 && dependsOn(op.getResult(0), from) &&
        dependsOn(to, op.getResult(0)) && op.getResult(0) != from) {
      result.push_back(op.getResult(0));
    }
  }
  return result;
}

/// Whether every path through `values` goes through `value`.
static bool isCut(ScanOp scan, ArrayRef<Value> values, Value value) {
  int here = position(scan, value);
  return llvm::none_of(values, [&](Value later) {
    Operation *op = later.getDefiningOp();
    return op && position(scan, later) > here &&
           llvm::any_of(op->getOperands(), [&](Value earlier) {
             return llvm::is_contained(values, earlier) && earlier != value &&
                    position(scan, earlier) < here;
           });
  });
}

// Steps
// -------------------------------------------------------------------------

Analysis::Analysis(ScanOp scan)
    : scan(scan), before(scan.getStates().begin(), scan.getStates().end()),
      after(scan.getYield().getCarried()), facts(before.size()) {
  orderStates();
  for (unsigned state = 0; state < before.size(); ++state) {
    analyseStep(state);
  }
  for (unsigned state = 0; state < before.size(); ++state) {
    reads.push_back(read(state));
  }
}

/// Numbers components of states that depend on each other's old values, those
/// that others depend on first.
void Analysis::orderStates() {
  unsigned count = before.size();
  SmallVector<SmallVector<bool>> needs(count, SmallVector<bool>(count));
  for (unsigned i = 0; i < count; ++i) {
    for (unsigned j = 0; j < count; ++j) {
      needs[i][j] = i == j || dependsOn(after[i], before[j]);
    }
  }
  for (unsigned k = 0; k < count; ++k) {
    for (unsigned i = 0; i < count; ++i) {
      for (unsigned j = 0; j < count; ++j) {
        needs[i][j] = needs[i][j] || (needs[i][k] && needs[k][j]);
      }
    }
  }
  for (unsigned i = 0; i < count; ++i) {
    for (unsigned j = 0; j < count; ++j) {
      bool mutual = needs[i][j] && needs[j][i];
      facts[i].component += needs[i][j] && !mutual;
      facts[i].shared |= mutual && i != j;
    }
  }
}

void Analysis::analyseStep(unsigned state) {
  StateFacts &fact = facts[state];
  if (fact.shared) {
    fact.nonlinear = true;
    fact.reason = "state " + scan.getStateName(state) +
                  " and another depend on each other";
    return;
  }
  if (!dependsOn(after[state], before[state])) {
    fact.assigned = true;
    fact.versions.assign({before[state]});
    return;
  }
  SmallVector<Value> path = between(scan, before[state], after[state]);
  for (Value value : path) {
    if (axesOf(value) == axesOf(before[state]) && isCut(scan, path, value)) {
      fact.versions.push_back(value);
    }
  }
  for (auto [from, to] :
       llvm::zip(fact.versions, llvm::drop_begin(fact.versions))) {
    Transition segment = Propagation(scan, {from}).of(to);
    fact.maxPlus |= segment.kind == Transition::MaxPlus;
    if (segment.kind == Transition::Nonlinear ||
        segment.kind == Transition::Fractional) {
      fact.nonlinear = true;
      fact.reason = segment.kind == Transition::Fractional
                        ? "fractional-linear step"
                        : segment.reason;
    }
    fact.segments.push_back(std::move(segment));
  }
}

// Words
// -------------------------------------------------------------------------

static std::string list(ArrayRef<StringAttr> axes) {
  std::string result;
  for (StringAttr axis : axes) {
    result += (result.empty() ? "" : ", ") + axis.str();
  }
  return result;
}

/// scalar, diag(K), separable or elementwise, by the axes of the factors.
static std::string decayKind(ArrayRef<Value> factors,
                             ArrayRef<StringAttr> axes) {
  Axes all = axesOfAll(factors);
  if (all.empty()) {
    return "scalar";
  }
  if (all.size() < 2 || all.size() < axes.size()) {
    return "diag(" + list(all) + ")";
  }
  bool separable = llvm::all_of(factors, [&](Value factor) {
    return axesOf(factor).size() < axes.size();
  });
  return separable ? "separable" : "elementwise";
}

/// A coefficient that varies along the free side gives every column a
/// transition of its own.
static bool isPrivate(const Contraction &term, ArrayRef<StringAttr> axes) {
  Axes freeSide = without(axes, term.summed);
  Axes used = unite(term.outer, term.inner);
  return without(freeSide, used).size() != freeSide.size();
}

static std::string offsetKind(int rank, size_t axes) {
  if (axes < 2) {
    return "input";
  }
  return rank >= Transition::elementwise ? "input elementwise"
                                         : "input rank " + std::to_string(rank);
}

std::string Analysis::describe(unsigned state, const Transition &segment) {
  switch (segment.kind) {
  case Transition::Free:
    return "assign";
  case Transition::MaxPlus:
    return "max-plus";
  case Transition::Fractional:
    return "moebius";
  case Transition::Nonlinear:
    return "nonlinear";
  case Transition::Affine:
    break;
  }
  ArrayRef<StringAttr> axes = axesOf(before[state]);
  SmallVector<std::string> parts;
  if (!segment.factors.empty()) {
    parts.push_back("decay " + decayKind(segment.factors, axes));
  }
  for (const Contraction &term : segment.contractions) {
    parts.push_back(std::string("lowrank ") +
                    (isPrivate(term, axes) ? "private" : "shared"));
  }
  if (segment.offset) {
    parts.push_back(offsetKind(segment.offset, axes.size()));
  }
  return llvm::join(parts, ", ");
}

/// Whether two segments in a row are both plain decays, or both plain inputs.
static bool extendsRun(const Transition &left, const Transition &right) {
  bool affine = left.kind == Transition::Affine &&
                right.kind == Transition::Affine && left.diagonal &&
                right.diagonal && left.contractions.empty() &&
                right.contractions.empty();
  bool decays = left.offset == 0 && right.offset == 0;
  bool inputs = left.factors.empty() && right.factors.empty();
  return affine && (decays || inputs);
}

std::string Analysis::chain(unsigned state) {
  if (facts[state].assigned) {
    return "assign";
  }
  if (facts[state].shared) {
    return "nonlinear";
  }
  SmallVector<std::string> parts;
  ArrayRef<Transition> segments = facts[state].segments;
  for (unsigned i = 0; i < segments.size(); ++i) {
    Transition segment = segments[i];
    while (i + 1 < segments.size() && extendsRun(segment, segments[i + 1])) {
      llvm::append_range(segment.factors, segments[++i].factors);
      segment.offset += segments[i].offset;
    }
    if (std::string text = describe(state, segment); !text.empty()) {
      parts.push_back(text);
    }
  }
  return parts.empty() ? "constant" : llvm::join(parts, ", ");
}

// Reads
// -------------------------------------------------------------------------

/// Whether a value that lacks some of the state's axes is a contraction whose
/// coefficients do not vary along the free side.
static bool isLinearCut(const Transition &read, ArrayRef<StringAttr> axes) {
  return read.kind == Transition::Affine && !read.diagonal &&
         llvm::none_of(read.contractions, [&](const Contraction &term) {
           Axes freeSide = without(axes, term.summed);
           return without(freeSide, term.inner).size() != freeSide.size();
         });
}

/// How one output reads one state.
static std::string readOf(ScanOp scan, const StateFacts &fact, Value state,
                          Value output) {
  ArrayRef<StringAttr> axes = axesOf(state);
  SmallVector<Value> path = between(scan, state, output);
  if (path.empty()) {
    return "none";
  }
  Value version = state;
  for (Value candidate : fact.versions) {
    if (llvm::is_contained(path, candidate) && isCut(scan, path, candidate)) {
      version = candidate;
    }
  }
  Propagation reading(scan, {version});
  bool linear = true;
  for (Value value : between(scan, version, output)) {
    const Transition &transition = reading.of(value);
    bool contracted = !without(axes, axesOf(value)).empty();
    if (transition.kind == Transition::Free) {
      continue;
    }
    if (contracted && isLinearCut(transition, axes)) {
      reading.cut(value);
    } else if (contracted || transition.kind != Transition::Affine) {
      linear = false;
    }
  }
  if (version == output && axes.size() >= 2) {
    return "trace";
  }
  return linear ? "linear" : "pointwise";
}

std::string Analysis::read(unsigned state) {
  std::string result = "none";
  for (Value output : scan.getYield().getEmitted()) {
    std::string one = readOf(scan, facts[state], before[state], output);
    bool stronger = one == "trace" || (one == "pointwise" && result != "trace");
    if (stronger || (one == "linear" && result == "none")) {
      result = one;
    }
  }
  return result;
}

// Forms
// -------------------------------------------------------------------------

/// Why a matrix state does not fit chunked products; empty if it does.
std::string Analysis::refuseMatmul(unsigned state, bool allowLowRank) {
  const std::string name = scan.getStateName(state);
  ArrayRef<StringAttr> axes = axesOf(before[state]);
  Ranges ranges;
  for (const Transition &segment : facts[state].segments) {
    if (segment.kind == Transition::MaxPlus) {
      return "state " + name + " takes a maximum";
    }
    if (decayKind(segment.factors, axes) == "elementwise") {
      return "decay of " + name + " is elementwise";
    }
    for (Value factor : segment.factors) {
      if (!ranges.of(factor).isAtMostOne()) {
        return "log decay of " + name + " may be positive";
      }
    }
    for (const Contraction &term : segment.contractions) {
      if (!allowLowRank || isPrivate(term, axes)) {
        return "step of " + name + " has a low-rank term" +
               (allowLowRank ? " of its own per column" : "");
      }
    }
    if (segment.offset >= Transition::elementwise) {
      return "input of " + name + " does not separate";
    }
  }
  return reads[state] == "linear" || reads[state] == "none"
             ? ""
             : "read of " + name + " is " + reads[state];
}

void Analysis::chooseForm(ScanVerdict &verdict) {
  for (const StateFacts &fact : facts) {
    if (fact.nonlinear) {
      verdict.form = "walk";
      verdict.why = fact.reason;
      return;
    }
  }
  bool matrices = false;
  for (bool allowLowRank : {false, true}) {
    std::string refusal;
    for (unsigned state = 0; state < facts.size() && refusal.empty(); ++state) {
      matrices |= isMatrix(state);
      refusal = isMatrix(state) ? refuseMatmul(state, allowLowRank) : "";
    }
    if (refusal.empty()) {
      verdict.form = !matrices ? "vector" : allowLowRank ? "delta" : "matmul";
      return;
    }
    verdict.why = refusal;
  }
  bool contracts = llvm::any_of(facts, [](const StateFacts &fact) {
    return llvm::any_of(fact.segments, [](const Transition &segment) {
      return !segment.contractions.empty();
    });
  });
  verdict.form = contracts ? "walk" : "scan";
}

ScanVerdict analyseStates(ScanOp scan) {
  Analysis analysis(scan);
  ScanVerdict verdict;
  for (unsigned state = 0; state < analysis.before.size(); ++state) {
    verdict.states.push_back({scan.getStateName(state),
                              analysis.facts[state].component,
                              analysis.chain(state), analysis.reads[state]});
  }
  analysis.chooseForm(verdict);
  return verdict;
}

std::string classOf(const std::string &form) {
  return form == "matmul"   ? "1"
         : form == "vector" ? "1b"
         : form == "delta"  ? "2"
         : form == "scan"   ? "3"
                            : "4";
}

} // namespace recurra
