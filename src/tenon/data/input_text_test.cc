#include "tenon/data/input_text.h"

#include <gmock/gmock.h>
#include <zlib.h>

#include "tenon/data/test_dir.h"

namespace tenon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class InputTextTest : public TestDir {
 protected:
  std::string write_gz(const std::string& name, const std::string& content) const {
    const gzFile file = gzopen(path(name).c_str(), "wb");
    gzwrite(file, content.data(), static_cast<unsigned>(content.size()));
    gzclose(file);
    return path(name);
  }
  static std::vector<std::string> texts(const std::vector<std::string>& files, const TextOptions& options = {}) {
    TextReader reader(files);
    std::vector<std::string> out;
    while (std::optional<RawText> raw = reader.next()) out.push_back(clean_text(std::move(*raw), options).text);
    EXPECT_EQ(reader.bytes_read(), reader.bytes_total());
    return out;
  }
  std::string error(const std::string& file, const TextOptions& options = {}) const {
    return thrown([&] { (void)texts({file}, options); }).what();
  }
};

TEST_F(InputTextTest, ListsFilesInOrder) {
  const std::string b = write("in/b.txt", "b"), a = write("in/sub/a.jsonl", ""), gz = write("in/z.jsonl.gz", "");
  write("in/readme.md", "");
  write("in/.notes.txt", "");
  write("in/.checkpoints/b.txt", "");
  EXPECT_THAT(list_inputs({path("in")}).value(), ElementsAre(b, a, gz));
  EXPECT_THAT(list_inputs({gz, b}).value(), ElementsAre(gz, b));
  EXPECT_EQ(list_inputs({path("in/readme.md")}).error().code(), ErrorCode::unsupported);
  EXPECT_EQ(list_inputs({path("none")}).error().code(), ErrorCode::not_found);
  EXPECT_THAT(list_inputs({path("in"), path("in/sub//a.jsonl")}).error().what(),
              HasSubstr("in/sub//a.jsonl: the file is named twice"));
  EXPECT_STREQ(list_inputs({""}).error().what(), "invalid_argument: the path of a text is empty");
  make_dirs(path("empty")).value();
  EXPECT_THAT(list_inputs({path("empty")}).error().what(), HasSubstr("no .txt, .jsonl or .jsonl.gz in the folder"));
}

TEST_F(InputTextTest, ReadsAllKinds) {
  const std::string lines =
      "{\"text\": \"one\\n\"}\n\n  \r\n{\"id\": 3, \"text\": \"zwei \xC3\xA9\"}\r\n{\"text\": \"\"}";
  const std::string long_text(1'000'000, 'x');
  const auto found = texts({write("a.txt", "whole\nfile\n"), write("b.jsonl", lines), write_gz("c.jsonl.gz", lines),
                            write("d.jsonl", "{\"text\":\"" + long_text + "\"}\n")});
  EXPECT_THAT(found,
              ElementsAre("whole\nfile\n", "one\n", "zwei \xC3\xA9", "", "one\n", "zwei \xC3\xA9", "", long_text));
  EXPECT_THAT(texts({write("e.jsonl", "{\"body\": \"other\"}")}, {.field = "body"}), ElementsAre("other"));
}

TEST_F(InputTextTest, EmptyFilesAreTold) {
  TextReader reader({write("a.txt", ""), write("b.jsonl", ""), write_gz("c.jsonl.gz", ""), write("d.txt", "d")});
  EXPECT_EQ(reader.next()->bytes, "d");
  EXPECT_FALSE(reader.next().has_value());
  EXPECT_THAT(reader.empty_files(), ElementsAre(path("a.txt"), path("b.jsonl"), path("c.jsonl.gz")));
}

TEST_F(InputTextTest, WhatIsNotUtf8) {
  const std::string bad = write("bad.txt", std::string("ab\xFFz\0\xC3", 6));
  EXPECT_THAT(error(bad), HasSubstr("damaged at " + bad + ": the text isn't UTF-8 at byte 2"));
  EXPECT_THAT(texts({bad}, {.bad_text = BadText::replace}), ElementsAre("ab\xEF\xBF\xBDz\xEF\xBF\xBD\xEF\xBF\xBD"));
  EXPECT_THAT(texts({bad}, {.bad_text = BadText::skip}), ElementsAre(""));
  const std::string lines =
      write("bad.jsonl", "{\"text\": \"good\"}\n{\"text\": \"b\xFF\"}\n{\"text\": \"nul \\u0000\"}\n");
  EXPECT_THAT(error(lines), HasSubstr("bad.jsonl:2: the text isn't UTF-8 at byte 28"));
  EXPECT_THAT(texts({lines}, {.bad_text = BadText::replace}), ElementsAre("good", "b\xEF\xBF\xBD", "nul \xEF\xBF\xBD"));
  EXPECT_THAT(texts({lines}, {.bad_text = BadText::skip}), ElementsAre("good", "", ""));
  EXPECT_THAT(error(write("zero.txt", std::string("a\0", 2))),
              HasSubstr("zero.txt: the text has a zero byte at byte 1"));
  EXPECT_THAT(error(write("zero.jsonl", "\n{\"text\": \"\\u0000\"}")),
              HasSubstr("zero.jsonl:2: the text has a zero byte"));
  TextReader reader({lines});
  EXPECT_FALSE(clean_text(*reader.next(), {.bad_text = BadText::skip}).bad);
  EXPECT_TRUE(clean_text(*reader.next(), {.bad_text = BadText::skip}).bad);
}

TEST_F(InputTextTest, LinesThatAreNoDocument) {
  EXPECT_THAT(error(write("a.jsonl", "\n{\"text\": \"a\"}\n{\"text\": ")), HasSubstr("a.jsonl:3: the line isn't JSON"));
  EXPECT_THAT(error(write("b.jsonl", "{\"body\": \"a\"}")), HasSubstr("no member \"text\" (got"));
  EXPECT_THAT(error(write("b.jsonl", "{\"body\": \"a\"}")), HasSubstr("expected one of \"body\""));
  EXPECT_THAT(error(write("c.jsonl", "[1]")), HasSubstr("expected an object"));
  EXPECT_THAT(error(write("d.jsonl", "{\"text\": 3}")), HasSubstr("is not a string"));
  EXPECT_THAT(error(write("e.jsonl", "{\"text\": \"\\ud800\"}")), HasSubstr("isn't JSON"));
}

TEST_F(InputTextTest, PackedFilesThatAreCut) {
  std::string lines;
  for (int i = 0; i < 20000; ++i) lines += "{\"text\": \"" + std::to_string(i * 7919 % 10007) + "\"}\n";
  const std::string whole = read_file(write_gz("a.jsonl.gz", lines)).value();
  EXPECT_THAT(error(write("cut.jsonl.gz", whole.substr(0, whole.size() / 2))),
              HasSubstr("cut.jsonl.gz: the file ends behind byte"));
  std::string changed = whole;
  changed[whole.size() / 2] = static_cast<char>(changed[whole.size() / 2] ^ 0x55);
  EXPECT_EQ(thrown([&] { (void)texts({write("changed.jsonl.gz", changed)}); }).code(), ErrorCode::damaged);
  EXPECT_THAT(error(write("plain.jsonl.gz", "{\"text\": \"a\"}")), HasSubstr("not a gzip file"));
  std::string sum = whole;
  sum[whole.size() - 6] = static_cast<char>(sum[whole.size() - 6] ^ 1);
  EXPECT_THAT(error(write("sum.jsonl.gz", sum)), HasSubstr("can't be unpacked behind byte"));
}

TEST_F(InputTextTest, PackedFilesOfParts) {
  const std::string one = read_file(write_gz("one.jsonl.gz", "{\"text\": \"a\"}\n{\"te")).value();
  const std::string two = read_file(write_gz("two.jsonl.gz", "xt\": \"b\"}\n")).value();
  EXPECT_THAT(texts({write("both.jsonl.gz", one + two)}), ElementsAre("a", "b"));
  EXPECT_THAT(texts({write("unnamed.jsonl", one + two)}), ElementsAre("a", "b"));
  const std::string whole = read_file(write_gz("whole.jsonl.gz", "{\"text\": \"c\"}\n")).value();
  EXPECT_THAT(error(write("more.jsonl.gz", whole + "{\"text\": \"c\"}\n")),
              HasSubstr("more.jsonl.gz: something else follows behind byte"));
  EXPECT_THAT(error(write("cut.jsonl.gz", whole + one.substr(0, 1))),
              HasSubstr("cut.jsonl.gz: the file ends behind byte"));
}

}  // namespace
}  // namespace tenon
