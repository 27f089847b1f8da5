// Decays that are matrices: each element has a factor of its own, which the
// warps that walk compute. Nothing is scaled; backward, no state is walked
// back: a forward walk over the run holds those of every token in scratch
// memory. SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/ScanPrinter.h"

using namespace mlir;

namespace recurra::cuda {

/// Parameters are read where they are kept.
void ScanPrinter::prepareElement(ScanElement &element) const {
  element.parameters.clear();
  for (const std::string &name : parameterNames) {
    element.parameters.push_back(name + "[a][n][e]");
  }
}

/// The value before the token, as its step keeps it.
std::string ScanPrinter::decayed(const ScanState &state,
                                 const std::string &value,
                                 ScanElement &element) {
  bool isOwn = element.hasMatrixDecay() && state.step.factor;
  return isOwn ? element.at(state.step.factor, 0) + " * " + value : value;
}

/// One state's element. Backward it lies there as it was before the token; what
/// the token made of it is read, but not kept.
void ScanPrinter::printElementStep(const ScanState &state,
                                   const std::string &name,
                                   ScanElement &element) {
  std::string at = name + "[a][n][e]", sum;
  for (AffineStep::Term term : state.step.terms) {
    term.isNegative = term.isNegative != form.isReverse;
    sum += element.term(term);
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

/// The same step in the forward walk that comes before the backward one.
void ScanPrinter::printElementTrace() {
  ScanElement element(values, f.text, hints);
  prepareElement(element);
  printFetches(true);
  openElements();
  for (auto [state, name] : llvm::zip(form.states, stateNames)) {
    std::string at = name + "[a][n][e]", sum;
    for (AffineStep::Term term : state.step.terms) {
      term.isNegative = !term.isNegative; // printed for the way back
      sum += element.term(term);
    }
    f.text.line(at + " = " + decayed(state, at, element) + sum + ";");
  }
  closeElements();
}

/// Backward: loads what token `token` of the run finds; the run's start lies
/// last.
void ScanPrinter::loadFound(StringRef token) {
  f.text.open("");
  f.text.line("const int here = " + token + ";");
  f.text.line("const int before = here <= 0 ? " + number(form.interval) +
              " : here - 1;");
  loadHeld("before");
  f.text.close();
}

} // namespace recurra::cuda
