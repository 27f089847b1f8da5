// Decays that are matrices: each element has a factor of its own, which the
// warps that walk compute. Nothing is scaled; backward, no state is walked
// back: forward walks, over a run and over each of its units, hold them in
// scratch memory.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/ScanWalkers.h"

using namespace mlir;

namespace recurra::cuda {

/// Parameters are read where they are kept.
void ScanWalkers::prepareElement(ScanElement &element) const {
  element.parameters.clear();
  for (const std::string &name : parameterNames) {
    element.parameters.push_back(name + "[a][n][e]");
  }
}

/// The value before the token, as its step keeps it.
std::string ScanWalkers::decayed(const ScanState &state,
                                 const std::string &value,
                                 ScanElement &element) const {
  bool isOwn = form.hasMatrixDecay && state.step.factor;
  return isOwn ? element.at(state.step.factor, 0) + " * " + value : value;
}

/// One state's element. Backward it lies there as it was before the token; what
/// the token made of it is read, but not kept.
void ScanWalkers::printElementStep(const ScanState &state,
                                   const std::string &name,
                                   ScanElement &element) {
  std::string at = name + "[a][n][e]", sum;
  for (const AffineStep::Term &term : state.step.terms) {
    sum += element.term(term, false);
  }
  std::string known = f.text.name(name + "_known");
  std::string made = f.text.name(name + "_made");
  f.text.line("const float " + known + " = " + at + ";");
  f.text.line("const float " + made + " = " + decayed(state, known, element) +
              sum + ";");
  if (!form.isReverse) {
    f.text.line(at + " = " + made + ";");
  }
  element.before.push_back(known);
  element.after.push_back(made);
}

/// How many tokens' states have room in scratch memory: those that a unit's
/// tokens find, then those at the starts of units; else of a run, and its
/// start.
std::int64_t ScanWalkers::heldTokens() const {
  return form.hasMatrixDecay ? scanUnit + form.interval / scanUnit
                             : form.interval + 1;
}

/// Forward over a run, but for its last unit: what the next unit starts with is
/// held.
void ScanWalkers::printElementTrace() {
  f.text.open("if (flags & isFirstUnit)");
  loadStates();
  f.text.close();
  f.text.line("#pragma unroll 1");
  f.text.open("for (int t = 0; t < count; ++t)");
  printNow();
  printTracedStep();
  f.text.close();
  copyHeld(number(scanUnit + 1) + " + header[4] / 16");
}

/// Forward over a unit before it is walked back: what its tokens find is held,
/// but for the last one, whose states stay where they are.
void ScanWalkers::printUnitTrace() {
  f.text.open("if (header[4] == 0)");
  loadStates();
  f.text.close();
  f.text.open("else");
  loadHeld(number(scanUnit) + " + header[4] / 16");
  f.text.close();
  f.text.line("#pragma unroll 1");
  f.text.open("for (int t = 0; t < count - 1; ++t)");
  copyHeld("t");
  printNow();
  printTracedStep();
  f.text.close();
}

} // namespace recurra::cuda
