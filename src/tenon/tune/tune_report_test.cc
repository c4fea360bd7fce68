#include <gmock/gmock.h>

#include "tenon/base/json.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/tune/tune.h"

namespace tenon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TuneRow row(const std::string& label, Drop drop, std::string why = "") {
  TuneRow out;
  out.label = label;
  out.candidate = Candidate();
  out.modifiers = {"{type = \"" + label + "\"}"};
  out.drop = drop;
  out.why = std::move(why);
  return out;
}
TuneRow ranked(const std::string& label, double seconds) {
  TuneRow out = row(label, Drop::none);
  out.analysis = Analysis{"p", 1024, 0.5 * seconds, 0.5 * seconds};
  out.evaluation.emplace().bytes = 3 << 20;
  out.time.products = 0.75 * seconds;
  out.time.links = 0.25 * seconds;
  out.time.bound.compute_s = 0.75 * seconds;
  return out;
}

TuneReport report() {
  TuneReport r;
  r.experiment = "austen";
  r.target = "cpu:8";
  r.instance = "cpu-8";
  r.global_batch = 64;
  r.memory_limit = int64_t{1} << 30;
  r.speeds = {{{DType::f32, 2e10}}, 4e9, 5e9, 0, 3e-5, 1e-6, "measured on cpu:8"};
  r.ranked = {ranked("data=8", 0.2), ranked("fsdp=8", 0.4)};
  r.dropped = {row("model=8", Drop::refused, "whole arrays")};
  r.rule_file = "tuned/rule.toml";
  r.train_command = "tenon train austen --config tuned/rule.toml --instance cpu-8";
  return r;
}

TEST(TuneReport, ShowsTheRankingAndWhatWasDropped) {
  TuneReport r = report();
  EXPECT_NO_THROW(r.require_winner());
  std::string text = format_tuning(r);
  for (const char* line :
       {"austen for cpu:8 (cpu-8), 64 examples a step: 2 candidates ranked, 1 dropped\n",
        "f32 0.02 TFLOPS, memory 4 GB/s, links 5 GB/s, a collective 30 us, an instruction 1 us\n",
        "memory of a device: 1.0 GiB\n", "   1         0.2        0.15  compute      3.0 MiB  data=8\n",
        "   2         0.4         0.3  compute      3.0 MiB  fsdp=8\n", "1 are refused by the compiler:\n",
        "  model=8: whole arrays\n", "the best: data=8\n",
        "`tenon train austen --config tuned/rule.toml --instance cpu-8`"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_THAT(text, Not(HasSubstr("measured s")));
  r.ranked[1].evaluation->measured_s = 0.125;
  text = format_tuning(r);
  EXPECT_THAT(text, AllOf(HasSubstr("measured s  estimate s"), HasSubstr("   2       0.125         0.4")));
  for (int i = 0; i < 5; ++i) r.dropped.push_back(row("x" + std::to_string(i), Drop::too_large, "needs much"));
  text = format_tuning(r);
  EXPECT_THAT(text, AllOf(HasSubstr("5 don't fit:\n  x0: needs much\n"), HasSubstr("  …\n"), Not(HasSubstr("x4"))));
}

TEST(TuneReport, AsJson) {
  TuneReport r = report();
  r.ranked[0].evaluation->measured_s = 0.125;
  const Json json = Json::parse(tuning_json(r)).value();
  EXPECT_EQ(json.string("target"), "cpu:8");
  const Json& best = json.list("ranked").at(0);
  EXPECT_EQ(best.string("candidate"), "data=8");
  EXPECT_EQ(best.member("measured_s").number(), 0.125);
  EXPECT_EQ(best.member("estimate_s").number(), 0.2);
  EXPECT_EQ(best.member("bytes").integer(), 3 << 20);
  EXPECT_EQ(best.string("bound_by"), "compute");
  EXPECT_EQ(best.member("parts").member("links_s").number(), 0.05);
  EXPECT_EQ(json.list("dropped").at(0).string("why"), "whole arrays");
  EXPECT_EQ(json.member("speeds").member("memory").number(), 4e9);
}

TEST(TuneReport, WithoutAWinner) {
  TuneReport r = report();
  r.ranked.clear();
  r.rule_file = "";
  const auto error = [&](std::vector<TuneRow> dropped) {
    r.dropped = std::move(dropped);
    EXPECT_THAT(format_tuning(r), HasSubstr("0 candidates ranked"));
    return *error_of([&] { r.require_winner(); });
  };
  EXPECT_EQ(error({row("a", Drop::divides, "7 over 8")}).path(), "--global_batch");
  TuneRow own = row("own", Drop::builds, "other words");
  own.candidate.reset();
  EXPECT_THAT(error({row("a", Drop::divides, "7 over 8"), own}).what(),
              AllOf(HasSubstr("7 over 8"), Not(HasSubstr("other words"))));
  EXPECT_EQ(error({row("a", Drop::divides), row("b", Drop::too_large, "9 GiB")}).code(), ErrorCode::out_of_memory);
  EXPECT_EQ(error({row("a", Drop::arguments, "9 GiB")}).code(), ErrorCode::out_of_memory);
  EXPECT_THAT(error({row("a", Drop::too_large, "9 GiB")}).what(),
              AllOf(HasSubstr("no candidate fits"), Not(HasSubstr("--max_candidates"))));
  EXPECT_THAT(error({row("a", Drop::too_large, "9 GiB"), row("b", Drop::not_tried)}).what(),
              AllOf(HasSubstr("none of those compiled fits"), HasSubstr("a larger --max_candidates, more devices")));
  EXPECT_EQ(error({row("a", Drop::builds, "no tag"), row("b", Drop::refused, "words")}).code(), ErrorCode::compile);
  EXPECT_THAT(error({row("a", Drop::refused, "words")}).what(), HasSubstr("takes no candidate"));
  EXPECT_THAT(error({row("a", Drop::refused, "words"), row("b", Drop::not_tried)}).what(),
              AllOf(HasSubstr("takes none of those that were tried"), HasSubstr("a larger --max_candidates")));
  EXPECT_THAT(error({row("a", Drop::divides), row("b", Drop::builds, "no tag")}).what(), HasSubstr("no tag"));
}

}  // namespace
}  // namespace tenon
