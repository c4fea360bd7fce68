#include "tenon/data/prepare.h"

#include <gmock/gmock.h>

#include <cerrno>

#include "tenon/base/fault.h"
#include "tenon/base/lock_file.h"
#include "tenon/config/define.h"
#include "tenon/config/registry.h"
#include "tenon/data/shard_writer.h"
#include "tenon/data/test_dir.h"
#include "tenon/data/token_store.h"
#include "tenon/text/bytes_tokenizer.h"
#include "tenon/text/register.h"

namespace tenon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A vocabulary that needs 4 bytes a token: each byte plus 100000.
class WideTokenizer final : public Tokenizer {
 public:
  struct Config : Tokenizer::Config {
    void rebase(const std::string&) override {}
    TENON_CONFIG()
  };
  explicit WideTokenizer(const Config&) {}
  int64_t vocab_size() const override { return 100256; }
  int32_t bos_id() const override { return 0; }
  int32_t eos_id() const override { return 1; }
  int32_t pad_id() const override { return 2; }
  void encode(std::string_view text, std::vector<int32_t>& tokens) const override {
    for (const char c : text) tokens.push_back(100000 + static_cast<unsigned char>(c));
  }
  std::string token_bytes(int32_t token, bool) const override {
    return token < 100000 ? std::string() : std::string(1, static_cast<char>(token - 100000));
  }
  bool is_special(int32_t token) const override { return token < 100000; }
  Saved save() const override { return {"type = \"WideTokenizer\"\n", {}}; }
};

TENON_MODULE(WideTokenizer, Tokenizer, "for tests")

class PrepareTest : public TestDir {
 protected:
  static void SetUpTestSuite() {
    register_text(Registry::global());
    Registry::global().add<WideTokenizer>();
  }
  ~PrepareTest() override { set_fault_handler({}); }
  PrepareOptions options(const std::string& out = "out") const {
    PrepareOptions options;
    options.inputs = {path("in")};
    options.out = path(out);
    return options;
  }
  void write_inputs() const {
    write("in/a.txt", "first document");
    write("in/b.jsonl", "{\"text\": \"second\"}\n{\"text\": \"\"}\n{\"text\": \"third\"}\n");
    write("in/c.txt", "");
  }
  static std::vector<std::string> decoded(const TokenStore& store) {
    std::vector<std::string> out;
    for (const Document& document : store.documents()) {
      std::vector<int32_t> tokens;
      for (int64_t i = 0; i < document.num_tokens(); ++i) tokens.push_back(document.token(i));
      out.push_back(store.tokenizer()->decode(tokens));
    }
    return out;
  }
  // The error of opening `out` and reading all of it.
  Error read_error() const {
    return thrown([&] { TokenStore(path("out")).verify(); });
  }
  const BytesTokenizer bytes_{{}};
};

TEST_F(PrepareTest, DocumentsComeBackInOrder) {
  write_inputs();
  const PrepareReport report = prepare_data(bytes_, options());
  EXPECT_EQ(report.files, 3);
  EXPECT_EQ(report.documents, 3u);
  EXPECT_EQ(report.tokens, 25u);
  EXPECT_EQ(report.text_bytes, 25u);
  EXPECT_EQ(report.empty_documents, 1u);
  EXPECT_THAT(report.empty_files, ElementsAre(path("in/c.txt")));
  const TokenStore store(path("out"));
  EXPECT_THAT(decoded(store), ElementsAre("first document", "second", "third"));
  EXPECT_EQ(store.num_tokens(), 25);
  EXPECT_EQ(store.text_bytes(), 25u);
  EXPECT_EQ(file_size(path("out/shard_00000.tokens")).value(), 50u);
  store.verify();
}

TEST_F(PrepareTest, WideVocabularies) {
  write_inputs();
  (void)prepare_data(WideTokenizer({}), options());
  EXPECT_EQ(file_size(path("out/shard_00000.tokens")).value(), 100u);
  EXPECT_THAT(decoded(TokenStore(path("out"))), ElementsAre("first document", "second", "third"));
}

TEST_F(PrepareTest, JobsDontChangeWhatIsWritten) {
  std::string lines;
  for (int i = 0; i < 3000; ++i) lines += "{\"text\": \"" + std::string(700, 'x') + std::to_string(i) + "\"}\n";
  write("in/a.jsonl", lines);
  PrepareOptions one = options("one"), many = options("many");
  one.shard_tokens = many.shard_tokens = 600000;
  many.jobs = 5;
  uint64_t calls = 0, read = 0;
  many.on_progress = [&](const PrepareProgress& p) {
    ++calls;
    EXPECT_GE(p.bytes_read, read);
    read = p.bytes_read;
    EXPECT_LE(p.bytes_read, p.bytes_total);
  };
  EXPECT_EQ(prepare_data(bytes_, one).shards, 4);
  (void)prepare_data(bytes_, many);
  EXPECT_GE(calls, 2u);
  for (const std::string& name : list_dir(path("one")).value()) {
    EXPECT_EQ(read_file(path("one/" + name)).value(), read_file(path("many/" + name)).value()) << name;
  }
  EXPECT_EQ(list_dir(path("one")).value(), list_dir(path("many")).value());
  const TokenStore store(path("many"));
  EXPECT_EQ(store.documents().size(), 3000u);
  EXPECT_EQ(store.documents().back().token(700), '2');
}

TEST_F(PrepareTest, NothingIsLeftBehindOnErrors) {
  write_inputs();
  write("in/d.txt", "bad \xFF");
  EXPECT_THAT(thrown([&] { (void)prepare_data(bytes_, options()); }).what(),
              HasSubstr("d.txt: the text isn't UTF-8 at byte 4"));
  EXPECT_THAT(list_dir(dir_).value(), ElementsAre("in"));
  PrepareOptions skipping = options();
  skipping.text.bad_text = BadText::skip;
  EXPECT_EQ(prepare_data(bytes_, skipping).bad_documents, 1u);
  EXPECT_THAT(thrown([&] { (void)prepare_data(bytes_, skipping); }).what(), HasSubstr("something already"));
  write("none/a.txt", "");
  PrepareOptions empty = options("empty");
  empty.inputs = {path("none")};
  EXPECT_THAT(thrown([&] { (void)prepare_data(bytes_, empty); }).what(), HasSubstr("no document has any text"));
  write("none/b.txt", "caf\xE9");
  empty.text.bad_text = BadText::skip;
  EXPECT_THAT(thrown([&] { (void)prepare_data(bytes_, empty); }).what(),
              HasSubstr("got 2 files, 1 of them empty; 0 documents empty, 1 skipped that weren't UTF-8 text"));
}

TEST_F(PrepareTest, WholeOrNotAtAll) {
  write_inputs();
  for (const std::string_view fault : {"data.after_shard", "data.after_manifest"}) {
    set_fault_handler([&](std::string_view point) -> int {
      if (point == fault) throw Error(ErrorCode::interrupted, "killed");
      return 0;
    });
    EXPECT_EQ(thrown([&] { (void)prepare_data(bytes_, options()); }).code(), ErrorCode::interrupted);
    EXPECT_THAT(list_dir(dir_).value(), ElementsAre("in"));
  }
  for (const std::string_view fault : {"file.write", "file.fsync", "file.rename"}) {
    set_fault_handler([&](std::string_view point) { return point == fault ? ENOSPC : 0; });
    EXPECT_EQ(thrown([&] { (void)prepare_data(bytes_, options()); }).code(), ErrorCode::no_space) << fault;
    EXPECT_THAT(list_dir(dir_).value(), ElementsAre("in"));
  }
  set_fault_handler({});
  make_dirs(path("out")).value();  // an empty one is fine
  (void)prepare_data(bytes_, options());
  TokenStore(path("out")).verify();
}

TEST_F(PrepareTest, WhatAKilledProcessLeftIsRemoved) {
  write_inputs();
  write("out.preparing/shard_00000.tokens", "half");
  write("out.preparing/sub/file", "");
  write("out.preparing.lock", "1 elsewhere");
  (void)prepare_data(bytes_, options());
  EXPECT_THAT(list_dir(dir_).value(), ElementsAre("in", "out"));
  TokenStore(path("out")).verify();
}

TEST_F(PrepareTest, OneProcessAtATime) {
  write_inputs();
  write("out.preparing/shard_00000.tokens", "half");
  {
    const LockFile held = LockFile::acquire(path("out.preparing.lock")).value();
    const Error error = thrown([&] { (void)prepare_data(bytes_, options()); });
    EXPECT_EQ(error.code(), ErrorCode::io);
    EXPECT_THAT(error.what(), HasSubstr("is using this directory"));
  }
  EXPECT_THAT(list_dir(dir_).value(), ElementsAre("in", "out.preparing", "out.preparing.lock"));
  EXPECT_EQ(read_file(path("out.preparing/shard_00000.tokens")).value(), "half");
}

TEST_F(PrepareTest, ChangesSinceIndexingAreSeen) {
  write("in/a.txt", std::string(100'000, 'x'));
  (void)prepare_data(bytes_, options());
  const auto with = [&](const std::string& name, size_t at) {
    const std::string good = read_file(path("out/" + name)).value();
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 1);
    write("out/" + name, bad);
    const Error error = read_error();
    write("out/" + name, good);
    return error;
  };
  const Error tokens = with("shard_00000.tokens", 150'000);
  EXPECT_EQ(tokens.code(), ErrorCode::damaged);
  EXPECT_THAT(tokens.what(), HasSubstr(path("out/shard_00000.tokens")));
  EXPECT_THAT(tokens.what(), HasSubstr("from byte 131072 to 196608 have changed since they were indexed"));
  EXPECT_THAT(tokens.what(), HasSubstr("tenon data prepare"));
  for (const std::string name : {"shard_00000.index", "tokens.json", "tokenizer.toml"}) {
    EXPECT_EQ(with(name, 5).code(), ErrorCode::damaged) << name;
    EXPECT_THAT(with(name, 5).what(), HasSubstr(path("out/" + name)));
  }
  EXPECT_EQ(read_error().code(), ErrorCode::internal);  // nothing was thrown
  const std::string good = read_file(path("out/shard_00000.tokens")).value();
  write("out/shard_00000.tokens", good.substr(0, 150'000));
  EXPECT_THAT(read_error().what(),
              HasSubstr("cut or changed since it was indexed (got 150000 bytes, expected 200000)"));
  remove_tree(path("out/shard_00000.tokens")).value();
  EXPECT_EQ(read_error().code(), ErrorCode::not_found);
  remove_tree(path("out/tokens.json")).value();
  EXPECT_THAT(read_error().what(), HasSubstr("there is no prepared data"));
}

TEST_F(PrepareTest, TokensOutsideTheVocabularyAreSeen) {
  make_dirs(path("out")).value();
  ShardWriter writer(path("out"), bytes_, 1000);
  writer.add(std::vector<int32_t>{1, 2, 259}, 3);
  (void)writer.finish();
  EXPECT_THAT(read_error().what(),
              HasSubstr("a token outside the vocabulary from byte 0 to 6 (got 259, expected below 259)"));
}

}  // namespace
}  // namespace tenon
