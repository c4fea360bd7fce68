#include "tenon/trainer/step_hook.h"

#include <gmock/gmock.h>

#include <cmath>

#include "tenon/base/file.h"
#include "tenon/checkpoint/checkpoint.h"
#include "tenon/config/define.h"
#include "tenon/config/registry.h"
#include "tenon/trainer/evaluator.h"
#include "tenon/trainer/test_run.h"

namespace tenon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<std::string> kEvaluated = {"eval/loss", "eval/accuracy"};

std::string after(StepHook& hook, const Scalars& metrics) {
  HookRequests requests;
  hook.after_evaluation({.metrics = metrics, .evaluated = kEvaluated}, requests);
  return requests.stop;
}
void begin(StepHook& hook, const std::string& state, HookRequests& requests) {
  const Scalars none;
  hook.begin({.metrics = none, .evaluated = kEvaluated}, state, requests);
}

TEST(EarlyStopping, CountsEvaluationsThatAreNoBetter) {
  EarlyStopping::Config c;
  c.patience = 2;
  c.min_delta = 0.1;
  EarlyStopping hook(c);
  for (const double loss : {3.0, 2.0, 1.95, 1.8}) EXPECT_EQ(after(hook, {{"eval/loss", loss}}), "") << loss;
  EXPECT_EQ(after(hook, {{"eval/loss", NAN}}), "");
  EXPECT_EQ(after(hook, {{"other/loss", 9}}), "");  // not its turn
  EXPECT_THAT(after(hook, {{"eval/loss", 1.75}}), HasSubstr("best at 1.8000"));
}

TEST(EarlyStopping, HigherIsBetterAndItsStateSurvives) {
  EarlyStopping::Config c;
  c.metric = "eval/accuracy";
  c.higher_is_better = true;
  c.patience = 2;
  EarlyStopping first(c), second(c), third(c);
  after(first, {{"eval/accuracy", 0.5}});
  after(first, {{"eval/accuracy", 0.25}});
  EXPECT_EQ(first.state(), "0.5 1");
  HookRequests requests;
  begin(second, first.state(), requests);
  EXPECT_EQ(requests.stop, "");
  EXPECT_NE(after(second, {{"eval/accuracy", 0.5}}), "");
  begin(third, second.state(), requests);
  EXPECT_NE(requests.stop, "");
}

TEST(EarlyStopping, SaysWhichMetricsThereAre) {
  EarlyStopping::Config c;
  c.metric = "eval/lost";
  EarlyStopping hook(c);
  try {
    HookRequests requests;
    begin(hook, "", requests);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::unknown_name);
    EXPECT_EQ(e.path(), "metric");
    EXPECT_THAT(e.hint(), HasSubstr("did you mean eval/loss?"));
  }
  try {
    after(hook, {{"eval/loss", 1}});
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("(got eval/loss)"));
  }
}

// Says that it measures what it doesn't.
class Moody final : public Evaluator {
 public:
  struct Config : Evaluator::Config {
    TENON_CONFIG()
  };
  explicit Moody(const Config&) {}
  std::optional<Prepared> prepare(TrainSession&, const Dataset&) override { return Prepared{"", {"mood"}}; }
  std::optional<Scalars> evaluate(TrainSession&, const std::function<bool()>&) override {
    return Scalars{{"silence", 1}};
  }
};
TENON_MODULE(Moody, Evaluator, "for tests")

// A hook as a plug-in has it: keeps what it sees, and asks for what its config says.
class Recorder final : public StepHook {
 public:
  struct Config : StepHook::Config {
    int64_t save_at = 0, evaluate_at = 0, stop_at = 0;
    TENON_CONFIG(save_at, evaluate_at, stop_at)
  };
  explicit Recorder(const Config& config) : config_(config) {}
  void begin(const StepInfo& info, const std::string& state, HookRequests&) override {
    began = {info.step};
    steps.clear();
    evaluations.clear();
    if (!state.empty()) began.push_back(std::stoll(state));
  }
  void after_step(const StepInfo& info, HookRequests& requests) override {
    steps.push_back(info.step);
    EXPECT_GT(info.metrics.at("train/loss"), 0);
    EXPECT_GE(info.seconds, info.seconds_since_save);
    requests.save = requests.save || info.step == config_.save_at;
    requests.evaluate = requests.evaluate || info.step == config_.evaluate_at;
    if (info.step == config_.stop_at) requests.stop = "the recorder has heard enough";
  }
  void after_evaluation(const StepInfo& info, HookRequests&) override {
    evaluations.push_back(info.step);
    EXPECT_GT(info.metrics.at("eval/loss"), 0);
  }
  std::string state() const override { return std::to_string(steps.size()); }

  static inline std::vector<int64_t> began, steps, evaluations;

 private:
  Config config_;
};
TENON_MODULE(Recorder, StepHook, "for tests")

// Asks for a save from step 3 on, until one has begun: as SaveEverySeconds does.
class SavesWhenStale final : public StepHook {
 public:
  struct Config : StepHook::Config {
    TENON_CONFIG()
  };
  explicit SavesWhenStale(const Config&) {}
  void after_step(const StepInfo& info, HookRequests& requests) override {
    saved_ = saved_ || info.seconds_since_save < info.seconds;
    requests.save = requests.save || (info.step >= 3 && !saved_);
  }

 private:
  bool saved_ = false;
};
TENON_MODULE(SavesWhenStale, StepHook, "for tests")

class SpoiledState final : public StepHook {
 public:
  struct Config : StepHook::Config {
    TENON_CONFIG()
  };
  explicit SpoiledState(const Config&) {}
  std::string state() const override { return "\xff"; }
};
TENON_MODULE(SpoiledState, StepHook, "for tests")

class HookRunTest : public RunTest {
 protected:
  Trainer::Config with(int64_t steps, const Recorder::Config& recorder) const {
    Registry::global().add<Recorder>();
    Trainer::Config c = config(steps);
    c.save_every_n_steps = 0;
    c.hooks["recorder"] = recorder;
    return c;
  }
};

// The numbers of a step come while the next one runs: what is asked for behind step n happens at n + 1.
TEST_F(HookRunTest, SavesEvaluatesAndStopsWhenAsked) {
  Recorder::Config recorder;
  recorder.save_at = 3;
  recorder.evaluate_at = 5;
  recorder.stop_at = 8;
  const TrainResult r = run("run", with(40, recorder));
  EXPECT_EQ(r.step, 9);
  EXPECT_THAT(Recorder::steps, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_THAT(Recorder::evaluations, ElementsAre(6, 9));
  EXPECT_THAT(list_steps(path("run")).value(), ElementsAre(4, 9));
  EXPECT_THAT(output_, HasSubstr("stopped at step 9: the recorder has heard enough"));
  const auto metadata = open_latest(path("run")).value().metadata();
  EXPECT_EQ(metadata.at("hook.recorder"), "9");
  EXPECT_EQ(metadata.count("metric.eval/loss"), 1u);

  recorder.stop_at = 0;
  run("run", with(12, recorder));
  EXPECT_THAT(Recorder::began, ElementsAre(9, 9));
  EXPECT_THAT(Recorder::steps, ElementsAre(10, 11, 12));
}

// A hook that asks at every step until it is saved gets one save, not another at the step behind.
TEST_F(HookRunTest, SavesByTheClockAreNotDoubled) {
  Trainer::Config c = with(12, Recorder::Config{});
  c.keep.last_n = 100;
  Registry::global().add<SavesWhenStale>();
  c.hooks["stale"] = SavesWhenStale::Config{};
  run("run", c);
  EXPECT_THAT(list_steps(path("run")).value(), ElementsAre(4, 12));
}

TEST_F(HookRunTest, TheBestCheckpointIsKept) {
  Trainer::Config c = config(20);
  c.keep.last_n = 1;
  c.keep.best_n = 1;
  c.keep.best_metric = "eval/loss";
  c.keep.best = Best::highest;  // the first: losses fall
  run("run", c);
  EXPECT_THAT(list_steps(path("run")).value(), ElementsAre(5, 20));
  c.keep.best_metric = "evil/loss";
  EXPECT_EQ(failure("none", c).path(), "keep.best_metric");
  c.keep.best_metric = "eval/lost";
  const Error e = failure("none", c);
  EXPECT_THAT(e.hint(), HasSubstr("eval/loss"));
  EXPECT_THAT(e.what(), HasSubstr("expected one of eval/loss, eval/num_tokens, eval/perplexity, eval/bits_per_byte, "
                                  "eval/mean_label, "));
  EXPECT_THAT(list_steps(path("none")).value(), testing::IsEmpty());
  Registry::global().add<Moody>();
  c.evaluators["moody"] = Moody::Config{};
  c.keep.best_metric = "moody/mood";
  run("none", c);
  EXPECT_THAT(output_, HasSubstr("can't be the best (keep.best_metric): it has no \"moody/mood\""));
}

TEST_F(HookRunTest, ErrorsHaveTheHooksPath) {
  Trainer::Config c = config(5);
  EarlyStopping::Config stopping;
  stopping.metric = "eval/lost";
  c.hooks["early"] = stopping;
  EXPECT_EQ(failure("run", c).path(), "hooks.early.metric");
  EXPECT_THAT(list_steps(path("run")).value(), testing::IsEmpty());
  Registry::global().add<SpoiledState>();
  c.hooks = {};
  c.hooks["spoiled"] = SpoiledState::Config{};
  EXPECT_EQ(failure("spoiled", c).path(), "hooks.spoiled");
}

// A mistake that the last evaluation finds costs no training; and what was never logged has its loss all the same.
TEST_F(HookRunTest, AnErrorAtTheEndLosesNothing) {
  Trainer::Config c = with(5, Recorder::Config{});
  c.log_every_n_steps = 3;
  Registry::global().add<Moody>();
  c.evaluators["moody"] = Moody::Config{};
  EarlyStopping::Config stopping;
  stopping.metric = "moody/mood";
  c.hooks["early"] = stopping;
  EXPECT_EQ(failure("run", c).path(), "hooks.early.metric");
  EXPECT_THAT(list_steps(path("run")).value(), ElementsAre(5));
  Recorder::Config recorder;
  recorder.stop_at = 2;
  c = with(40, recorder);
  c.log_every_n_steps = 40;
  EXPECT_GT(run("short", c).train_loss, 0);
  EXPECT_GT(std::stod(open_latest(path("short")).value().metadata().at("metric.train/loss")), 0);
}

}  // namespace
}  // namespace tenon
