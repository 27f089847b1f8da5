// The C++ face of the ops: values, gradients, options and errors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/Ops.h"

#include "dsl/dsl.h"

#include <ATen/ATen.h>

#include <gtest/gtest.h>

namespace {

using recurra::CallOptions;
using recurra::CallResult;

at::Tensor random(at::IntArrayRef shape) {
  return at::randn(shape, at::TensorOptions().dtype(at::kDouble));
}

/// Inputs of palimpsa: two value heads read one key head.
struct Palimpsa : testing::Test {
  void SetUp() override {
    at::manual_seed(42);
    q = random({2, 5, 1, 3}), k = random({2, 5, 1, 3});
    v = random({2, 5, 2, 4});
    g = -random({2, 5, 2}).abs();
    beta = random({2, 5, 2, 4}).abs();
  }

  /// The token loop with at::Tensor; prior 1, scale K^-0.5.
  std::pair<at::Tensor, at::Tensor> loop() const {
    at::Tensor m = at::zeros({2, 2, 3, 4}, q.options()), j = m;
    std::vector<at::Tensor> means, variances;
    for (std::int64_t t = 0; t < 5; ++t) {
      at::Tensor a = g.select(1, t).exp().unsqueeze(-1).unsqueeze(-1);
      at::Tensor key = k.select(1, t).unsqueeze(-1);
      at::Tensor query = q.select(1, t).unsqueeze(-1);
      m = a * m + v.select(1, t).unsqueeze(-2) * key;
      j = a * j + beta.select(1, t).unsqueeze(-2) * key.square();
      means.push_back((m / (j + 1) * query).sum(-2) / std::sqrt(3.0));
      variances.push_back((query.square() / (j + 1)).sum(-2) / std::sqrt(3.0));
    }
    return {at::stack(means, 1), at::stack(variances, 1)};
  }

  at::Tensor q, k, v, g, beta;
};

TEST_F(Palimpsa, EqualsTheLoop) {
  CallOptions options;
  options.outputs = {"o_var", "o"};
  options.outputFinalState = true;
  CallResult result = recurra::palimpsa(q, k, v, g, beta, {}, {}, options);
  auto [mean, variance] = loop();
  ASSERT_EQ(result.outputs.size(), 2u);
  EXPECT_TRUE(at::allclose(result.outputs[0], variance, 1e-10, 1e-12));
  EXPECT_TRUE(at::allclose(result.outputs[1], mean, 1e-10, 1e-12));
  ASSERT_EQ(result.finalStates.size(), 2u);
  EXPECT_EQ(result.finalStates[0].sizes(), at::IntArrayRef({2, 2, 3, 4}));
}

TEST_F(Palimpsa, GradientsEqualTheLoops) {
  std::vector<at::Tensor> leaves = {q, k, v, g, beta};
  for (at::Tensor &leaf : leaves) {
    leaf.requires_grad_();
  }
  at::Tensor weight = random({2, 5, 2, 4});
  (recurra::palimpsa(q, k, v, g, beta).outputs[0] * weight).sum().backward();
  std::vector<at::Tensor> found;
  for (at::Tensor &leaf : leaves) {
    found.push_back(leaf.grad().clone());
    leaf.mutable_grad().reset();
  }
  (loop().first * weight).sum().backward();
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    EXPECT_TRUE(at::allclose(found[i], leaves[i].grad(), 1e-9, 1e-11)) << i;
  }
}

TEST_F(Palimpsa, StatesGoInAndOut) {
  CallOptions first, second;
  first.outputFinalState = true;
  CallResult head =
      recurra::palimpsa(q.narrow(1, 0, 2), k.narrow(1, 0, 2), v.narrow(1, 0, 2),
                        g.narrow(1, 0, 2), beta.narrow(1, 0, 2), {}, {}, first);
  second.initialStates.assign(head.finalStates.begin(), head.finalStates.end());
  CallResult tail = recurra::palimpsa(q.narrow(1, 2, 3), k.narrow(1, 2, 3),
                                      v.narrow(1, 2, 3), g.narrow(1, 2, 3),
                                      beta.narrow(1, 2, 3), {}, {}, second);
  at::Tensor whole = loop().first;
  EXPECT_TRUE(at::allclose(at::cat({head.outputs[0], tail.outputs[0]}, 1),
                           whole, 1e-10, 1e-12));
}

TEST_F(Palimpsa, WrongShapeNamesTensorRuleAndRemedy) {
  try {
    recurra::palimpsa(q, k, v, g, beta.narrow(3, 0, 3));
    FAIL() << "a beta of the wrong width was taken";
  } catch (const c10::Error &error) {
    std::string message = error.what_without_backtrace();
    EXPECT_NE(message.find("'beta'"), std::string::npos) << message;
    EXPECT_NE(message.find("V = 3"), std::string::npos) << message;
    EXPECT_NE(message.find("give 'beta' the shape"), std::string::npos)
        << message;
  }
}

TEST(Call, TakesADefinitionMadeAtRunTime) {
  using namespace recurra::dsl;
  recurra::Recurrence leaky = define("leaky", [](Builder &r) {
    Axis D = r.axis("D");
    Expr x = r.token("x", {D});
    State h = r.state("h", {D});
    h = 0.5 * h + x;
    r.output("y", h);
  });
  at::Tensor x = at::ones({1, 3, 1, 2}, at::TensorOptions().dtype(at::kFloat));
  CallResult result = recurra::call(leaky, {x});
  at::Tensor expected = at::tensor({1.0f, 1.5f, 1.75f}).view({1, 3, 1, 1});
  EXPECT_TRUE(at::allclose(result.outputs[0], expected.expand({1, 3, 1, 2})));
}

TEST(Call, StatesHaveTheDtypeOfTheirDefinition) {
  using namespace recurra::dsl;
  recurra::Recurrence leaky = define("leaky", [](Builder &r) {
    Axis D = r.axis("D");
    Expr x = r.token("x", {D});
    State h = r.state("h", {D}, DType::BF16);
    h = 0.5 * h + x;
    r.output("y", h);
  });
  for (at::ScalarType type : {at::kFloat, at::kDouble}) {
    at::Tensor x = at::ones({1, 3, 1, 2}, at::TensorOptions().dtype(type));
    at::Tensor start = at::full({1, 1, 2}, 2, at::kFloat).requires_grad_();
    CallOptions options;
    options.initialStates = {start};
    options.outputFinalState = true;
    CallResult result = recurra::call(leaky, {x}, options);
    at::Tensor last = result.finalStates[0];
    EXPECT_EQ(last.scalar_type(),
              type == at::kDouble ? at::kDouble : at::kBFloat16);
    EXPECT_TRUE(at::equal(last, at::full_like(last, 2)));
    last.sum().backward();
    EXPECT_TRUE(at::equal(start.grad(), at::full_like(start, 0.125)));
  }
}

TEST(Call, UnknownEntryIsAnError) {
  EXPECT_THROW(recurra::callCatalogue("no_such_entry", {}), c10::Error);
}

} // namespace
