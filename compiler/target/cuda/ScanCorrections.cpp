// Which sums a span's gradients lack, from the expressions that are stored.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/ScanCorrections.h"

using namespace mlir;

namespace recurra::cuda {

using Kind = Node::Kind;

bool SpanCorrector::isCorrected(const Node *node) const {
  return dependsOnAdjoint(form, node);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// The factors of a matrix.
static void flatten(const Node *node, SmallVectorImpl<const Node *> &factors) {
  node = peel(node);
  if (opOf(node) == "arith.mulf" && node->axes.size() == 2) {
    flatten(node->operands[0], factors);
    flatten(node->operands[1], factors);
  } else {
    factors.push_back(node);
  }
}

/// A matrix as a sum of adjoints times factors, without what has no adjoint.
bool SpanCorrector::expand(const Node *node, bool isNegative,
                           SmallVectorImpl<Term> &terms) const {
  node = peel(node);
  if (int adjoint = form.adjointOf(node); adjoint >= 0) {
    terms.push_back({isNegative, static_cast<unsigned>(adjoint), {}});
    return true;
  }
  if (!isCorrected(node)) {
    return true;
  }
  StringRef op = opOf(node);
  if (op == "arith.addf" || op == "arith.subf" || op == "arith.negf") {
    bool isFirstNegative = isNegative != (op == "arith.negf");
    bool isLastNegative = isNegative != (op == "arith.subf");
    return expand(node->operands[0], isFirstNegative, terms) &&
           (op == "arith.negf" ||
            expand(node->operands[1], isLastNegative, terms));
  }
  if (op == "math.fma") {
    return expandProduct(node, isNegative, terms) &&
           expand(node->operands[2], isNegative, terms);
  }
  return op == "arith.mulf" && expandProduct(node, isNegative, terms);
}

/// The product of a node's first two operands.
bool SpanCorrector::expandProduct(const Node *node, bool isNegative,
                                  SmallVectorImpl<Term> &terms) const {
  bool isFirst = isCorrected(node->operands[0]);
  const Node *other = node->operands[isFirst ? 1 : 0];
  std::size_t known = terms.size();
  if (isCorrected(other) ||
      !expand(node->operands[isFirst ? 0 : 1], isNegative, terms)) {
    return false;
  }
  for (Term &term : MutableArrayRef(terms).drop_front(known)) {
    flatten(other, term.factors);
  }
  return true;
}

unsigned SpanCorrector::contractionNumber(const Contraction &wanted) {
  auto found = llvm::find_if(contractions, [&](const Contraction &known) {
    return known.adjoint == wanted.adjoint &&
           known.isOverColumns == wanted.isOverColumns &&
           known.weights.size() == wanted.weights.size() &&
           llvm::all_of(llvm::zip(known.weights, wanted.weights), [](auto two) {
             return isSame(std::get<0>(two), std::get<1>(two));
           });
  });
  if (found == contractions.end()) {
    contractions.push_back(wanted);
    return contractions.size() - 1;
  }
  return found - contractions.begin();
}

unsigned SpanCorrector::pairNumber(const Pair &wanted) {
  auto found = llvm::find_if(pairs, [&](const Pair &known) {
    return known.adjoint == wanted.adjoint && known.state == wanted.state;
  });
  if (found == pairs.end()) {
    pairs.push_back(wanted);
    return pairs.size() - 1;
  }
  return found - pairs.begin();
}

/// The sum of what the warps have of token t at one entry.
std::string SpanCorrector::contracted(unsigned index, StringRef entry) {
  const Contraction &contraction = contractions[index];
  std::int64_t pitch = pitchOf(widthOf(contraction.isOverColumns));
  std::int64_t warps =
      contraction.isOverColumns ? tiles.warpColumns : tiles.warpRows;
  std::string text;
  for (std::int64_t w = 0; w < warps; ++w) {
    text += (w > 0 ? " + " : "") +
            ("sums[" + number(contraction.partOffset + w * scanUnit * pitch) +
             " + t * " + number(pitch) + " + " + entry + "]")
                .str();
  }
  return "(" + text + ")";
}

std::optional<SpanCorrector::Delta>
SpanCorrector::combine(const std::optional<Delta> &a,
                       const std::optional<Delta> &b, StringRef sign) {
  if (!a || !b) {
    return std::nullopt;
  }
  if (b->text.empty()) {
    return a;
  }
  if (a->text.empty()) {
    return Delta{sign == "+" ? b->text : "(-" + b->text + ")", b->lacksDecay};
  }
  if (a->lacksDecay != b->lacksDecay) {
    return std::nullopt;
  }
  return Delta{"(" + a->text + " " + sign.str() + " " + b->text + ")",
               a->lacksDecay};
}

/// One adjoint's part of a sum.
std::optional<SpanCorrector::Delta>
SpanCorrector::deltaOfTerm(const Node *reduce, const Term &term) {
  bool isOverBoth = reduce->axes.empty();
  Contraction contraction;
  contraction.adjoint = term.adjoint;
  contraction.isOverColumns = form.isRow(reduce);
  int state = -1;
  bool hasDecay = false;
  std::string factors;
  for (const Node *factor : term.factors) {
    int old = form.oldState(factor);
    bool isVector = factor->axes.size() == 1;
    bool isWeight =
        contraction.isOverColumns ? form.isColumn(factor) : form.isRow(factor);
    if (old >= 0 && isOverBoth && state < 0) {
      state = old;
    } else if (old >= 0 || !form.isPrepared(factor) ||
               (isVector && isOverBoth)) {
      return std::nullopt;
    } else if (isOverBoth && !hasDecay && values.isDecay(factor)) {
      hasDecay = true;
    } else if (isVector && isWeight) {
      contraction.weights.push_back(factor);
    } else {
      factors += " * " + prepared(factor, "i");
    }
  }
  if (isOverBoth && (state < 0 || !isOfNumber)) {
    return std::nullopt;
  }
  Delta made;
  made.text = isOverBoth
                  ? "inner[" +
                        number(pairNumber(
                            {term.adjoint, static_cast<unsigned>(state)})) +
                        "]"
                  : contracted(contractionNumber(contraction), "i");
  made.text = (term.isNegative ? "(-" : "(") + made.text + factors + ")";
  made.lacksDecay = isOverBoth && form.decay && !hasDecay;
  return made;
}

std::optional<SpanCorrector::Delta>
SpanCorrector::deltaOfSum(const Node *reduce) {
  SmallVector<Term> terms;
  if (!form.isMatrix(reduce->operands[0]) ||
      !expand(reduce->operands[0], false, terms)) {
    return std::nullopt;
  }
  std::optional<Delta> sum = Delta{};
  for (const Term &term : terms) {
    sum = combine(sum, deltaOfTerm(reduce, term), "+");
  }
  return sum;
}

std::optional<SpanCorrector::Delta>
SpanCorrector::deltaOfProduct(const Node *node) {
  bool isFirst = isCorrected(node->operands[0]);
  const Node *other = node->operands[isFirst ? 1 : 0];
  std::optional<Delta> value = delta(node->operands[isFirst ? 0 : 1]);
  if (value && value->text.empty()) {
    return value;
  }
  if (!value || !form.isPrepared(other)) {
    return std::nullopt;
  }
  if (value->lacksDecay) {
    if (auto rest = values.withoutDecay(other)) {
      value->lacksDecay = false;
      other = *rest;
    }
  }
  if (other && !value->text.empty()) {
    value->text = "(" + value->text + " * " + prepared(other, "i") + ")";
  }
  return value;
}

/// Nothing, if it is not known to be linear in the adjoints that arrive.
std::optional<SpanCorrector::Delta> SpanCorrector::delta(const Node *node) {
  node = peel(node);
  if (!isCorrected(node)) {
    return Delta{};
  }
  if (node->kind == Kind::Reduce) {
    return deltaOfSum(node);
  }
  StringRef op = opOf(node);
  if (op == "arith.addf" || op == "arith.subf") {
    return combine(delta(node->operands[0]), delta(node->operands[1]),
                   op == "arith.addf" ? "+" : "-");
  }
  if (op == "arith.negf") {
    return combine(Delta{}, delta(node->operands[0]), "-");
  }
  if (op == "arith.mulf") {
    return deltaOfProduct(node);
  }
  if (op == "math.fma") {
    return combine(deltaOfProduct(node), delta(node->operands[2]), "+");
  }
  if (op == "arith.select" && form.isPrepared(node->operands[0])) {
    std::optional<Delta> yes = delta(node->operands[1]);
    std::optional<Delta> no = delta(node->operands[2]);
    if (!yes || !no || yes->lacksDecay || no->lacksDecay) {
      return std::nullopt;
    }
    auto orZero = [](const Delta &value) {
      return value.text.empty() ? "0.0f" : value.text;
    };
    return Delta{"(" + prepared(node->operands[0], "i") + " ? " + orZero(*yes) +
                 " : " + orZero(*no) + ")"};
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// What a span must know
//===----------------------------------------------------------------------===//

/// By how much a token changes the product of what arrives with a state: what
/// the state takes in, times the adjoint. At column i of token t.
std::optional<std::string> SpanCorrector::changeOf(const Pair &pair) {
  std::string text;
  for (const AffineStep::Term &term : form.states[pair.state].step.terms) {
    Contraction contraction;
    contraction.adjoint = pair.adjoint;
    std::string factors;
    for (const Node *node : {term.a, term.b}) {
      if (!node) {
        continue;
      }
      node = peel(node);
      if (form.isMatrix(node)) {
        return std::nullopt;
      }
      if (form.isRow(node)) {
        contraction.weights.push_back(node);
      } else {
        factors += " * " + prepared(node, "i");
      }
    }
    text += (term.isNegative ? " - " : " + ") +
            contracted(contractionNumber(contraction), "i") + factors;
  }
  return text.empty() ? "0.0f" : text;
}

bool SpanCorrector::collectPairs() {
  return llvm::all_of(
      pairs, [&](const Pair &pair) { return changeOf(pair).has_value(); });
}

/// No total depends on adjoints, and all begin at zero.
bool SpanCorrector::hasPlainTotals() const {
  auto inits = cast<chunk::ForOp>(*form.runs).getInits();
  return llvm::all_of(form.totals, [&](const ScanCarry &total) {
    const Node *init = peel(form.top->find(inits[total.index]));
    if (init->kind != Kind::Constant) {
      return false;
    }
    auto start = dyn_cast<FloatAttr>(init->attributes.get("value"));
    return start && start.getValue().isZero() && !isCorrected(total.value);
  });
}

/// Behind the loops, a matrix is made of one adjoint, and numbers of none.
bool SpanCorrector::hasPlainResults() const {
  for (cpu::Nest &nest : form.top->getNests()) {
    for (const Node *node : nest.nodes) {
      if (node->kind == Kind::CopyOut && form.isMatrix(node) &&
          !adjointBehind(form, node)) {
        return false;
      }
    }
  }
  return true;
}

void SpanCorrector::placeContractions() {
  contractedFloats = 0;
  std::int64_t weights = 0;
  for (Contraction &contraction : contractions) {
    contraction.weightOffset = weights;
    weights += scanUnit * pitchOf(widthOf(!contraction.isOverColumns));
  }
  for (Contraction &contraction : contractions) {
    bool isOverColumns = contraction.isOverColumns;
    contraction.partOffset = weights + contractedFloats;
    contractedFloats += scanUnit * pitchOf(widthOf(isOverColumns)) *
                        (isOverColumns ? tiles.warpColumns : tiles.warpRows);
  }
  contractedFloats += weights;
}

/// What is asked for while texts are made that are dropped.
bool SpanCorrector::layOut() {
  KernelText kept = f.text;
  raws.clear();
  rawBytes = 0;
  values.operands.clear();
  bool isLinear = true;
  for (const Node *store : form.stores) {
    isOfNumber = store->axes.empty();
    std::optional<Delta> value = delta(store->operands[0]);
    isLinear &= value && !value->lacksDecay;
  }
  isLinear &= collectPairs();
  std::vector<const Node *> vectors;
  for (const Contraction &contraction : contractions) {
    for (const Node *weight : contraction.weights) {
      prepared(weight, "i");
      addVectors(weight);
    }
  }
  for (const Node *store : form.stores) {
    if (isCorrected(store->operands[0])) {
      addFactorVectors(store->operands[0]);
    }
  }
  for (const Pair &pair : pairs) {
    for (const AffineStep::Term &term : form.states[pair.state].step.terms) {
      addFactorVectors(term.a);
      if (term.b) {
        addFactorVectors(term.b);
      }
    }
  }
  isLinear &= placeNumbers();
  f.text = kept;
  placeContractions();
  return isLinear;
}

std::int64_t SpanCorrector::sharedBytes() const {
  std::int64_t numbers = form.spanTokens * tokenNumbers;
  std::int64_t ofPairs = static_cast<std::int64_t>(pairs.size()) *
                         (scanUnit + 2 + tiles.computeWarps());
  std::int64_t floats =
      ceilDiv(numbers, 4) * 4 + contractedFloats + ofPairs + 4;
  return ceilDiv(4 * floats, 128) * 128 + rawBytes;
}

bool SpanCorrector::isPrintable() {
  return form.isReverse && !form.hasMatrixDecay && !form.hasVectorDecay() &&
         form.isBySequence() && hasPlainTotals() && hasPlainResults() &&
         layOut() && sharedBytes() <= mostShared;
}

} // namespace recurra::cuda
