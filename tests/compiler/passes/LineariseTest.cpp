// linearise on definitions: however Palimpsa is written, the same scan comes
// out; near misses and missing facts are declined with a remark.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Import.h"
#include "compiler/Pipeline.h"
#include "compiler/rec/Rec.h"
#include "dsl/dsl.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "ops/catalogue/Catalogue.h"

#include <gtest/gtest.h>

using namespace recurra;
using namespace recurra::dsl;

namespace {

/// The expression of each new state and each output, by name.
struct ScanText {
  std::map<std::string, std::string> values;
  std::vector<std::string> remarks;
};

using Names = std::map<std::string, std::string>;

/// A value as text; operands of commutative ops are sorted.
std::string text(mlir::Value value, rec::ScanOp scan, const Names &names) {
  mlir::Operation *op = value.getDefiningOp();
  if (auto constant = rec::constantOf(value)) {
    return std::to_string(*constant);
  }
  if (!op) {
    auto argument = llvm::cast<mlir::BlockArgument>(value);
    if (argument.getOwner() != scan.getStep()) {
      auto name = scan->getParentOfType<mlir::FunctionOpInterface>()
                      .getArgAttrOfType<mlir::StringAttr>(
                          argument.getArgNumber(), rec::nameAttr);
      return names.count(name.str()) ? names.at(name.str()) : name.str();
    }
    unsigned tokens = scan.getSequences().size();
    if (argument.getArgNumber() < tokens) {
      return text(scan.getSequences()[argument.getArgNumber()], scan, names);
    }
    return names.at(scan.getStateName(argument.getArgNumber() - tokens));
  }
  std::vector<std::string> operands;
  for (mlir::Value operand : op->getOperands()) {
    operands.push_back(text(operand, scan, names));
  }
  if (op->hasTrait<mlir::OpTrait::IsCommutative>()) {
    llvm::sort(operands);
  }
  return op->getName().stripDialect().str() + "(" + llvm::join(operands, ", ") +
         ")";
}

/// Imports, linearises and cleans up; names of states and inputs are replaced.
ScanText linearised(const Recurrence &recurrence, const Names &names) {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  ScanText result;
  mlir::ScopedDiagnosticHandler handler(
      &context, [&](mlir::Diagnostic &diagnostic) {
        result.remarks.push_back(diagnostic.str());
        return mlir::success();
      });
  Spec spec;
  spec.outputs = {"o"};
  std::string error;
  auto module = importRecurrence(context, recurrence, spec, error);
  EXPECT_TRUE(module) << error;
  mlir::PassManager passes(&context);
  addLinearPhase(passes);
  EXPECT_TRUE(mlir::succeeded(passes.run(*module)));
  module->walk([&](rec::ScanOp scan) {
    for (auto [i, value] : llvm::enumerate(scan.getYield().getCarried())) {
      result.values[names.at(scan.getStateName(i))] = text(value, scan, names);
    }
    result.values["o"] = text(scan.getYield().getEmitted()[0], scan, names);
  });
  return result;
}

bool mentions(const std::vector<std::string> &remarks, const char *part) {
  return llvm::any_of(remarks, [&](const std::string &remark) {
    return remark.find(part) != std::string::npos;
  });
}

/// How a variant of the published form writes its parts.
struct Writing {
  const char *mu = "mu", *I = "I", *K = "K", *beta = "beta";
  bool muFirst = false;      ///< the mean before the precision
  bool expm1Form = false;    ///< -expm1(g) for 1 - exp(g)
  bool squaredDecay = false; ///< (1 - a^2) prior
  bool staleDecay = false;   ///< mu decays by I before beta k^2 is added
  bool betaIsSigned = false; ///< beta without its fact
};

Recurrence published(const Writing &as) {
  return define("variant", [&](Builder &r) {
    Axis K = r.axis(as.K), V = r.axis("V");
    Expr q = r.token("q", {K}), k = r.token("k", {K}), v = r.token("v", {V});
    Expr g = r.token("g", {}, nonPositive);
    Expr beta = as.betaIsSigned ? r.token(as.beta, {V})
                                : r.token(as.beta, {V}, nonNegative);
    Expr prior = r.head("prior", {}, positive);
    Expr scale = r.scalar("scale");
    dsl::State I = r.state(as.I, {K, V}, positive, initial(prior));
    dsl::State mu = r.state(as.mu, {K, V});
    Expr a = exp(g);
    Expr left = as.expm1Form ? -expm1(g) : as.squaredDecay ? 1 - a * a : 1 - a;
    Expr old = I, kept = a * I + left * prior;
    Expr now = kept + beta * square(k);
    Expr ratio = old / (as.staleDecay ? kept : now);
    if (as.muFirst) {
      mu = a * ratio * mu + v * k / now;
      I = now;
    } else {
      I = now;
      mu = (k * v) / I + mu * (a * ratio);
    }
    r.output("o", scale * sum(q * mu, K));
  });
}

const Names palimpsaNames = {{"M", "M"}, {"J", "J"}};
const Names publishedNames = {{"mu_scaled", "M"}, {"I_shifted", "J"}};

TEST(Linearise, PublishedFormEndsInTheLinearOne) {
  ScanText linear = linearised(*findRecurrence("palimpsa"), palimpsaNames);
  ScanText paper = linearised(*findRecurrence("palimpsa_mu"), publishedNames);
  EXPECT_EQ(linear.values, paper.values);
  EXPECT_TRUE(linear.remarks.empty());
}

TEST(Linearise, AnyWritingOfItDoes) {
  auto expected = linearised(*findRecurrence("palimpsa"), palimpsaNames).values;
  EXPECT_EQ(linearised(published({}), publishedNames).values, expected);
  EXPECT_EQ(linearised(published({.muFirst = true}), publishedNames).values,
            expected);
  EXPECT_EQ(linearised(published({.expm1Form = true}), publishedNames).values,
            expected);
  Names renamed = {{"m_scaled", "M"}, {"Z_shifted", "J"}, {"b", "beta"}};
  EXPECT_EQ(linearised(published({.mu = "m", .I = "Z", .K = "D", .beta = "b"}),
                       renamed)
                .values,
            expected);
}

TEST(Linearise, KeepsThePriorWhereItsShiftIsNotExact) {
  ScanText text = linearised(published({.squaredDecay = true}),
                             {{"mu_scaled", "M"}, {"I", "I"}});
  EXPECT_EQ(text.values["M"],
            "add(mul(M, exp(max(g, -10000.000000))), mul(k, v))")
      << "the mean is linear all the same";
}

TEST(Linearise, DeclinesANearMiss) {
  ScanText text = linearised(published({.staleDecay = true}),
                             {{"mu", "mu"}, {"I_shifted", "J"}});
  EXPECT_TRUE(mentions(text.remarks, "no change of variables removes it"));
}

TEST(Linearise, NamesAMissingFact) {
  ScanText text = linearised(published({.betaIsSigned = true}),
                             {{"mu", "mu"}, {"I_shifted", "J"}});
  EXPECT_TRUE(
      mentions(text.remarks, "declare beta nonNegative to make mu linear"));
}

TEST(Linearise, LeavesOtherEntriesAlone) {
  for (const Recurrence &entry : catalogue()) {
    if (entry.name == "palimpsa_mu") {
      continue;
    }
    Names names;
    for (const recurra::State &state : entry.states) {
      names[state.name] = state.name;
    }
    mlir::DialectRegistry registry;
    registerDialects(registry);
    mlir::MLIRContext context(registry);
    context.loadAllAvailableDialects();
    Spec spec;
    spec.outputs = {entry.outputs[0].name};
    std::string error;
    auto module = importRecurrence(context, entry, spec, error);
    ASSERT_TRUE(module) << error;
    mlir::PassManager passes(&context);
    addLinearise(passes);
    ASSERT_TRUE(mlir::succeeded(passes.run(*module)));
    module->walk([&](rec::ScanOp scan) {
      for (unsigned i = 0; i < scan.getInits().size(); ++i) {
        EXPECT_TRUE(names.count(scan.getStateName(i)))
            << entry.name << ": " << scan.getStateName(i);
      }
    });
  }
}

} // namespace
