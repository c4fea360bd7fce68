#include "tenon/trainer/trainer.h"

#include <gmock/gmock.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "tenon/base/fault.h"
#include "tenon/base/file.h"
#include "tenon/base/lock_file.h"
#include "tenon/checkpoint/checkpoint.h"
#include "tenon/config/text.h"
#include "tenon/data/dataset.h"
#include "tenon/nn/testing/tiny_lm.h"
#include "tenon/optim/learner.h"
#include "tenon/trainer/test_run.h"

namespace tenon {
namespace {

using testing::HasSubstr;

TEST_F(RunTest, TrainsLogsEvaluatesAndSaves) {
  const TrainResult r = run("run", config(40));
  EXPECT_EQ(r.step, 40);
  EXPECT_LT(r.train_loss, 3);  // from ln 259 = 5.6
  EXPECT_LT(r.eval.at("loss"), 3);
  EXPECT_NEAR(r.eval.at("bits_per_byte"), r.eval.at("loss") * 1.4426950408889634, 1e-9);
  EXPECT_GT(r.rate, 0);
  EXPECT_THAT(output_, HasSubstr("layers.0::2.w"));
  EXPECT_THAT(output_, HasSubstr("memory on each device"));
  EXPECT_THAT(output_, HasSubstr("step 40/40  loss "));
  EXPECT_THAT(output_, HasSubstr("\n" + format_final(r) + "\n"));
  EXPECT_EQ(list_steps(path("run")).value(), (std::vector<int64_t>{30, 35, 40}));
  EXPECT_EQ(losses(path("run")).size(), 40U);
  EXPECT_EQ(*from_toml(read_file(path("run/config.toml")).value()), static_cast<const AnyConfig&>(config(40)));
  EXPECT_EQ(list_dir(path("run/tensorboard")).value().size(), 1U);

  const OpenedCheckpoint saved = OpenedCheckpoint::open(path("run/" + step_dir_name(40))).value();
  EXPECT_EQ(saved.type("layers.3.w").value(), (TensorType{DType::f32, {8, 8}}));
  EXPECT_EQ(saved.type("embedding").value(), (TensorType{DType::f32, {259, 8}}));
  EXPECT_EQ(saved.type("learner.v.layers.2.b").value(), (TensorType{DType::f32, {8}}));
  EXPECT_EQ(saved.read("seen").value().as_double(0), 40 * 8 * 16);
  EXPECT_THAT(saved.file("tokenizer.toml").value(), HasSubstr("BytesTokenizer"));
}

TEST_F(RunTest, TheModelMustKnowTheTokensOfTheData) {
  Trainer::Config c = config(1);
  CausalLm::Config model = tiny_lm(StackForm::scan);
  model.vocab_size = 100;
  c.model = model;
  const Error e = failure("run", c);
  EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
  EXPECT_EQ(e.path(), "model.vocab_size");
  EXPECT_THAT(e.what(), HasSubstr("got 100, expected at least 259"));
}

TEST_F(RunTest, ResumedRunIsTheUnbrokenOneToTheBit) {
  run("unbroken", config(20));
  run("broken", config(7));
  EXPECT_EQ(losses(path("broken")).size(), 7U);
  run("broken", config(20));
  EXPECT_THAT(output_, HasSubstr("resuming from " + path("broken/" + step_dir_name(7)) + " (step 7)"));
  EXPECT_THAT(output_, HasSubstr("config changed: max_steps: 7 -> 20"));
  EXPECT_EQ(losses(path("broken")), losses(path("unbroken")));
  const auto a = OpenedCheckpoint::open(path("unbroken/" + step_dir_name(20))).value();
  const auto b = OpenedCheckpoint::open(path("broken/" + step_dir_name(20))).value();
  ASSERT_EQ(a.names(), b.names());
  for (const std::string& name : a.names()) EXPECT_EQ(a.read(name).value(), b.read(name).value()) << name;
}

TEST_F(RunTest, AFinishedRunEvaluatesAgainAndKeepsItsLoss) {
  const TrainResult first = run("run", config(10)), again = run("run", config(10), 1, Resume::must);
  EXPECT_EQ(again.step, 10);
  EXPECT_EQ(again.train_loss, first.train_loss);
  EXPECT_EQ(again.eval, first.eval);
}

TEST_F(RunTest, EvaluatesAndSavesWhenDue) {
  Trainer::Config c = config(7);
  c.eval_every_n_steps = 3;
  c.save_every_n_steps = 2;
  c.keep.last_n = 10;
  run("run", c);
  for (const char* step : {"3", "6", "7"}) EXPECT_THAT(output_, HasSubstr("eval at step " + std::string(step) + ":"));
  EXPECT_THAT(output_, testing::Not(HasSubstr("eval at step 2:")));
  EXPECT_EQ(list_steps(path("run")).value(), (std::vector<int64_t>{2, 4, 6, 7}));
}

TEST_F(RunTest, FourDevicesResumeOnOneAndBack) {
  Trainer::Config four = config(5);
  four.mesh.fsdp = 2;
  four.mesh.model = 2;
  four.mesh.outer = OuterMesh{.model = 2};  // files know nothing of it
  run("run", four, 4);
  Trainer::Config one = config(10);
  run("run", one, 1);
  EXPECT_THAT(output_, HasSubstr("(step 5)"));
  four.max_steps = 15;
  four.mesh.outer.reset();
  run("run", four, 4);
  EXPECT_THAT(output_, HasSubstr("(step 10)"));
  run("plain", config(15), 1);
  const auto got = losses(path("run")), expected = losses(path("plain"));
  ASSERT_EQ(got.size(), 15U);
  for (const auto& [step, loss] : expected) {
    EXPECT_NEAR(std::stod(got.at(step)), std::stod(loss), 1e-5 * std::stod(loss)) << "step " << step;
  }
}

TEST_F(RunTest, AScannedStackResumesUnrolled) {
  run("run", config(5));
  Trainer::Config unrolled = config(10);
  unrolled.model.as<TinyModel>().form = StackForm::unroll;
  run("run", unrolled);
  run("plain", config(10));
  const auto got = losses(path("run")), expected = losses(path("plain"));
  for (const auto& [step, loss] : expected) EXPECT_NEAR(std::stod(got.at(step)), std::stod(loss), 1e-5) << step;
}

TEST_F(RunTest, ResumeSaysWhatItWants) {
  EXPECT_EQ(failure("none", config(5), Resume::must).code(), ErrorCode::not_found);
  EXPECT_FALSE(exists(path("none")));
  run("run", config(5));
  const Error refused = failure("run", config(10), Resume::never);
  EXPECT_EQ(refused.code(), ErrorCode::invalid_argument);
  EXPECT_THAT(refused.what(), HasSubstr(step_dir_name(5)));
  EXPECT_EQ(parse_resume("auto").value(), Resume::automatic);
  EXPECT_EQ(parse_resume("must").value(), Resume::must);
  EXPECT_EQ(parse_resume("sometimes").error().code(), ErrorCode::invalid_argument);
}

TEST_F(RunTest, OneRunInADirectory) {
  make_dirs(path("run")).value();
  const LockFile held = LockFile::acquire(path("run/LOCK")).value();
  EXPECT_EQ(failure("run", config(5)).code(), ErrorCode::io);
}

TEST_F(RunTest, AnotherArchitectureTellsWhatDiffers) {
  run("run", config(5));
  Trainer::Config wider = config(10);
  wider.model.as<TinyModel>().dim = 16;
  wider.model.as<TinyModel>().repeats = 1;
  const Error e = failure("run", wider);
  EXPECT_EQ(e.code(), ErrorCode::incompatible);
  EXPECT_THAT(e.what(), HasSubstr("unexpected: layers.2.b"));
  EXPECT_THAT(e.what(), HasSubstr("embedding (f32[259,8], expected f32[259,16])"));
  wider.model.as<TinyModel>().repeats = 3;
  EXPECT_THAT(failure("run", wider).what(), HasSubstr("missing: layers.4.b"));
}

TEST_F(RunTest, ADamagedCheckpointIsPassedOver) {
  run("run", config(10));
  const std::string shard = path("run/" + step_dir_name(10) + "/shard_00000.safetensors");
  std::string bytes = read_file(shard).value();
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  write_file_atomic(shard, bytes).value();
  run("run", config(12));
  EXPECT_THAT(output_, HasSubstr("warning: "));
  EXPECT_THAT(output_, HasSubstr(step_dir_name(10)));
  EXPECT_THAT(output_, HasSubstr("(step 5)"));
  run("plain", config(12));
  EXPECT_EQ(losses(path("run")), losses(path("plain")));
}

TEST_F(RunTest, StopsAfterTooManyNonFiniteSteps) {
  Trainer::Config c = config(40);
  c.model.as<TinyModel>().poison = 'a';
  c.learner->max_skipped_steps = 3;
  const Error e = failure("run", c);
  EXPECT_EQ(e.code(), ErrorCode::non_finite);
  EXPECT_THAT(e.what(), HasSubstr("step 3"));
  EXPECT_THAT(output_, HasSubstr("warning: step 1 was skipped"));
  EXPECT_EQ(losses(path("run")).at(2), "\"nan\"");
}

TEST_F(RunTest, AFailedSaveEndsTheRunAtOnce) {
  Trainer::Config c = config(100'000);
  c.log_every_n_steps = 1;
  c.save_every_n_steps = 60;
  int saves = 0;
  set_fault_handler([&](std::string_view at) {
    return at == "checkpoint.begin" && ++saves == 2 ? throw Error(ErrorCode::no_space, "full").at("here") : 0;
  });
  const Error error = failure("a", c);
  set_fault_handler({});
  EXPECT_EQ(error.code(), ErrorCode::no_space);
  EXPECT_EQ(error.path(), "here");
  // Not only by the next save; and the one before is there.
  EXPECT_EQ(saves, 2);
  EXPECT_LT(losses(path("a")).rbegin()->first, 180);
  EXPECT_EQ(list_steps(path("a")).value(), std::vector<int64_t>{60});
}

TEST_F(RunTest, ABatchThatDoesNotDivideOverTheMesh) {
  Trainer::Config c = config(5);
  c.data->batch_size = 6;
  try {
    run("run", c, 4);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::mesh_mismatch);
    EXPECT_THAT(e.what(), HasSubstr("data.batch_size"));
  }
  c = config(5);
  c.mesh.pipeline = 2;
  c.mesh.data = 1;
  EXPECT_EQ(failure("run", c).code(), ErrorCode::mesh_mismatch);
}

TEST_F(RunTest, ChecksItsSettings) {
  Trainer::Config c = config(5);
  c.keep.last_n = 0;
  c.mesh.fsdp = 0;
  c.optimizer_axes = {"data", "fsdp", "data"};
  const Error e = failure("run", c);
  EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
  EXPECT_THAT(e.what(), HasSubstr("keep.last_n"));
  EXPECT_THAT(e.what(), HasSubstr("mesh.fsdp"));
  EXPECT_THAT(e.what(), HasSubstr("optimizer_axes must name each axis once"));
}

TEST_F(RunTest, SigtermSavesAndLeaves) {
  const pid_t child = start_child(path("run"), "cpu", 1000000);
  while (losses(path("run")).size() < 3) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  ::kill(child, SIGTERM);
  EXPECT_EQ(wait_for(child), 130);
  EXPECT_THAT(read_file(path("run.log")).value(), HasSubstr("stopped by SIGTERM"));
  const OpenedCheckpoint saved = open_latest(path("run")).value();
  EXPECT_EQ(saved.step(), losses(path("run")).rbegin()->first);
}

// Kills at random moments, on devices by turns; every loss is that of the unbroken run.
TEST_F(RunTest, SlowKilledRunsResumeToTheBit) {
  constexpr int64_t kSteps = 200;
  ASSERT_EQ(wait_for(start_child(path("unbroken"), "cpu", kSteps)), 0);
  const auto expected = losses(path("unbroken"));
  uint32_t random = 7;
  int kills = 0;
  for (int attempt = 0; attempt < 100; ++attempt) {
    const pid_t child = start_child(path("run"), "cpu", kSteps);
    const size_t before = losses(path("run")).size();
    random = random * 1664525U + 1013904223U;
    const size_t target = before + 1 + (random >> 24) % 20;
    int status = 0;
    while (losses(path("run")).size() < target && ::waitpid(child, &status, WNOHANG) == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(100 + (random >> 20) % 2000));
    }
    if (status != 0 || ::kill(child, 0) != 0) break;
    ::kill(child, SIGKILL);
    if (wait_for(child) == 0) break;
    ++kills;
  }
  EXPECT_EQ(wait_for(start_child(path("run"), "cpu", kSteps)), 0);
  EXPECT_GE(kills, 5);
  EXPECT_EQ(losses(path("run")), expected);
  const auto a = OpenedCheckpoint::open(path("unbroken/" + step_dir_name(kSteps))).value();
  const auto b = OpenedCheckpoint::open(path("run/" + step_dir_name(kSteps))).value();
  for (const std::string& name : a.names()) EXPECT_EQ(a.read(name).value(), b.read(name).value()) << name;
}

}  // namespace
}  // namespace tenon
