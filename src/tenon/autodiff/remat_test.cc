#include "tenon/autodiff/remat.h"

#include <gtest/gtest.h>

#include "tenon/autodiff/functional.h"
#include "tenon/autodiff/testing/check_gradients.h"
#include "tenon/ir/interpreter.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/passes/dce.h"
#include "tenon/passes/pipeline.h"

namespace tenon {
namespace {

using Tensors = std::vector<Tensor>;

Tensor layered_loss(const std::vector<Tensor>& p, const RematPolicy& policy) {
  const auto out = scan(
      [&](const Tensor&, const Tensor& h, const Tensor& w) {
        const RematScope scope(policy);
        const Tensor hidden = tag(tanh(matmul(h, w)), "hidden");
        return std::pair<Tensor, std::vector<Tensor>>(h + matmul(hidden * hidden, w), {});
      },
      p[0], p[1]);
  return sum_all(out.first * out.first);
}

TEST(Remat, PoliciesAgreeToTheBitAndRecompute) {
  std::mt19937 rng(8);
  const std::vector<Literal> args{random_literal(rng, {2, 3}), random_literal(rng, {4, 3, 3})};
  std::vector<std::vector<Literal>> results;
  std::vector<int64_t> dots;
  for (const RematPolicy& policy :
       {RematPolicy(SaveEverything{}), RematPolicy(SaveNothing{}), RematPolicy(SaveTags{.device = {"hidden"}})}) {
    Graph g = gradient_graph([&](const std::vector<Tensor>& p) { return layered_loss(p, policy); }, args);
    eliminate_dead_code(g);
    dots.push_back(count_ops(*g.trace, g.root, "dot_general"));
    results.push_back(interpret(g, args));
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
  EXPECT_EQ(dots[0], 6);  // two forward, four backward
  EXPECT_EQ(dots[1], 7);  // the first is done again; the second isn't needed
  EXPECT_EQ(dots[2], 6);
}

TEST(Remat, BarrierOutsideLoops) {
  std::mt19937 rng(9);
  const std::vector<Literal> args{random_literal(rng, {2, 3}), random_literal(rng, {3, 3})};
  const auto barriers = [&](const RematPolicy& policy) {
    Graph g = gradient_graph(
        [&](const std::vector<Tensor>& p) {
          const RematScope scope(policy);
          return sum_all(tanh(matmul(tanh(p[0]), p[1])));
        },
        args);
    eliminate_dead_code(g);
    return count_ops(*g.trace, g.root, "optimization_barrier");
  };
  EXPECT_EQ(barriers(SaveEverything{}), 0);
  EXPECT_EQ(barriers(SaveNothing{}), 1);
}

// The passes leave twice what a policy wants done twice, in loops and outside.
TEST(Remat, PassesKeepWhatIsDoneAgain) {
  std::mt19937 rng(9);
  const std::vector<Literal> flat{random_literal(rng, {2, 3}), random_literal(rng, {3, 3})};
  const std::vector<Literal> stacked{random_literal(rng, {2, 3}), random_literal(rng, {4, 3, 3})};
  const auto count = [&](const LossFn& loss, const std::vector<Literal>& args, std::string_view op) {
    Graph g = gradient_graph(loss, args);
    run_passes(g, {}, Mesh());
    return count_ops(*g.trace, g.root, op);
  };
  const auto one = [&](const RematPolicy& policy) {
    const LossFn loss = [&](const std::vector<Tensor>& p) {
      const RematScope scope(policy);
      return sum_all(tanh(matmul(tanh(p[0]), p[1])));
    };
    return count(loss, flat, "tanh");
  };
  EXPECT_EQ(one(SaveEverything{}), 2);
  EXPECT_EQ(one(SaveNothing{}), 4);
  const auto loop = [&](const RematPolicy& policy) {
    return count([&](const std::vector<Tensor>& p) { return layered_loss(p, policy); }, stacked, "dot_general");
  };
  EXPECT_EQ(loop(SaveEverything{}), 6);
  EXPECT_EQ(loop(SaveNothing{}), 7);
}

// Policies change what is kept, never a bit of the result.
void expect_all_policies_agree(const std::function<Tensor(const std::vector<Tensor>&, const RematPolicy&)>& loss,
                               const std::vector<Literal>& args) {
  const auto run = [&](const RematPolicy& policy) {
    return interpret(gradient_graph([&](const std::vector<Tensor>& p) { return loss(p, policy); }, args), args);
  };
  const std::vector<Literal> want = run(RematPolicy());
  EXPECT_EQ(check_gradients([&](const std::vector<Tensor>& p) { return loss(p, RematPolicy()); }, args), "");
  EXPECT_EQ(run(SaveEverything{}), want) << "everything";
  EXPECT_EQ(run(SaveNothing{}), want) << "nothing";
  EXPECT_EQ(run(SaveDots{}), want) << "dots";
  EXPECT_EQ(run(SaveTags{.device = {"a"}}), want) << "a";
  EXPECT_EQ(run(SaveTags{.device = {"a", "b"}}), want) << "a, b";
}

// Tags on a value that doesn't change in the loop, on one that is tagged already, and on an input of the loop.
TEST(Remat, TagsInUnusualPlaces) {
  std::mt19937 rng(11);
  const std::vector<Literal> args{random_literal(rng, {2}), random_literal(rng, {3, 2})};
  expect_all_policies_agree(
      [](const std::vector<Tensor>& p, const RematPolicy& policy) {
        const auto out = scan(
            [&](const Tensor&, const Tensor& h, const Tensor& x) {
              const RematScope scope(policy);
              const Tensor fixed = tag(exp(p[0]), "a");
              const Tensor twice = tag(tag(sin(h), "a"), "b");
              const Tensor input = tag(x, "b");
              return std::pair<Tensor, Tensor>(tanh(twice * fixed + input * input), fixed * fixed * twice);
            },
            p[0], p[1]);
        return sum_all(out.first) + sum_all(out.second * out.second);
      },
      args);
}

TEST(Remat, NestedScopes) {
  std::mt19937 rng(12);
  const std::vector<Literal> args{random_literal(rng, {2, 2}), random_literal(rng, {2, 2})};
  expect_all_policies_agree(
      [](const std::vector<Tensor>& p, const RematPolicy& policy) {
        const RematScope outer(policy);
        const Tensor a = tag(matmul(tanh(p[0]), p[1]), "a");
        Tensor b;
        {
          const RematScope inner{RematPolicy(SaveNothing{})};
          b = sin(matmul(exp(a * 0.1), a));
        }
        const RematScope third(policy);
        return sum_all(tag(b * b, "b") * cos(a) * b);
      },
      args);
}

TEST(Remat, ScansAndBranchesInsideScopes) {
  std::mt19937 rng(13);
  const std::vector<Literal> args{random_literal(rng, {2}), random_literal(rng, {3, 2})};
  expect_all_policies_agree(
      [](const std::vector<Tensor>& p, const RematPolicy& policy) {
        const RematScope scope(policy);
        const Tensor start = sin(p[0]);
        const auto out = scan(
            [&](const Tensor& index, const Tensor& h, const Tensor& x) {
              const Tensor odd = equal(rem(index, full_like(index, 2)), full_like(index, 1));
              const std::vector<Tensor> branch = cond(
                  odd, [&] { return std::vector<Tensor>{tanh(h * start)}; },
                  [&] { return std::vector<Tensor>{h + x}; });
              return std::pair<Tensor, Tensor>(tag(branch[0], "a") * x, exp(tag(branch[0] * 0.3, "b")));
            },
            start, p[1]);
        return sum_all(out.first * start) + sum_all(out.second);
      },
      args);
}

// Host memory is only a place: the results are those of the device, in loops and outside.
TEST(Remat, HostOffload) {
  std::mt19937 rng(14);
  const std::vector<Literal> args{random_literal(rng, {2, 3}), random_literal(rng, {4, 3, 3})};
  const auto check = [&](const std::function<Tensor(const std::vector<Tensor>&, const RematPolicy&)>& loss) {
    const auto graph = [&](const RematPolicy& policy) {
      return gradient_graph([&](const std::vector<Tensor>& p) { return loss(p, policy); }, args);
    };
    Graph host = graph(SaveTags{.host = {"hidden"}});
    eliminate_dead_code(host);
    EXPECT_EQ(count_ops(*host.trace, host.root, "place"), 2);  // to the host and back
    EXPECT_EQ(interpret(host, args), interpret(graph(SaveTags{.device = {"hidden"}}), args));
  };
  check(layered_loss);
  check([](const std::vector<Tensor>& p, const RematPolicy& policy) {
    const RematScope scope(policy);
    const Tensor hidden = tag(exp(p[0]), "hidden");
    return sum_all(hidden * hidden);
  });
}

TEST(Remat, HostOffloadInNestedLoopsIsRefused) {
  const auto error = error_of([&] {
    const std::vector<Literal> args{Literal::from(DType::f64, {2}, std::vector<double>{1, 2})};
    gradient_graph(
        [](const std::vector<Tensor>& p) {
          current_trace().set_path("decoder.layers");
          const auto inner = [](const Tensor&, const Tensor& h, const Tensors&) {
            const RematScope scope{RematPolicy(SaveTags{.host = {"hidden"}})};
            return std::pair<Tensor, Tensors>(exp(tag(sin(h), "hidden")), {});
          };
          const auto outer = [&](const Tensor&, const Tensor& h, const Tensors&) {
            return std::pair<Tensor, Tensors>(scan(inner, h, Tensors{}, 2).first, {});
          };
          return sum_all(scan(outer, p[0], Tensors{}, 3).first);
        },
        args);
  });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::unsupported);
  EXPECT_EQ(error->path(), "decoder.layers");
  EXPECT_NE(error->hint(), "");
}

// Which of three dots stay undone in the backward pass.
TEST(Remat, RulesDecideByPathTagAndOp) {
  std::mt19937 rng(15);
  const std::vector<Literal> args{random_literal(rng, {2, 3}), random_literal(rng, {3, 3})};
  const auto dots = [&](std::vector<SaveRule> rules, Save otherwise = Save::recompute) {
    Graph g = gradient_graph(
        [&](const std::vector<Tensor>& p) {
          const RematScope scope{RematPolicy(SaveRules{rules, otherwise})};
          Tensor h = p[0];
          for (const char* path : {"decoder.layers.0.attention", "decoder.layers.0.ffn", "decoder.layers.1.ffn.gate"}) {
            current_trace().set_path(path);
            h = tanh(tag(matmul(h, p[1]), "product"));
          }
          current_trace().set_path("");
          return sum_all(h);
        },
        args);
    eliminate_dead_code(g);
    return count_ops(*g.trace, g.root, "dot_general") - 9;  // three forward, six backward
  };
  EXPECT_EQ(dots({{.op = "tanh"}}), 0);
  EXPECT_EQ(dots({{.op = "dot_general"}}), 0);
  EXPECT_EQ(dots({{.op = "reduce_sum", .save = Save::recompute}, {.tag = "product"}}), 0);
  EXPECT_EQ(dots({{.path = "decoder.layers.*.attention", .op = "dot_general"}}), 2);
  EXPECT_EQ(dots({{.path = "decoder.layers.1"}}), 2);
  EXPECT_EQ(dots({{.tag = "prod.*"}}), dots({{.tag = "product"}}));
  EXPECT_EQ(dots({{.tag = "product|nothing"}}), dots({{.tag = "product"}}));
  EXPECT_EQ(dots({{.path = "*.ffn", .op = "dot_general"}}), 1);
  EXPECT_EQ(dots({{.path = "decoder.layers.0.attention", .save = Save::recompute}, {.tag = "product"}}), 1);
  EXPECT_EQ(dots({}), 3);
}

TEST(Remat, APolicyThatMatchesNothingIsAnError) {
  const std::vector<Literal> args{Literal::from(DType::f64, {2}, std::vector<double>{1, 2})};
  const auto error = [&](const RematPolicy& policy) {
    return error_of([&] {
      gradient_graph(
          [&](const std::vector<Tensor>& p) {
            // Each layer opens a scope of its own; a rule may match in only one of them.
            Tensor h = p[0];
            for (const char* path : {"layers.0", "layers.1"}) {
              const RematScope scope(policy);
              current_trace().set_path(path);
              h = tag(sin(h), "hidden");
            }
            current_trace().set_path("");
            return sum_all(h);
          },
          args);
    });
  };
  EXPECT_FALSE(error(SaveTags{.device = {"hidden"}}));
  EXPECT_FALSE(error(SaveTags{.device = {"hid+en"}}));
  EXPECT_TRUE(error(SaveTags{.device = {"hid"}})) << "all of a tag";
  EXPECT_TRUE(error(SaveTags{.device = {"hid+en*"}, .host = {"(hidden"}})) << "no regular expression";
  EXPECT_FALSE(error(SaveRules{.rules = {{.path = "layers.1"}}}));
  EXPECT_FALSE(error(SaveRules{}));
  const auto tag_error = error(SaveTags{.device = {"hidden"}, .host = {"hiden"}});
  ASSERT_TRUE(tag_error);
  EXPECT_EQ(tag_error->code(), ErrorCode::invalid_argument);
  EXPECT_NE(std::string(tag_error->what()).find("tag \"hiden\""), std::string::npos);
  EXPECT_NE(std::string(tag_error->what()).find("tags: hidden"), std::string::npos);
  EXPECT_EQ(tag_error->path(), "layers");
  EXPECT_EQ(tag_error->hint(), "did you mean hidden?");
  const auto path_error = error(SaveRules{.rules = {{.path = "layers.*", .op = "sin"}, {.path = "layers.2"}}});
  ASSERT_TRUE(path_error);
  EXPECT_NE(std::string(path_error->what()).find("layers.0, layers.1"), std::string::npos);
  EXPECT_EQ(path_error->hint(), "did you mean layers.0 or layers.1?");
}

TEST(Remat, APolicyIsCheckedWhereItStandsInAConfig) {
  const auto problem = [](const auto& policy) {
    Checker c;
    c.set_prefix("model.remat");
    policy.check(c);
    return c.problems().empty() ? "" : c.problems()[0].path + " " + c.problems()[0].message;
  };
  const std::string same = " names the same as one before it, so that it decides nothing: ";
  EXPECT_EQ(problem(SaveTags{.device = {"a", "b", "a"}}), "model.remat.device.2" + same + "tag \"a\"");
  EXPECT_EQ(problem(SaveTags{.device = {"a"}, .host = {"b", "a"}}), "model.remat.host.1" + same + "tag \"a\"");
  EXPECT_EQ(problem(SaveRules{.rules = {{.path = "x", .op = "sin"}, {.path = "x", .op = "sin", .save = Save::host}}}),
            "model.remat.rules.1" + same + "path \"x\" and op \"sin\"");
  EXPECT_EQ(problem(SaveRules{.rules = {{}, {}}}), "model.remat.rules.1" + same + "everything");
  EXPECT_EQ(problem(SaveTags{.device = {"a"}, .host = {".*_proj"}}), "");
  EXPECT_EQ(problem(SaveRules{.rules = {{.path = "x", .op = "sin"}, {.path = "x"}}}), "");
  EXPECT_EQ(problem(SaveRules{.rules = {{.tag = "a(b"}}}).find("model.remat.rules.0 "), 0U);
}

}  // namespace
}  // namespace tenon
