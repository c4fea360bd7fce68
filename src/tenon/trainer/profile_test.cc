#include "tenon/trainer/profile.h"

#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tenon/base/file.h"
#include "tenon/trainer/test_run.h"

namespace tenon {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::IsSupersetOf;

TEST(StepRange, Syntax) {
  EXPECT_EQ(parse_step_range("10:13").value(), (StepRange{10, 13}));
  EXPECT_EQ(parse_step_range("1:1").value(), (StepRange{1, 1}));
  for (const char* wrong :
       {"", ":", "10", "10:", ":13", "13:10", "0:3", "-1:3", "1:2:3", "1-2", "1: 2", "a:b", "1:99999999999999999999"}) {
    const Result<StepRange> got = parse_step_range(wrong);
    ASSERT_FALSE(got.ok()) << wrong;
    EXPECT_EQ(got.error().code(), ErrorCode::invalid_argument);
    EXPECT_THAT(got.error().what(), HasSubstr("as 10:13")) << wrong;
  }
}

TEST(ChromeTrace, EventsOfThreads) {
  SpanRecording r;
  r.begin_s = 100;
  r.end_s = 101;
  r.events = {{"write \"a\xff\"", 2, 100.25, 100.75}, {"step 3", 1, 100, 101}};
  r.thread_names = {{2, "save"}};
  const json got = json::parse(to_chrome_trace(r));
  const json& events = got.at("traceEvents");
  ASSERT_EQ(events.size(), 4U);
  EXPECT_EQ(events[1], json::parse(R"({"name":"thread_name","ph":"M","pid":1,"tid":2,"args":{"name":"save"}})"));
  EXPECT_EQ(events[2].at("name"), "write \"a\xef\xbf\xbd\"");
  EXPECT_EQ(events[2].at("ts"), 250000);
  EXPECT_EQ(events[2].at("dur"), 500000);
  EXPECT_EQ(events[3], json::parse(R"({"name":"step 3","ph":"X","pid":1,"tid":1,"ts":0.0,"dur":1e6})"));
}

TEST_F(RunTest, ProfilesSomeSteps) {
  Trainer::Config c = config(8);
  c.save_every_n_steps = 5;
  c.eval_every_n_steps = 5;
  profile_ = StepRange{4, 6};
  run("run", c);
  EXPECT_THAT(output_, HasSubstr("the plugin of cpu has no profiler: host spans only"));
  EXPECT_THAT(output_, HasSubstr("run/profile/steps_4_6.trace.json ("));
  const json trace = json::parse(read_file(path("run/profile/steps_4_6.trace.json")).value());
  std::map<std::string, std::set<std::string>> by_thread;
  std::map<int64_t, std::string> threads;
  for (const json& e : trace.at("traceEvents")) {
    if (e.at("name") == "thread_name") threads[e.at("tid")] = e.at("args").at("name");
    if (e.at("ph") == "X") by_thread[threads[e.at("tid")]].insert(e.at("name"));
  }
  EXPECT_THAT(
      by_thread["main"],
      IsSupersetOf({"step 4", "step 5", "step 6", "wait for a batch", "transfer input_ids", "execute train step",
                    "wait for step 6", "write summaries", "evaluate after step 5", "execute eval step",
                    "wait for eval step", "start to save step 5", "copy to host layers.0::2.w", "wait for a save"}));
  EXPECT_EQ(by_thread["main"].count("step 3") + by_thread["main"].count("step 7"), 0U);
  EXPECT_THAT(by_thread["save"], IsSupersetOf({"write checkpoint of step 5", "write layers.3.w",
                                               "sync shard_00000.safetensors", "commit step_00000005"}));
  EXPECT_FALSE(by_thread["data"].empty());
}

TEST_F(RunTest, StepsToProfileMustBeInTheRun) {
  run("run", config(4));
  for (const StepRange range : {StepRange{4, 6}, StepRange{7, 9}}) {
    profile_ = range;
    const Error e = failure("run", config(8));
    EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
    EXPECT_THAT(e.what(), HasSubstr("expected steps from 5 to 8"));
  }
}

TEST_F(RunTest, TrapsTheFirstStepThatIsNotFinite) {
  Trainer::Config c = config(20);
  c.model.as<TinyModel>().poison = 'a';
  trap_ = true;
  const Error e = failure("run", c);
  EXPECT_EQ(e.code(), ErrorCode::non_finite);
  EXPECT_THAT(e.what(),
              HasSubstr("at model: step 1: the loss isn't finite, from the op log on (got f32[], 0 infinite, 1 NaN)"));
  EXPECT_THAT(output_, HasSubstr("trap:   input 0: f32[], finite ones from -"));
}

}  // namespace
}  // namespace tenon
