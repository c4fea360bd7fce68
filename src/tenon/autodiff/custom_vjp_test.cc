// custom_vjp: that the rule is what differentiates, wherever the op stands.
#include <gmock/gmock.h>

#include "tenon/autodiff/functional.h"
#include "tenon/autodiff/remat.h"
#include "tenon/autodiff/testing/check_gradients.h"
#include "tenon/ir/interpreter.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/ir/verify.h"

namespace tenon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Tensors = std::vector<Tensor>;

// sin, with its derivative from a residual that is neither input nor result.
Tensor own_sin(const Tensor& x) {
  return custom_vjp({x}, {[](const Tensors& in) { return CustomVjp::Forward{{sin(in[0])}, {cos(in[0])}}; },
                          [](const Tensors& saved, const Tensors& cts) { return Tensors{cts[0] * saved[0]}; }})[0];
}
// exp, from its result.
Tensor own_exp(const Tensor& x) {
  return custom_vjp({x}, {[](const Tensors& in) {
                            const Tensor y = exp(in[0]);
                            return CustomVjp::Forward{{y}, {y}};
                          },
                          [](const Tensors& saved, const Tensors& cts) { return Tensors{cts[0] * saved[0]}; }})[0];
}
// The identity, whose cotangent arrives threefold.
Tensor tripled(const Tensor& x) {
  return custom_vjp({x}, {[](const Tensors& in) { return CustomVjp::Forward{in, {}}; },
                          [](const Tensors&, const Tensors& cts) { return Tensors{cts[0] * 3.0}; }})[0];
}

std::vector<double> gradient(const LossFn& loss, const Literal& x) {
  const Graph graph = gradient_graph(loss, {x});
  verify(graph);
  return interpret(graph, std::vector<Literal>{x})[1].to_doubles();
}

Literal row(std::vector<double> values) {
  return Literal::from(DType::f64, {static_cast<int64_t>(values.size())}, values);
}

TEST(CustomVjp, ItsRuleIsTheDerivative) {
  EXPECT_THAT(gradient([](const Tensors& p) { return sum_all(tripled(p[0]) * p[0]); }, row({1, 2})), ElementsAre(4, 8));
}

TEST(CustomVjp, RightRulesAgreeWithCentralDifferences) {
  std::mt19937 rng(1);
  const Literal x = random_literal(rng, {3});
  EXPECT_EQ(check_gradients([](const Tensors& p) { return sum_all(own_sin(p[0] * p[0])); }, {x}), "");
  EXPECT_EQ(check_gradients([](const Tensors& p) { return sum_all(own_exp(own_sin(p[0]))); }, {x}), "");
}

TEST(CustomVjp, InsideScanAndRemat) {
  std::mt19937 rng(2);
  const std::vector<Literal> args = {random_literal(rng, {2}), random_literal(rng, {3, 2})};
  const auto loss = [](const RematPolicy& policy) {
    return [policy](const Tensors& p) {
      const auto out = scan(
          [&](const Tensor&, const Tensor& h, const Tensor& x) {
            const RematScope scope(policy);
            return std::pair<Tensor, Tensor>(own_sin(h + x), own_exp(h * x));
          },
          p[0], p[1]);
      return sum_all(out.first * out.first) + sum_all(out.second);
    };
  };
  EXPECT_EQ(check_gradients(loss({}), args), "");
  EXPECT_EQ(check_gradients(loss(RematPolicy(SaveNothing{})), args), "");
  EXPECT_EQ(check_gradients(loss(RematPolicy(SaveEverything{})), args), "");
  const auto plain = [](const Tensors& p) {
    const RematScope scope{RematPolicy(SaveNothing{})};
    return sum_all(own_exp(own_sin(p[0])));
  };
  EXPECT_EQ(check_gradients(plain, {args[0]}), "");
}

TEST(CustomVjp, IntegersGetNothing) {
  const auto loss = [](const Tensors& p) {
    const Tensor index = constant(Literal::from(DType::i32, {2}, std::vector<int64_t>{2, 0}));
    const Tensors out =
        custom_vjp({p[0], index},
                   {[](const Tensors& in) { return CustomVjp::Forward{{take(in[0], in[1]), in[1]}, {in[0], in[1]}}; },
                    [](const Tensors& saved, const Tensors& cts) {
                      EXPECT_FALSE(cts[1]);
                      return Tensors{scatter_add_rows(saved[1], cts[0], saved[0].dim(0)), Tensor()};
                    }});
    return sum_all(out[0] * out[0]);
  };
  EXPECT_THAT(gradient(loss, row({1, 2, 3})), ElementsAre(2, 0, 6));
}

TEST(CustomVjp, SecondDerivativesGoThroughInputsAndResults) {
  const auto slope = [](Tensor (*f)(const Tensor&)) {
    return [f](const Tensors& p) {
      return sum_all(grad([f](const Tensors& q) { return sum_all(f(q[0])); }, Tensors{p[0]})[0]);
    };
  };
  EXPECT_EQ(check_gradients(slope(own_exp), {row({0.5, -1})}), "");
  const auto e = error_of([&] { gradient(slope(own_sin), row({1})); });
  ASSERT_TRUE(e);
  EXPECT_EQ(e->code(), ErrorCode::not_differentiable);
  EXPECT_THAT(e->what(), HasSubstr("custom_vjp"));
}

TEST(CustomVjp, BadRulesAreRefused) {
  const auto refuse = [](const CustomVjp& rule, bool capture = false) {
    const std::vector<TensorType> types = {{DType::f32, {2}}, {DType::f32, {2}}};
    return error_of([&] {
      make_graph(types, [&](const Tensors& p) {
        current_trace().set_path("decoder.norm");
        CustomVjp r = rule;
        if (capture) r.forward = [&](const Tensors& in) { return CustomVjp::Forward{{in[0] * p[1]}, {}}; };
        return custom_vjp({p[0]}, r);
      });
    });
  };
  const auto same = [](const Tensors& in) { return CustomVjp::Forward{in, {}}; };
  const auto pass = [](const Tensors&, const Tensors& cts) { return cts; };
  const std::pair<std::optional<Error>, const char*> cases[] = {
      {refuse({same, pass}, true), "from outside"},
      {refuse({same, [](const Tensors&, const Tensors&) { return Tensors{}; }}), "0 cotangents for 1 inputs"},
      {refuse({same, [](const Tensors&, const Tensors& cts) { return Tensors{sum_all(cts[0])}; }}),
       "a cotangent of f32[]"},
      {refuse({same, [](const Tensors&, const Tensors& cts) { return Tensors{convert(cts[0], DType::bf16)}; }}),
       "bf16"},
  };
  for (const auto& [e, text] : cases) {
    ASSERT_TRUE(e) << text;
    EXPECT_THAT(e->what(), HasSubstr(text));
    EXPECT_EQ(e->path(), "decoder.norm") << e->what();
  }
}

}  // namespace
}  // namespace tenon
