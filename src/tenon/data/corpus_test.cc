#include "tenon/data/corpus.h"

#include <gmock/gmock.h>
#include <zlib.h>

#include "tenon/config/registry.h"
#include "tenon/data/prepare.h"
#include "tenon/data/test_dir.h"
#include "tenon/data/token_store.h"
#include "tenon/text/bytes_tokenizer.h"
#include "tenon/text/register.h"

namespace tenon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class CorpusTest : public TestDir {
 protected:
  void write_gz(const std::string& name, const std::string& content) const {
    const gzFile file = gzopen(path(name).c_str(), "wb");
    gzwrite(file, content.data(), static_cast<unsigned>(content.size()));
    gzclose(file);
  }
  static std::vector<std::string> texts(const std::vector<Document>& documents) {
    std::vector<std::string> out;
    for (const Document& document : documents) {
      std::string& text = out.emplace_back();
      for (int64_t i = 0; i < document.num_tokens(); ++i) text += static_cast<char>(document.token(i));
    }
    return out;
  }
  std::string error(const std::string& name) const {
    return thrown([&] { Corpus(path(name)); }).what();
  }
};

// A folder of text, whatever is in it, is the same documents to both.
TEST_F(CorpusTest, AFolderIsWhatItIsToPrepare) {
  write("in/b.txt", "whole\nfile");
  write("in/a/z.jsonl", "{\"text\": \"one\"}\n\n{\"text\": \"\"}\n{\"id\": 1, \"text\": \"zw\\u00f6lf\"}");
  write("in/a/empty.txt", "");
  write("in/readme.md", "no text");
  write_gz("in/c.jsonl.gz", "{\"text\": \"packed\"}\n");
  write_gz("in/d.jsonl.gz", "");
  const Corpus corpus(path("in"));
  const std::vector<std::string> all = texts(corpus.range(0, corpus.num_bytes()));
  EXPECT_THAT(all, ElementsAre("one", "zw\xC3\xB6lf", "whole\nfile", "packed"));
  EXPECT_THAT(corpus.empty_files(), ElementsAre(path("in/a/empty.txt"), path("in/d.jsonl.gz")));
  register_text(Registry::global());
  PrepareOptions options;
  options.inputs = {path("in")};
  options.out = path("out");
  const PrepareReport report = prepare_data(BytesTokenizer({}), options);
  EXPECT_EQ(report.empty_files, corpus.empty_files());
  EXPECT_EQ(texts(TokenStore(path("out")).documents()), all);
}

TEST_F(CorpusTest, RangesCutDocuments) {
  write("a.txt", "abc");
  write("b.jsonl", "{\"text\": \"de\"}\n{\"text\": \"f\"}");
  const Corpus corpus(dir_);
  EXPECT_EQ(corpus.num_documents(), 3);
  EXPECT_EQ(corpus.num_bytes(), 6);
  const std::vector<Document> front = corpus.range(1, 4), back = corpus.range(4, 6);
  EXPECT_THAT(texts(front), ElementsAre("bc", "d"));
  EXPECT_TRUE(front[0].whole_end);
  EXPECT_FALSE(front[1].whole_end);
  EXPECT_THAT(texts(back), ElementsAre("e", "f"));
}

TEST_F(CorpusTest, ErrorsAreThoseOfPrepare) {
  EXPECT_THAT(error("missing"), HasSubstr("not_found at " + path("missing") + ": no such file or folder"));
  write("a.md", "");
  EXPECT_THAT(error("a.md"), HasSubstr("unsupported at " + path("a.md") + ": not a file of texts"));
  EXPECT_THAT(error("."), HasSubstr("no .txt, .jsonl or .jsonl.gz in the folder"));
  write("in/a.txt", "");
  write("in/b.jsonl", "{\"text\": \"\"}");
  EXPECT_THAT(error("in"), HasSubstr("in: no document has any text (got 2 files, 1 of them empty)"));
  write("in/c.jsonl", "{\"text\": \"a\"}\n{\"text\": ");
  EXPECT_THAT(error("in"), HasSubstr("c.jsonl:2: the line isn't JSON"));
  write("in/b.txt", "caf\xC3\xA9, cut: \xC3");
  EXPECT_THAT(error("in/b.txt"),
              HasSubstr("b.txt: the text isn't UTF-8 at byte 12. Hint: convert the file to UTF-8, or "
                        "choose --bad_text replace or skip of `tenon data prepare`"));
  write("in/b.txt", std::string("torn\0page", 9));
  EXPECT_THAT(error("in/b.txt"), HasSubstr("b.txt: the text has a zero byte at byte 4"));
}

}  // namespace
}  // namespace tenon
