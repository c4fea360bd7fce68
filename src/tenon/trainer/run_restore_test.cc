#include <gmock/gmock.h>

#include <cmath>

#include "tenon/base/file.h"
#include "tenon/checkpoint/checkpoint_writer.h"
#include "tenon/optim/adamw.h"
#include "tenon/optim/clip.h"
#include "tenon/optim/frozen.h"
#include "tenon/optim/learner.h"
#include "tenon/optim/lion.h"
#include "tenon/optim/muon.h"
#include "tenon/optim/optimizer_by_path.h"
#include "tenon/optim/sgd.h"
#include "tenon/trainer/run_history.h"
#include "tenon/trainer/test_run.h"

namespace tenon {
namespace {

using testing::HasSubstr;
using testing::Not;

class RestoreTest : public RunTest {
 protected:
  OpenedCheckpoint saved(const std::string& name, int64_t step) const {
    return OpenedCheckpoint::open(path(name + "/" + step_dir_name(step))).value();
  }
  static void other_optimizer(Trainer::Config& c) {
    OptimizerByPath::Config by_path;
    OptimizerRule::Config rule;
    rule.path = "embedding";
    rule.optimizer = Frozen::Config{};
    by_path.rules.emplace_back(rule);
    by_path.otherwise = AdamW::Config{};
    c.learner->optimizer = by_path;
  }
};

TEST_F(RestoreTest, AnotherOptimizerGoesOnWithWhatFits) {
  new_optimizer_ = true;
  EXPECT_EQ(failure("run", config(5)).code(), ErrorCode::not_found);
  new_optimizer_ = false;
  run("run", config(5));
  Trainer::Config c = config(6);
  other_optimizer(c);
  const Error e = failure("run", c);
  EXPECT_EQ(e.code(), ErrorCode::incompatible);
  EXPECT_THAT(e.what(), HasSubstr("of another learner; learner.m (1 of 10: embedding), learner.v (1 of 10: "
                                  "embedding) would be lost, nothing new"));
  EXPECT_THAT(e.hint(), HasSubstr("--new_optimizer"));
  new_optimizer_ = true;
  run("run", c);
  EXPECT_THAT(output_, HasSubstr("lost from the checkpoint: learner.m (1 of 10: embedding), "));
  EXPECT_THAT(output_, HasSubstr("starts anew: nothing"));
  // What the new optimizer leaves alone is as it was saved; what it trains went on from there.
  const OpenedCheckpoint before = saved("run", 5), after = saved("run", 6);
  EXPECT_EQ(after.read("embedding").value(), before.read("embedding").value());
  const Literal was = before.read("out").value(), is = after.read("out").value();
  EXPECT_NE(is, was);
  for (int64_t i = 0; i < is.size(); i += 97) EXPECT_NEAR(is.as_double(i), was.as_double(i), 0.05);
  // The model must still be the same.
  c.model.as<TinyModel>().dim = 16;
  EXPECT_THAT(failure("run", c).what(), HasSubstr("another architecture"));
}

// At a rate of zero the parameters stay, so their means must be they.
TEST_F(RestoreTest, MeansBeginWithTheRestoredModel) {
  run("base", config(5));
  const OpenedCheckpoint base = saved("base", 5);
  Trainer::Config c = config(1);
  c.seed = 9;
  c.learner->learning_rate = 0.0;
  c.learner->ema = Ema{};
  c.init_from.checkpoint = path("base");
  run("tuned", c);
  EXPECT_EQ(saved("tuned", 1).read("learner.ema.layers.3.w").value(), base.read("layers.3.w").value());
  c = config(6);
  c.learner->learning_rate = 0.0;
  c.learner->ema = Ema{};
  new_optimizer_ = true;
  run("base", c);
  EXPECT_EQ(saved("base", 6).read("learner.ema.out").value(), base.read("out").value());
  EXPECT_EQ(saved("base", 6).read("learner.ema_updates").value().as_double(0), 1);
}

// A run that adds what needs no part of the optimizer's state takes the steps it would have taken.
TEST_F(RestoreTest, MeansAndSpikesAreAddedToARunThatGoesOn) {
  run("plain", config(10));
  run("run", config(5));
  Trainer::Config c = config(10);
  c.learner->ema = Ema{};
  c.learner->skip_spikes = NormSpikes{};
  c.learner->clip_global_norm = 1e9;
  new_optimizer_ = true;
  dry_run_ = true;
  run("run", c);
  EXPECT_THAT(output_, HasSubstr("of the learner goes on: learner.m (all 10), learner.skipped, "
                                 "learner.skipped_in_a_row, learner.v (all 10)\nlost from the checkpoint: nothing\n"
                                 "starts anew: learner.ema (all 10), learner.ema_updates, learner.norm_count, "
                                 "learner.norm_mean, learner.norm_variance\n"));
  dry_run_ = false;
  c.learner->clip_global_norm = config(1).learner->clip_global_norm;
  run("run", c);
  EXPECT_EQ(losses(path("run")), losses(path("plain")));
  const OpenedCheckpoint plain = saved("plain", 10), run = saved("run", 10);
  for (const std::string& name : plain.names()) EXPECT_EQ(run.read(name).value(), plain.read(name).value()) << name;
  // And with what it keeps by now it goes on as it is; what is taken away again is said to be lost.
  new_optimizer_ = false;
  c.max_steps = 11;
  this->run("run", c);
  EXPECT_THAT(output_, Not(HasSubstr("starts anew")));
  EXPECT_THAT(failure("run", config(12)).what(), HasSubstr("learner.ema (all 10), learner.ema_updates, "));
}

// Lion's momentum has the name of Adam's, Muon's that of plain descent: they mean something else.
TEST_F(RestoreTest, ArraysOfAnotherRuleDontGoOn) {
  run("adam", config(5));
  Trainer::Config c = config(6);
  c.learner->optimizer = Lion::Config{};
  EXPECT_THAT(failure("adam", c).what(), HasSubstr("learner.m (all 10), learner.v (all 10) would be lost, "
                                                   "learner.m (all 10) new"));
  c.learner->clip_global_norm = 1e9;
  c.summarize.layer_norms = true;
  new_optimizer_ = true;
  run("adam", c);
  EXPECT_THAT(output_, HasSubstr("of the learner goes on: learner.skipped, learner.skipped_in_a_row\n"));
  // Of one gradient: nothing of Adam's is in it. Updates are counted from the restart.
  const OpenedCheckpoint lion = saved("adam", 6);
  const auto norm = [](const Literal& x) {
    double squares = 0;
    for (const double v : x.to_doubles()) squares += v * v;
    return std::sqrt(squares);
  };
  EXPECT_EQ(lion.read("learner.skipped").value().as_double(0), 5);
  const double gradient = read_metric(path("adam"), "train/grad_norm/out").value().back().second;
  EXPECT_NEAR(norm(lion.read("learner.m.out").value()), (1 - Lion::Config().b2) * gradient, 1e-5 * gradient);
}

TEST_F(RestoreTest, OneNameOfAnotherRuleIsSeen) {
  Trainer::Config c = config(5);
  c.learner->optimizer = Sgd::Config{};
  run("run", c);
  c.max_steps = 6;
  OptimizerByPath::Config by_path;
  OptimizerRule::Config rule;
  rule.path = "^layers\\.1\\.w";
  rule.optimizer = Muon::Config{};
  by_path.rules.emplace_back(rule);
  ClipByValue::Config clipped;
  clipped.optimizer = Sgd::Config{};
  by_path.otherwise = clipped;
  c.learner->optimizer = by_path;
  c.model.as<TinyModel>().form = StackForm::unroll;
  const char* muons = "learner.momentum (1 of 10: layers.1.w)";
  EXPECT_THAT(failure("run", c).what(), HasSubstr(std::string(muons) + " would be lost, " + muons + " new"));
  new_optimizer_ = true;
  run("run", c);
  EXPECT_EQ(saved("run", 6).read("learner.skipped").value().as_double(0), 0);  // most of the optimizer goes on
}

// Without a config that tells the rules, names are enough to go on, but not to choose by.
TEST_F(RestoreTest, ACheckpointOfAnUnknownConfig) {
  run("run", config(5));
  const OpenedCheckpoint good = saved("run", 5);
  SaveRequest request;
  request.step = 6;
  for (const std::string& name : good.names()) request.tensors.emplace_back(name, good.read(name).value());
  request.files["config.toml"] = "type = \"Gone\"\n";
  CheckpointWriter writer = CheckpointWriter::open(path("run")).value();
  writer.save(request).value();
  dry_run_ = true;
  run("run", config(7));
  EXPECT_THAT(output_, HasSubstr("warning: the checkpoint's config can't be compared: unknown_name"));
  EXPECT_THAT(output_, Not(HasSubstr("starts anew")));
  new_optimizer_ = true;
  run("run", config(7));
  EXPECT_THAT(output_, HasSubstr("starts anew: learner.m (all 10), learner.v (all 10)\n"));
}

TEST_F(RestoreTest, ANewRunTakesWhatItIsTold) {
  run("base", config(5));
  const OpenedCheckpoint base = saved("base", 5);
  Trainer::Config c = config(1);
  c.seed = 9;
  c.learner->learning_rate = 0.0;
  other_optimizer(c);
  c.init_from.checkpoint = path("base");
  run("whole", c);
  EXPECT_THAT(output_, HasSubstr("from " + base.path()));
  for (const char* name : {"embedding", "layers.3.w", "out"}) {
    EXPECT_EQ(saved("whole", 1).read(name).value(), base.read(name).value()) << name;
  }
  // From a checkpoint of its own, a run doesn't look there again.
  c.init_from.checkpoint = path("none");
  run("whole", c);

  c.init_from.checkpoint = path("base");
  c.init_from.tensors = "layers\\..*";
  run("part", c);
  EXPECT_EQ(saved("part", 1).read("layers.2.b").value(), base.read("layers.2.b").value());
  EXPECT_NE(saved("part", 1).read("out").value(), base.read("out").value());
}

TEST_F(RestoreTest, ExactAndContains) {
  run("base", config(1));
  Trainer::Config c = config(1);
  c.model.as<TinyModel>().repeats = 1;  // two layers of the four
  c.init_from.checkpoint = path("base");
  const Error e = failure("run", c);
  EXPECT_EQ(e.code(), ErrorCode::incompatible);
  EXPECT_THAT(e.what(), HasSubstr("unexpected: layers.2.b, layers.2.w, layers.3.b, layers.3.w"));
  EXPECT_THAT(e.hint(), HasSubstr("contains"));
  c.init_from.match = TreeCheck::contains;
  run("run", c);
  c.model.as<TinyModel>().repeats = 3;
  EXPECT_THAT(failure("missing", c).what(), HasSubstr("missing: layers.4.b"));
  c.model.as<TinyModel>().repeats = 2;
  c.init_from.tensors = "layers\\.0\\..*";
  EXPECT_EQ(failure("torn", c).code(), ErrorCode::unsupported);
  c.model.as<TinyModel>().form = StackForm::unroll;
  run("torn", c);
  c.init_from.tensors = "nothing";
  EXPECT_EQ(failure("none", c).code(), ErrorCode::invalid_argument);
  c.init_from.tensors = "(";
  EXPECT_THAT(failure("none", c).what(), HasSubstr("init_from.tensors"));
  c.init_from = {.checkpoint = path("nowhere")};
  EXPECT_EQ(failure("none", c).code(), ErrorCode::not_found);
  EXPECT_THAT(output_, Not(HasSubstr("train step: ")));  // before anything is compiled
  dry_run_ = true;
  EXPECT_EQ(failure("none", c).code(), ErrorCode::not_found);
}

TEST_F(RestoreTest, ADryRunWritesNothing) {
  dry_run_ = true;
  run("run", config(5));
  EXPECT_FALSE(exists(path("run")));
  EXPECT_THAT(output_, HasSubstr("total"));
  EXPECT_THAT(output_, HasSubstr("memory on each device"));
  EXPECT_THAT(output_, HasSubstr("eval step: "));
  EXPECT_THAT(output_, HasSubstr("dry run: nothing was trained or written"));
  EXPECT_THAT(output_, Not(HasSubstr("step 1/")));
  dry_run_ = false;
  run("run", config(5));
  const auto names = list_dir(path("run")).value();
  dry_run_ = true;
  run("run", config(9));
  EXPECT_THAT(output_, HasSubstr("(step 5)"));
  EXPECT_THAT(output_, HasSubstr("max_steps: 5 -> 9"));
  EXPECT_EQ(list_dir(path("run")).value(), names);
}

// Norms layer by layer, against the tensors of the checkpoint that the step began with.
TEST_F(RestoreTest, LayerNormsAndHistograms) {
  run("run", config(5));
  Trainer::Config c = config(6);
  c.summarize.layer_norms = true;
  c.summarize.histograms = true;
  run("run", c);
  const auto value = [&](const std::string& name) { return read_metric(path("run"), name).value().back().second; };
  for (const char* name : {"layers.0.w", "layers.3.w", "out", "embedding"}) {
    double squares = 0;
    for (const double x : saved("run", 5).read(name).value().to_doubles()) squares += x * x;
    EXPECT_NEAR(value("train/param_norm/" + std::string(name)), std::sqrt(squares), 1e-4 * std::sqrt(squares)) << name;
  }
  double squares = 0;
  for (const char* name : {"layers.0.w", "layers.1.w", "layers.2.w", "layers.3.w", "layers.0.b", "layers.1.b",
                           "layers.2.b", "layers.3.b", "out", "embedding"}) {
    squares += std::pow(value("train/grad_norm/" + std::string(name)), 2);
  }
  EXPECT_NEAR(std::sqrt(squares), value("train/grad_norm"), 1e-4 * value("train/grad_norm"));
  std::string events;
  for (const std::string& name : list_dir(path("run/tensorboard")).value()) {
    events += read_file(path("run/tensorboard/" + name)).value();
  }
  EXPECT_THAT(events, HasSubstr("parameters/layers.3.w"));
}

}  // namespace
}  // namespace tenon
