// Clipping and AdamW against PyTorch: parameters and moments after each step (tests/fixtures/make_adamw_fixture.py).
#include <gtest/gtest.h>

#include <cmath>

#include "fixture.h"
#include "tenon/ir/ops.h"
#include "tenon/optim/adamw.h"
#include "tenon/optim/learner.h"

namespace tenon {
namespace {

constexpr int kAdamWSteps = 8;

Values in_f32(Values values) {
  for (auto& [name, value] : values) value = Literal::from(DType::f32, value.dims(), value.to_doubles());
  return values;
}

std::vector<ParamInfo> params_of(const Values& values) {
  std::vector<ParamInfo> out;
  for (const auto& [name, value] : values) {
    ParamInfo param;
    param.path = name;
    param.shape = value.dims();
    if (name == "bias" || name == "single") param.decay_scale = 0;
    out.push_back(param);
  }
  return out;
}

// Entries of `values` whose names begin with `prefix`, without it.
template <class Map>
Map under(const std::string& prefix, const Map& values) {
  Map out;
  for (const auto& [name, value] : values) {
    if (name.starts_with(prefix)) out.emplace(name.substr(prefix.size()), value);
  }
  return out;
}

template <class Map>
void put_under(const std::string& prefix, const Map& values, Map& out) {
  for (const auto& [name, value] : values) out.emplace(prefix + name, value);
}

// Runs a learner in the interpreter on a case of the fixture, held against PyTorch after each step.
class Replay {
 public:
  Replay(const std::string& name, const Learner::Config& config)
      : case_(name + "/"), learner_(config), params_(params_of(fixture_.all(case_ + "start/"))) {
    const Values start = in_f32(fixture_.all(case_ + "start/"));
    put_under("value.", start, state_);
    put_under("state.", evaluate(start, {}, [&](const Nest& s, const Nest&) { return learner_.init(params_, s); }),
              state_);
  }

  void step(int step) {
    const std::string at = case_ + std::to_string(step) + "/";
    Values inputs{{"loss", Literal::scalar(DType::f32, 1)}, {"step", Literal::scalar_int(DType::i32, step)}};
    put_under("grad.", in_f32(fixture_.all(at + "grad/")), inputs);
    for (const auto& [name, value] : learner_.scalars(step)) {
      const double given = name == "learning_rate" ? fixture_[at + name].as_double(0) : value;
      inputs.emplace("scalar." + name, Literal::scalar(DType::f32, given));
    }
    state_ = evaluate(state_, inputs, [&](const Nest& s, const Nest& in) { return update(s, in); });
    const double norm = state_.at("norm").as_double(0);
    EXPECT_NEAR(norm / fixture_[at + "norm"].as_double(0), 1, 1e-6) << at;
    state_.erase("norm");
    compare("value.", at + "value/");
    compare("state.m.", at + "m/");
    compare("state.v.", at + "v/");
  }

 private:
  Nest update(const Nest& s, const Nest& in) const {
    const Learner::Update u = learner_.update(params_, under("value.", s), under("grad.", in), under("state.", s),
                                              in.at("loss"), in.at("step"), under("scalar.", in));
    Nest out{{"norm", u.grad_norm}};
    put_under("value.", u.values, out);
    put_under("state.", u.state, out);
    return out;
  }

  void compare(const std::string& ours, const std::string& theirs) const {
    const Values got = under(ours, state_), want = fixture_.all(theirs);
    ASSERT_EQ(got.size(), 5U) << ours;
    for (const auto& [name, value] : want) EXPECT_EQ(difference(got.at(name), value, 1e-6), "") << theirs << name;
  }

  Fixture fixture_{"adamw"};
  std::string case_;
  Learner learner_;
  std::vector<ParamInfo> params_;
  Values state_;  // "value.<path>" and "state.<path>"
};

TEST(AdamWFixture, ClippedByGlobalNorm) {
  Learner::Config config;
  config.clip_global_norm = 1;
  config.optimizer.as<AdamW>() = AdamW::Config();
  Replay replay("clipped", config);
  for (int step = 0; step < kAdamWSteps; ++step) replay.step(step);
}

TEST(AdamWFixture, OtherNumbersUnclipped) {
  Learner::Config config;
  config.clip_global_norm = 1e9;
  AdamW::Config& adamw = config.optimizer.as<AdamW>();
  adamw.b1 = 0.8;
  adamw.b2 = 0.99;
  adamw.eps = 1e-3;
  adamw.weight_decay = 0.01;
  Replay replay("mild", config);
  for (int step = 0; step < kAdamWSteps; ++step) replay.step(step);
}

}  // namespace
}  // namespace tenon
