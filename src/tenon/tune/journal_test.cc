#include "tenon/tune/journal.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "tenon/base/file.h"
#include "tenon/ir/testing/errors.h"

namespace tenon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Evaluation compiled(const std::string& rule) {
  Evaluation e;
  e.rule = rule;
  e.program = "p" + rule;
  e.bytes = int64_t{5} << 40;
  e.argument_bytes = 3;
  e.temporary_bytes = 2;
  e.counts = {{{DType::f32, 0.1}, {DType::bf16, 3e15}}, 1, 2.5, 3, 4, 5, 6};
  e.compile_s = 1.25;
  return e;
}
Evaluation refused(const std::string& rule, bool too_large) {
  Evaluation e;
  e.rule = rule;
  e.program = "q";
  e.refusal = "no \"memory\"\n\xff";
  e.too_large = too_large;
  return e;
}

class JournalTest : public ::testing::Test {
 protected:
  JournalTest()
      : path_(std::filesystem::temp_directory_path() / ("tenon_journal_" + random_suffix())), remove_(path_) {}
  Journal open() const { return Journal::open(path_, subject_); }
  std::string text() const { return read_file(path_).value(); }
  JournalSubject subject_{"austen", "cpu:8", 64, "c0ffee", "b", "p", "m"};
  std::string path_;
  RemoveAtEnd remove_;
};

TEST_F(JournalTest, GoesOnWhereItEnded) {
  MachineSpeeds speeds;
  speeds.peaks = {{DType::f32, 1e10}};
  speeds.collective_s = 1e-5;
  speeds.source = "measured";
  {
    Journal journal = open();
    EXPECT_EQ(journal.size(), 0U);
    journal.add(speeds);
    journal.add(compiled("a"));
    journal.add(refused("b", true));
  }
  Journal journal = open();
  EXPECT_EQ(journal.speeds(), speeds);
  ASSERT_NE(journal.find("a", "pa"), nullptr);
  EXPECT_EQ(*journal.find("a", "pa"), compiled("a"));
  EXPECT_EQ(journal.find("a", "another program"), nullptr);
  ASSERT_NE(journal.find("b", "q"), nullptr);
  EXPECT_TRUE(journal.find("b", "q")->too_large);
  EXPECT_THAT(journal.find("b", "q")->refusal, HasSubstr("no \"memory\"\n"));
  // The last of a candidate counts.
  Evaluation measured = compiled("a");
  measured.measured_s = 0.5;
  journal.add(measured);
  EXPECT_EQ(open().find("a", "pa")->measured_s, 0.5);
}

TEST_F(JournalTest, AnUnfinishedLineIsCutOff) {
  open().add(compiled("a"));
  const std::string whole = text();
  for (size_t cut = whole.find('\n') + 1; cut < whole.size(); cut += 17) {
    write_file_atomic(path_, whole.substr(0, cut)).value();
    Journal journal = open();
    EXPECT_EQ(journal.size(), 0U) << cut;
    journal.add(compiled("b"));
    EXPECT_EQ(open().size(), 1U) << cut;
  }
}

TEST_F(JournalTest, OfAnotherSubjectWithoutAResultBeginsAnew) {
  open();
  JournalSubject other = subject_;
  other.global_batch = 65;
  Journal::open(path_, other).add(compiled("a"));
  EXPECT_EQ(Journal::open(path_, other).size(), 1U);
  EXPECT_TRUE(error_of([&] { open(); }));
}

TEST_F(JournalTest, OfAnotherSubject) {
  open().add(compiled("a"));
  const auto expect = [&](const JournalSubject& other, const char* what) {
    const std::optional<Error> e = error_of([&] { Journal::open(path_, other); });
    ASSERT_TRUE(e) << what;
    EXPECT_EQ(e->code(), ErrorCode::incompatible);
    EXPECT_THAT(e->what(), AllOf(HasSubstr(std::string("of another ") + what), HasSubstr("--dir")));
  };
  JournalSubject other = subject_;
  other.experiment = "llama2_7b";
  expect(other, "experiment");
  other = subject_;
  other.target = "cpu:4";
  expect(other, "target");
  other = subject_;
  other.global_batch = 65;
  expect(other, "global batch");
  other = subject_;
  other.config = "d";
  expect(other, "config");
  other = subject_;
  other.build = "c";
  expect(other, "build of Tenon");
  other = subject_;
  other.plugin = "q";
  expect(other, "compiler");
  other = subject_;
  other.machine = "n";
  expect(other, "description of the machine");
  EXPECT_EQ(open().size(), 1U);
}

TEST_F(JournalTest, DamagedLinesAreNamed) {
  open().add(compiled("a"));
  const std::string whole = text();
  const auto error = [&](const std::string& bytes) {
    write_file_atomic(path_, bytes).value();
    return error_of([&] { open(); });
  };
  for (const char* line :
       {"x\n", "{}\n", "[]\n", "{\"rule\": \"a\"}\n", "{\"rule\":\"a\",\"program\":\"p\",\"bytes\":-1}\n",
        "{\"rule\":\"a\",\"program\":\"p\",\"refusal\":\"\",\"too_large\":true}\n", "\n",
        "{\"speeds\":{\"peaks\":{\"f99\":1}}}\n"}) {
    const std::optional<Error> e = error(whole + line);
    ASSERT_TRUE(e) << line;
    EXPECT_EQ(e->code(), ErrorCode::damaged) << line;
    EXPECT_EQ(e->path(), path_ + ":3") << line;
  }
  EXPECT_EQ(error("")->path(), path_ + ":1");
  EXPECT_EQ(error("{\"tenon_tune\":2}\n")->code(), ErrorCode::damaged);
}

TEST_F(JournalTest, WhereNothingCanBeWritten) {
  const std::optional<Error> e = error_of([&] { Journal::open(path_ + "/no/such/folder", subject_); });
  ASSERT_TRUE(e);
  EXPECT_NE(exit_status(e->code()), 0);
  EXPECT_EQ(build_fingerprint().size(), 64U);
  EXPECT_EQ(build_fingerprint(), build_fingerprint());
}

}  // namespace
}  // namespace tenon
