#include "tenon/nn/context.h"

#include <gmock/gmock.h>

#include "tenon/config/define.h"
#include "tenon/ir/interpreter.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/random.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/nn/functional.h"
#include "tenon/nn/initializers.h"
#include "tenon/nn/testing/evaluate.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;

class Leaf : public Module {
 public:
  struct Config : Module::Config {
    TENON_CONFIG()
  };
  explicit Leaf(const Config& c)
      : Module(c), weight_(this, "weight", {2}, {{}, Constant{3}, 1}), count_(this, "count", {}) {}
  Tensor forward(const Tensor& x) const { return x * weight_; }
  Tensor draw(std::string_view name) const { return random_uniform(rng(name), {2}, DType::f32); }
  Tensor output(std::string_view name, const Tensor& x) const {
    summary(name, x);
    return x;
  }
  Tensor add_count(const Tensor& x) const {
    count_.update(count_ + x);
    return x;
  }
  // Doors left open on purpose.
  const Param& weight() const { return weight_; }
  const State& count() const { return count_; }

 private:
  Param weight_;
  State count_;
};
TENON_MODULE(Leaf, Module, "for tests")

// Asks for what a module above shares.
class Borrower : public Module {
 public:
  struct Config : Module::Config {
    TENON_CONFIG()
  };
  explicit Borrower(const Config& c) : Module(c) {}
  Tensor forward(const Tensor& x) const { return Shared<Leaf>("lent").call(&Leaf::forward, x); }
  Tensor wrong(const Tensor& x) const { return Shared<Borrower>("lent").call(&Borrower::forward, x); }
  Tensor unknown(const Tensor& x) const { return Shared<Leaf>("gone").call(&Leaf::forward, x); }
};
TENON_MODULE(Borrower, Module, "for tests")

// Runs what a test asks of its children, in its own context.
class Root : public Module {
 public:
  struct Config : Module::Config {
    TENON_CONFIG()
  };
  explicit Root(const Config& c)
      : Module(c),
        own_(this, "own", {2}, {{}, Constant{1}, 1}),
        a(this, "a", Leaf::Config{}),
        b(this, "b", Leaf::Config{}),
        borrower(this, "borrower", Borrower::Config{}) {
    share("lent", "b");
  }
  template <class F>
  Tensor act(const F& f) const {
    return f(*this);
  }
  const Leaf& leaf() const { return dynamic_cast<const Leaf&>(*children()[0].module); }

 private:
  Param own_;

 public:
  const Param& own() const { return own_; }
  Child<Leaf> a, b;
  Child<Borrower> borrower;
};
TENON_MODULE(Root, Module, "for tests")

struct Ran {
  std::vector<double> value;
  Values collected;
};

// `f(root, x)` inside the root's context.
template <class F>
Ran act(const F& f, bool with_key = true, bool training = true) {
  const Root root{Root::Config{}};
  const Values got =
      evaluate(initial_values(root, 1), {{"x", Literal::from(DType::f32, {2}, std::vector<double>{1, 2})}},
               [&](const Nest& s, const Nest& in) {
                 const auto run = [&](const Root& r) { return f(r, in.at("x")); };
                 auto [result, collected] =
                     functional(root, &Root::act<decltype(run)>, s, with_key ? make_key(7) : Tensor(), training, run);
                 Nest out = flatten_collected(collected);
                 out.emplace("result", result);
                 return out;
               });
  Ran ran{got.at("result").to_doubles(), got};
  ran.collected.erase("result");
  return ran;
}

template <class F>
Error error_in(const F& f, bool with_key = true) {
  const auto error = error_of([&] { act(f, with_key); });
  EXPECT_TRUE(error) << "nothing thrown";
  return error.value_or(Error(ErrorCode::internal, ""));
}

// A call that isn't kept doesn't open a way out for what is given in a loop.
TEST(Context, EvaluatingInALoopCollectsNothingThere) {
  const auto e = error_in([](const Root& r, const Tensor& x) {
    return scan(
               [&](const Tensor&, const Tensor& carry, const Tensor& row) {
                 const Tensor y = r.a.call_evaluating(&Leaf::output, "dropped", row);
                 summary("kept", y);
                 return std::pair(carry + y, y);
               },
               zeros({DType::f32, {}}), x)
        .first;
  });
  EXPECT_EQ(e.code(), ErrorCode::unsupported);
  EXPECT_THAT(e.what(), HasSubstr("'kept' was given inside a loop"));
}

TEST(Context, ChildrenReadTheirSliceOfTheState) {
  EXPECT_EQ(act([](const Root& r, const Tensor& x) { return r.a(x) + r.own(); }).value, (std::vector<double>{4, 7}));
}

TEST(Context, ParametersOfOthersCantBeRead) {
  const Error error = error_in([](const Root& r, const Tensor& x) { return x * r.leaf().weight(); });
  EXPECT_EQ(error.code(), ErrorCode::wrong_context);
  EXPECT_EQ(error.path(), "");
  EXPECT_THAT(error.message(), HasSubstr("'weight'"));
  EXPECT_EQ(error_in([](const Root& r, const Tensor&) { return r.leaf().weight().full(); }).code(),
            ErrorCode::wrong_context);
  EXPECT_EQ(error_in([](const Root& r, const Tensor&) { return Tensor(r.leaf().count()); }).code(),
            ErrorCode::wrong_context);
  EXPECT_EQ(error_in([](const Root& r, const Tensor& x) {
              r.leaf().count().update(x);
              return x;
            }).code(),
            ErrorCode::wrong_context);
}

TEST(Context, ArgumentsAreEvaluatedInTheCallersContext) {
  EXPECT_EQ(act([](const Root& r, const Tensor&) { return r.a(r.own()); }).value, (std::vector<double>{3, 3}));
  // A thunk runs inside the child and so can't read the parent's.
  const Error error = error_in([](const Root& r, const Tensor& x) {
    const auto inside = [&](const Leaf&) { return x * r.own(); };
    return r.a.call(inside);
  });
  EXPECT_EQ(error.code(), ErrorCode::wrong_context);
  EXPECT_EQ(error.path(), "a");
}

TEST(Context, ChildrenAreCalledByTheirParentOnly) {
  const Error error = error_in([](const Root& r, const Tensor& x) {
    const auto inside = [&](const Leaf&) { return r.b(x); };
    return r.a.call(inside);
  });
  EXPECT_EQ(error.code(), ErrorCode::wrong_context);
  EXPECT_EQ(error.path(), "a");
  EXPECT_THAT(error.message(), HasSubstr("child 'b'"));
}

TEST(Context, NothingRunsOutsideACall) {
  const Root root{Root::Config{}};
  for (const auto& use :
       {std::function<void()>([&] { root.a(Tensor()); }), std::function<void()>([&] { (void)Tensor(root.own()); }),
        std::function<void()>([] { rng("x"); }), std::function<void()>([] { is_training(); })}) {
    const auto error = error_of([&] {
      make_graph({}, [&](const auto&) {
        use();
        return std::vector<Tensor>{};
      });
    });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code(), ErrorCode::wrong_context);
    EXPECT_THAT(error->hint(), HasSubstr("functional"));
  }
}

TEST(Context, ErrorsLeaveTheContextOfTheCaller) {
  act([](const Root& r, const Tensor& x) {
    EXPECT_TRUE(error_of([&] { r.a.call(&Leaf::output, "bad", Tensor()); }));
    EXPECT_EQ(Context::current().path(), "");
    return r.a(x);
  });
}

// What runs elsewhere for a part of a call is back where it was afterwards, also when that part fails.
TEST(Context, WhatWasSwappedComesBackAfterAnError) {
  const auto ran = [](bool fails) {
    return act([&](const Root& r, const Tensor& x) {
      Context& here = Context::current();
      if (fails) {
        const auto error = error_of([&] {
          const RestoreContext restore(here);
          const Nest nothing;
          Collected dropped;
          here.set_training(false);
          here.set_state(&nothing);
          here.set_collected(&dropped);
          here.push_piece(full({DType::i32, {}}, 3));
          summary("dropped", x);
          r.a(x);
        });
        EXPECT_EQ(error->code(), ErrorCode::missing_field);
      }
      EXPECT_TRUE(is_training());
      summary("kept", r.own());
      return r.a(x) + random_uniform(rng("noise"), {2}, DType::f32);
    });
  };
  const Ran got = ran(true), want = ran(false);
  EXPECT_EQ(got.value, want.value);
  EXPECT_EQ(got.collected, want.collected);
  EXPECT_EQ(want.collected.size(), 1U);
}

TEST(Context, DrawsDependOnPathAndNameOnly) {
  const auto draw = [](const auto& f) { return act(f).value; };
  const auto of_a = draw([](const Root& r, const Tensor&) { return r.a.call(&Leaf::draw, "one"); });
  EXPECT_EQ(of_a, draw([](const Root& r, const Tensor&) {
              r.b.call(&Leaf::draw, "one");
              return r.a.call(&Leaf::draw, "one");
            }));
  EXPECT_NE(of_a, draw([](const Root& r, const Tensor&) { return r.a.call(&Leaf::draw, "two"); }));
  EXPECT_NE(of_a, draw([](const Root& r, const Tensor&) { return r.b.call(&Leaf::draw, "one"); }));
  EXPECT_NE(of_a, draw([](const Root& r, const Tensor&) {
              r.a.call(&Leaf::draw, "one");
              return r.a.call(&Leaf::draw, "one");  // a second call draws anew
            }));
}

// Also in loops inside one another.
TEST(Context, PiecesDrawTheirOwn) {
  const auto draw = [](const std::vector<double>& pieces) {
    return act([&](const Root& r, const Tensor&) {
             Context& here = Context::current();
             const RestoreContext restore(here);
             for (double number : pieces) here.push_piece(full({DType::i32, {}}, number));
             return r.a.call(&Leaf::draw, "one");
           })
        .value;
  };
  EXPECT_NE(draw({0}), draw({}));
  EXPECT_NE(draw({0}), draw({1}));
  EXPECT_NE(draw({0, 1}), draw({1, 0}));
  EXPECT_NE(draw({0, 1}), draw({1}));
}

TEST(Context, APieceOfTheCallersInputCollectsOnItsOwn) {
  act([](const Root& r, const Tensor& x) {
    Context& here = Context::current();
    Collected mine;
    {
      const PieceScope piece(here, full({DType::i32, {}}, 0), mine);
      r.a.call(&Leaf::output, "inside", x);
    }
    r.b.call(&Leaf::output, "outside", x);
    EXPECT_TRUE(mine.summaries.contains("a.inside"));
    EXPECT_EQ(mine.summaries.size(), 1U);
    EXPECT_TRUE(here.collected().summaries.contains("b.outside"));
    EXPECT_EQ(here.collected().summaries.size(), 1U);
    return x;
  });
}

TEST(Context, ADrawIsMadeOnce) {
  const Error error = error_in([](const Root&, const Tensor&) { return rng("mask") + rng("mask"); });
  EXPECT_EQ(error.code(), ErrorCode::wrong_context);
  EXPECT_THAT(error.message(), HasSubstr("'mask'"));
}

TEST(Context, DrawsNeedAKey) {
  const auto draw = [](const Root& r, const Tensor&) { return r.a.call(&Leaf::draw, "one"); };
  const Error error = error_in(draw, false);
  EXPECT_EQ(error.code(), ErrorCode::wrong_context);
  EXPECT_THAT(error.message(), HasSubstr("no key"));
}

TEST(Context, IsTraining) {
  for (const bool training : {true, false}) {
    act(
        [&](const Root&, const Tensor& x) {
          EXPECT_EQ(is_training(), training);
          return x;
        },
        true, training);
  }
}

TEST(Context, OutputsCarryTheirPath) {
  const Ran ran = act([](const Root& r, const Tensor& x) {
    summary("top", x * 2.0);
    aux("loss", sum_all(x), Merge::sum);
    return r.b.call(&Leaf::output, "norm", x);
  });
  ASSERT_EQ(ran.collected.size(), 3u);
  EXPECT_EQ(ran.collected.at("summaries.top").to_doubles(), (std::vector<double>{2, 4}));
  EXPECT_EQ(ran.collected.at("aux.loss").as_double(0), 3);
  EXPECT_EQ(ran.collected.at("summaries.b.norm").to_doubles(), (std::vector<double>{1, 2}));
}

TEST(Context, AnOutputIsGivenOnce) {
  const Error error = error_in([](const Root& r, const Tensor& x) {
    r.a.call(&Leaf::output, "norm", x);
    return r.a.call(&Leaf::output, "norm", x);
  });
  EXPECT_EQ(error.code(), ErrorCode::wrong_context);
  EXPECT_EQ(error.path(), "a");
  EXPECT_THAT(error.message(), HasSubstr("'norm'"));
}

TEST(Context, WeightsGoWithWeightedMeans) {
  const auto give = [](Merge merge, bool weight, const Dims& shape) {
    return error_in([=](const Root&, const Tensor& x) {
      summary("s", x, merge, weight ? zeros({DType::f32, shape}) : Tensor());
      return x;
    });
  };
  EXPECT_EQ(give(Merge::mean, true, {2}).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(give(Merge::weighted_mean, false, {}).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(give(Merge::weighted_mean, true, {}).code(), ErrorCode::shape_mismatch);
}

TEST(Context, OutputsOfALoopAreRefused) {
  const Error error = error_in([](const Root& r, const Tensor& x) {
    return scan(
               [&](const Tensor&, const Tensor& h, const std::vector<Tensor>&) {
                 return std::pair(r.a.call(&Leaf::output, "norm", h), std::vector<Tensor>{});
               },
               x, std::vector<Tensor>{}, 3)
        .first;
  });
  EXPECT_EQ(error.code(), ErrorCode::unsupported);
  EXPECT_EQ(error.path(), "a");
}

// A summary is for people: it takes part in no gradient, and may be made with ops that have none.
TEST(Context, SummariesHaveNoGradient) {
  const Root root{Root::Config{}};
  const Values got =
      evaluate({{"x", Literal::from(DType::f32, {2}, std::vector<double>{2, 1})}}, {}, [&](const Nest& s, const Nest&) {
        const auto both = value_and_grad(
            [&](const Nest& p) {
              const auto run = [&](const Root&) {
                summary("product", reduce_prod(p.at("x"), {0}));
                return sum_all(p.at("x") * p.at("x"));
              };
              auto [y, collected] = functional(root, &Root::act<decltype(run)>, p, Tensor(), true, run);
              return std::pair(y, flatten_collected(collected));
            },
            s);
        return Nest{{"grad", both.grads.at("x")}, {"product", both.aux.at("summaries.product")}};
      });
  EXPECT_EQ(got.at("grad").to_doubles(), (std::vector<double>{4, 2}));
  EXPECT_EQ(got.at("product").to_doubles(), (std::vector<double>{2}));
}

TEST(Context, StateUpdates) {
  const Ran ran = act([](const Root& r, const Tensor& x) { return r.a.call(&Leaf::add_count, sum_all(x)); });
  EXPECT_EQ(ran.collected.at("updates.a.count").as_double(0), 3);
  Error error = error_in([](const Root& r, const Tensor& x) { return r.a.call(&Leaf::add_count, x); });
  EXPECT_EQ(error.code(), ErrorCode::shape_mismatch);
  EXPECT_EQ(error.path(), "a.count");
  error = error_in([](const Root& r, const Tensor& x) {
    r.a.call(&Leaf::add_count, sum_all(x));
    return r.a.call(&Leaf::add_count, sum_all(x));
  });
  EXPECT_EQ(error.code(), ErrorCode::wrong_context);
  EXPECT_EQ(error.path(), "a.count");
}

TEST(Context, SharedModulesReadTheirOwnState) {
  EXPECT_EQ(act([](const Root& r, const Tensor& x) { return r.borrower(x); }).value, (std::vector<double>{3, 6}));
}

TEST(Context, SharingErrors) {
  Error error = error_in([](const Root& r, const Tensor& x) { return r.borrower.call(&Borrower::unknown, x); });
  EXPECT_EQ(error.code(), ErrorCode::wrong_context);
  EXPECT_EQ(error.path(), "borrower");
  EXPECT_THAT(error.message(), HasSubstr("'gone'"));
  error = error_in([](const Root& r, const Tensor& x) { return r.borrower.call(&Borrower::wrong, x); });
  EXPECT_EQ(error.code(), ErrorCode::wrong_type);
  EXPECT_THAT(error.message(), HasSubstr("'lent'"));
}

TEST(Context, OpsCarryModulePaths) {
  const Root root{Root::Config{}};
  const Error error = error_in([](const Root& r, const Tensor& x) { return r.b(concatenate(std::vector{x, x}, 0)); });
  EXPECT_EQ(error.code(), ErrorCode::shape_mismatch);
  EXPECT_EQ(error.path(), "b");
  EXPECT_THAT(std::string(error.what()), HasSubstr("4"));
}

// Two parts of one name.
class Twins : public Module {
 public:
  struct Config : Module::Config {
    TENON_CONFIG()
  };
  explicit Twins(const Config& c) : Module(c), one_(this, "x", {1}), two_(this, "x", Leaf::Config{}) {}

 private:
  Param one_;
  Child<Leaf> two_;
};
TENON_MODULE(Twins, Module, "for tests")

TEST(Module, PartsHaveNamesOfTheirOwn) {
  const auto error = error_of([] { Twins twins{Twins::Config{}}; });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::invalid_argument);
  EXPECT_THAT(error->message(), HasSubstr("'x'"));
}

}  // namespace
}  // namespace tenon
