#include "tenon/trainer/run_log.h"

#include <gmock/gmock.h>

#include <cmath>
#include <csignal>
#include <limits>

#include "tenon/trainer/mesh_config.h"
#include "tenon/trainer/stop_signal.h"
#include "tenon/trainer/trainer.h"

namespace tenon {
namespace {

using testing::HasSubstr;

TEST(RunLog, Durations) {
  EXPECT_EQ(format_duration(0), "0:00");
  EXPECT_EQ(format_duration(65.4), "1:05");
  EXPECT_EQ(format_duration(7384), "2:03:04");
  EXPECT_EQ(format_duration(std::numeric_limits<double>::infinity()), "?");
  EXPECT_EQ(format_duration(-1), "?");
}

TEST(RunLog, ProgressLine) {
  EXPECT_EQ(format_progress({.step = 100,
                             .max_steps = 2000,
                             .loss = 2.34567,
                             .grad_norm = 0.9124,
                             .learning_rate = 3e-4,
                             .eta_s = 92,
                             .rate = 12300}),
            "step 100/2000  loss 2.3457  grad_norm 0.912  lr 3.00e-04  12.3k tokens/s  data wait 0.0%  ETA 1:32");
  EXPECT_THAT(format_progress({.mfu = 0.4117, .data_wait = 0.021, .resident_bytes = 3 << 20}),
              HasSubstr("tokens/s  MFU 41.2%  data wait 2.1%  RSS 3.0 MiB  ETA"));
}

TEST(RunLog, FinalLine) {
  EXPECT_EQ(format_final({.step = 7, .train_loss = 1.5, .rate = 12.34567}),
            "final: step=7 train_loss=1.5000 eval_loss=none bits_per_byte=none tokens_per_s=12.3457");
  EXPECT_EQ(format_final({.step = 7, .train_loss = NAN, .eval = {{"loss", 1}, {"bits_per_byte", 1.44269}}, .rate = 2}),
            "final: step=7 train_loss=nan eval_loss=1.0000 bits_per_byte=1.4427 tokens_per_s=2.0000");
  EXPECT_EQ(format_final({.step = 7,
                          .train_loss = 1,
                          .eval = {{"loss", 1}, {"loss.accuracy", 0.98}},
                          .headline = "loss.accuracy",
                          .unit = "examples",
                          .rate = 2}),
            "final: step=7 train_loss=1.0000 eval_loss=1.0000 accuracy=0.9800 examples_per_s=2.0000");
}

TEST(RunLog, ParameterTable) {
  ParamInfo w, count;
  w.path = "layers.0::1.w";
  w.shape = {3, 5};
  w.stack = 100;
  w.partition = {{}, "fsdp", "model"};
  count.path = "count";
  count.trainable = false;
  const std::string table = format_parameters({w, count});
  EXPECT_THAT(table, HasSubstr("layers.0::1.w  [100,3,5]"));
  EXPECT_THAT(table, HasSubstr("-,fsdp,model"));
  EXPECT_THAT(table, HasSubstr("1500 (1.5k)"));
  EXPECT_THAT(table, testing::Not(HasSubstr("\ncount ")));
}

TEST(MeshConfig, ResolvesTheFreeAxis) {
  MeshConfig c;
  EXPECT_EQ(c.resolve(4), (Mesh{{"data", 4}}));
  c.fsdp = 2;
  c.model = 2;
  EXPECT_EQ(c.resolve(4), (Mesh{{"fsdp", 2}, {"model", 2}}));
  EXPECT_THROW(c.resolve(6), Error);
  const MeshConfig fixed{.pipeline = 2, .data = 1, .seq = 2};
  EXPECT_EQ(fixed.resolve(4), (Mesh{{"pipeline", 2}, {"seq", 2}}));
}

TEST(MeshConfig, HasAnOuterPart) {
  MeshConfig c{.fsdp = 4, .outer = OuterMesh{.data = 2, .fsdp = 2}};
  const Mesh mesh{{"data", 2}, {"fsdp", 4}, {"outer.data", 2}, {"outer.fsdp", 2}};
  EXPECT_EQ(c.resolve(8), mesh);
  EXPECT_EQ(MeshConfig::of(mesh).resolve(8), mesh);
  EXPECT_FALSE(MeshConfig::of(Mesh{{"fsdp", 4}}).outer.has_value());
  EXPECT_THROW(c.resolve(12), Error) << "data is 3, which 2 doesn't divide";
}

TEST(StopSignal, NotesTheFirstAndPutsBackTheOldHandler) {
  static volatile std::sig_atomic_t seen = 0;
  const auto before = std::signal(SIGTERM, [](int) { seen = 1; });
  {
    const StopSignal stop;
    EXPECT_FALSE(stop.requested());
    std::raise(SIGTERM);
    EXPECT_TRUE(stop.requested());
    EXPECT_STREQ(stop.name(), "SIGTERM");
    EXPECT_EQ(seen, 0);
  }
  std::raise(SIGTERM);
  EXPECT_EQ(seen, 1);
  std::signal(SIGTERM, before);
}

TEST(StopSignal, TheSecondEndsTheProcess) {
  EXPECT_EXIT(
      {
        const StopSignal stop;
        std::raise(SIGTERM);
        std::raise(SIGINT);
      },
      testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace tenon
