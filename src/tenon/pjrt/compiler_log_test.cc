#include "tenon/pjrt/compiler_log.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace tenon::pjrt {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kRemat =
    "W0000 00:00:1795996753.895806   14354 spmd_partitioner.cc:661] [SPMD] Involuntary full rematerialization. The "
    "compiler cannot go from sharding {devices=[2,1,4]<=[8]} to {devices=[1,8,1]<=[8]} efficiently for HLO operation "
    "%add.2 = f32[8,16,4]{2,1,0} add(%param, %param), sharding={devices=[2,1,4]<=[8]}, "
    "metadata={op_name=\"decoder.layers.0::1.attention/add\"}. As the last resort, SPMD will replicate the tensor.\n";

TEST(SortLog, WarningsNameOps) {
  std::string rest;
  const std::string note = "I0000 00:00:1795996753.866365   14354 client.cc:74] a note\n";
  const std::string quiet = "W0000 00:00:1795996753.866365   14354 client.cc:74] of no op\n";
  const std::string error = "E0000 00:00:1795996753.866365   14354 client.cc:75] of no op either\n";
  const std::string log = "WARNING: All log messages before absl::InitializeLog() is called are written to STDERR\n" +
                          note + kRemat + quiet + kRemat + error + "free text\n";
  const std::vector<CompilerWarning> got = sort_log(log, false, rest);
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].op, "decoder.layers.0::1.attention/add");
  EXPECT_EQ(got[0].text,
            "every device gets the whole of f32[8,16,4] on its way from one sharding to another (from "
            "{devices=[2,1,4]<=[8]} to {devices=[1,8,1]<=[8]})");
  EXPECT_EQ(got[0].kind, CompilerWarning::Kind::replicates);
  EXPECT_EQ(rest, error + "free text\n");
  rest.clear();
  EXPECT_EQ(sort_log(log, true, rest).size(), 1U);
  EXPECT_THAT(rest, HasSubstr(note + quiet));
}

TEST(SortLog, WhatCannotFitIsAboutTheProgram) {
  std::string rest;
  const std::string words =
      "Can't reduce memory use below 12.5GiB (13421772800 bytes) by rematerialization; only reduced to 20GiB";
  const std::vector<CompilerWarning> got =
      sort_log("W0000 00:00:1795996753.895806   14354 hlo_rematerialization.cc:3000] " + words + "\n", false, rest);
  EXPECT_THAT(got, ElementsAre(CompilerWarning{"", words, CompilerWarning::Kind::cannot_fit}));
  EXPECT_EQ(rest, "");
}

TEST(OpsNamed, ByLocationOrMetadata) {
  EXPECT_THAT(ops_named("error: loc(\"decoder.norm/mul\"): wrong; loc(\"head/dot\") and loc(\"decoder.norm/mul\")", ""),
              ElementsAre("decoder.norm/mul", "head/dot"));
  EXPECT_THAT(ops_named("metadata={op_name=\"head/dot\" source_file=\"\"}", ""), ElementsAre("head/dot"));
  EXPECT_THAT(ops_named("loc(\"cut off", ""), IsEmpty());
  EXPECT_THAT(ops_named("", ""), IsEmpty());
}

TEST(OpsNamed, ByWhatTheProgramSays) {
  const std::string program =
      "module @tenon {\n"
      "  %0 = stablehlo.nonsense %a : tensor<3xf32> loc(\"decoder.norm/nonsense\")\n"
      "  %1 = stablehlo.custom_call @nobody(%0) : (tensor<3xf32>) -> tensor<3xf32> loc(\"head/call\")\n"
      "}\n";
  EXPECT_THAT(ops_named("-:2:10: error: custom op is unknown", program), ElementsAre("decoder.norm/nonsense"));
  EXPECT_THAT(ops_named("No FFI handler registered for nobody on platform Host", program), ElementsAre("head/call"));
  EXPECT_THAT(ops_named("-:0:1: error; -:99:1: error; -:x:1", program), IsEmpty());
  EXPECT_THAT(ops_named("something else", program), IsEmpty());
}

// What `body` writes to standard error, in a process of its own, and how that ends.
std::pair<std::string, int> in_child(void (*body)()) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    body();
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string text;
  char buffer[256];
  for (ssize_t n = 0; (n = ::read(ends[0], buffer, sizeof(buffer))) > 0;) text.append(buffer, static_cast<size_t>(n));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return {text, status};
}

void say(const char* words) { (void)!::write(STDERR_FILENO, words, std::strlen(words)); }

TEST(LogCapture, WarningsAreKeptTheRestIsWritten) {
  const auto [text, status] = in_child([] {
    LogCapture outer;
    say("one\n");
    say(kRemat);
    {
      LogCapture inner;  // without effect
      say("two\n");
      if (!inner.finish().empty()) ::_exit(1);
    }
    if (outer.finish().size() != 1) ::_exit(2);
    say("three\n");
    {
      const LogCapture dropped;
      say(kRemat);
    }
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(text, std::string("one\ntwo\nthree\n") + kRemat);
}

TEST(LogCapture, TheLastWordsOfADyingProcess) {
  const auto [text, status] = in_child([] {
    LogCapture log;
    say("F0000 00:00:1 1 hlo.cc:7] Check failed: it is broken\n");
    std::abort();
  });
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) << status;
  EXPECT_THAT(text, HasSubstr("Check failed: it is broken"));
}

}  // namespace
}  // namespace tenon::pjrt
