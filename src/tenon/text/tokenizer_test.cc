#include "tenon/text/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sentencepiece_processor.h>

#include <random>

#include "tenon/base/file.h"
#include "tenon/config/registry.h"
#include "tenon/text/byte_vocab.h"
#include "tenon/text/bytes_tokenizer.h"
#include "tenon/text/register.h"
#include "tenon/text/saved_tokenizer.h"
#include "tenon/text/sentencepiece_tokenizer.h"
#include "tenon/text/sentinel_tokenizer.h"
#include "tenon/text/token_stream.h"
#include "tenon/text/train_sentencepiece.h"

namespace tenon {
namespace {

using testing::HasSubstr;

// Sentences of made-up words, a few hundred of them.
std::optional<std::string> sentence(int i) {
  if (i >= 400) return std::nullopt;
  std::mt19937 random(static_cast<uint32_t>(i));
  static const char* const kSyllables[] = {"ka", "lo", "mi", "ten", "or", "shu", "ri", "é", "an", "da", "we", "ster"};
  std::string out;
  for (int word = 0; word < 12; ++word) {
    for (uint32_t n = 1 + random() % 3; n > 0; --n) out += kSyllables[random() % 12];
    out += word % 5 == 4 ? ",  " : word == 11 ? ".\n" : " ";
  }
  return out;
}

std::string train(PieceModel model, int64_t vocab_size = 330) {
  int i = 0;
  return train_sentencepiece({vocab_size, model}, [&i] { return sentence(i++); });
}

class TokenizerTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    register_text(Registry::global());
    for (const PieceModel model : {PieceModel::unigram, PieceModel::bpe}) models_.push_back(train(model));
  }
  TokenizerTest() : dir_(testing::TempDir() + "tenon_text_" + random_suffix()) { make_dirs(dir_).value(); }
  ~TokenizerTest() override { remove_tree(dir_).value(); }
  std::string write(const std::string& name, const std::string& content) const {
    write_file_atomic(join_path(dir_, name), content).value();
    return join_path(dir_, name);
  }
  static Error open_error(const std::string& name) {
    try {
      (void)open_tokenizer(name);
    } catch (const Error& error) {
      return error;
    }
    return Error(ErrorCode::internal, "nothing was thrown");
  }
  inline static std::vector<std::string> models_;
  std::string dir_;
};

TEST(BytesTokenizerTest, AnyBytesComeBack) {
  const BytesTokenizer bytes{{}};
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  const std::vector<int32_t> tokens = bytes.encode(all);
  EXPECT_EQ(tokens[255], 255);
  EXPECT_EQ(bytes.decode(tokens), all);
  EXPECT_EQ(bytes.decode(std::vector<int32_t>{257, 'a', 256, -1, 258, 'b', 1000}), "ab");
  EXPECT_EQ(bytes.vocab_size(), 259);
  EXPECT_TRUE(bytes.is_special(bytes.pad_id()) && bytes.is_special(bytes.bos_id()) && bytes.is_special(bytes.eos_id()));
  EXPECT_FALSE(bytes.is_special(0) || bytes.is_special(255));
}

TEST(BytesTokenizerTest, StreamsWholeCharacters) {
  const BytesTokenizer bytes{{}};
  TokenStream stream(bytes);
  EXPECT_EQ(stream.push('a'), "a");
  EXPECT_EQ(stream.push(0xC3), "");
  EXPECT_EQ(stream.push(0xA9), "é");
  EXPECT_EQ(stream.push(kEosToken), "");
  EXPECT_EQ(stream.push(0xE2), "");
  EXPECT_EQ(stream.finish(), "\xEF\xBF\xBD");
}

TEST_F(TokenizerTest, IdsAreTheLibrarysOwn) {
  for (const std::string& model : models_) {
    const auto tokenizer = open_tokenizer(write("m.model", model));
    sentencepiece::SentencePieceProcessor library;
    ASSERT_TRUE(library.LoadFromSerializedProto(model).ok());
    EXPECT_EQ(tokenizer->vocab_size(), library.GetPieceSize());
    EXPECT_EQ(tokenizer->vocab_size(), 330);
    for (int i = 0; i < 50; ++i) {
      const std::string text = *sentence(i * 7);
      const std::vector<int32_t> ids = tokenizer->encode(text);
      ASSERT_EQ(ids, library.EncodeAsIds(text));
      ASSERT_LT(ids.size(), text.size() * 2 / 3);  // it learnt something
      ASSERT_EQ(tokenizer->decode(ids), library.DecodeIds(ids));
      ASSERT_EQ(tokenizer->decode(ids), text);
    }
  }
}

TEST_F(TokenizerTest, EveryTextComesBack) {
  for (const std::string& model : models_) {
    const auto tokenizer = open_tokenizer(write("m.model", model));
    for (const std::string text : {"", " ", "  two", "a  b ", "tab\tand\nlines\n\n", "日本 🙂 é", "1234", "\x01"}) {
      const std::vector<int32_t> ids = tokenizer->encode(text);
      EXPECT_EQ(tokenizer->decode(ids), text);
      TokenStream stream(*tokenizer);
      std::string streamed = stream.push(tokenizer->bos_id());
      for (const int32_t id : ids) streamed += stream.push(id);
      EXPECT_EQ(streamed + stream.finish(), text);
    }
  }
}

TEST_F(TokenizerTest, TextBehindAPromptKeepsItsSpace) {
  const auto tokenizer = open_tokenizer(write("m.model", models_[0]));
  TokenStream stream(*tokenizer);
  stream.skip(tokenizer->bos_id());
  for (const int32_t id : tokenizer->encode("kalo")) stream.skip(id);
  std::string streamed;
  for (const int32_t id : tokenizer->encode("miten")) streamed += stream.push(id);
  EXPECT_EQ(streamed, " miten");
}

TEST_F(TokenizerTest, SpecialTokens) {
  const auto tokenizer = open_tokenizer(write("m.model", models_[1]));
  EXPECT_EQ(tokenizer->bos_id(), 1);
  EXPECT_EQ(tokenizer->eos_id(), 2);
  EXPECT_EQ(tokenizer->pad_id(), 3);
  for (const int32_t id : {-1, 0, 1, 2, 3, 330}) {
    EXPECT_TRUE(tokenizer->is_special(id)) << id;
    EXPECT_EQ(tokenizer->token_bytes(id, true), "") << id;
  }
  EXPECT_FALSE(tokenizer->is_special(4));
  EXPECT_EQ(tokenizer->token_bytes(4 + 'a', true), "a");  // the bytes follow
}

TEST_F(TokenizerTest, TrainingIsReproducible) { EXPECT_EQ(train(PieceModel::unigram), models_[0]); }

TEST_F(TokenizerTest, SavedOnesLoad) {
  const auto tokenizer = open_tokenizer(write("m.model", models_[0]));
  make_dirs(join_path(dir_, "saved")).value();
  for (const auto& [name, content] : tokenizer_files(*tokenizer)) write("saved/" + name, content);
  remove_tree(join_path(dir_, "m.model")).value();
  const auto loaded = open_tokenizer(join_path(dir_, "saved"));
  EXPECT_EQ(loaded->encode("kalo"), tokenizer->encode("kalo"));
  EXPECT_EQ(fingerprint(*loaded), fingerprint(*tokenizer));
  const auto bytes = open_tokenizer("bytes");
  EXPECT_NE(fingerprint(*bytes), fingerprint(*tokenizer));
  write("saved/tokenizer.toml", tokenizer_files(*bytes).at("tokenizer.toml"));
  EXPECT_EQ(load_tokenizer(join_path(dir_, "saved"))->vocab_size(), 259);
}

std::vector<int32_t> joined(std::vector<std::vector<int32_t>> parts) {
  std::vector<int32_t> out;
  for (const auto& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

TEST_F(TokenizerTest, SentinelsAreWrittenByName) {
  const std::string file = write("m.model", models_[0]);
  for (const std::string name : {"bytes", file.c_str()}) {
    const std::shared_ptr<const Tokenizer> text = open_tokenizer(name);
    const SentinelTokenizer tokens(text, 12);
    const auto first = static_cast<int32_t>(text->vocab_size());
    EXPECT_EQ(tokens.vocab_size(), first + 12);
    const std::vector<int32_t> got = tokens.encode("<extra_id_11>ka <lo<extra_id_0> mi<extra_id_>");
    EXPECT_EQ(got, joined({{first + 11}, text->encode("ka <lo"), {first}, text->encode(" mi<extra_id_>")}));
    EXPECT_EQ(tokens.decode(std::vector<int32_t>{tokens.bos_id(), first + 1, tokens.eos_id(), first + 12}),
              "<extra_id_1>");
    EXPECT_FALSE(tokens.is_special(first) || tokens.is_special(first + 11));
    EXPECT_TRUE(tokens.is_special(first + 12) && tokens.is_special(tokens.pad_id()) && tokens.is_special(-1));
    EXPECT_EQ(&text_tokenizer(tokens), text.get());
    EXPECT_EQ(&text_tokenizer(*text), text.get());
  }
}

TEST_F(TokenizerTest, SentinelsThatArentThereAreRefused) {
  const SentinelTokenizer tokens(open_tokenizer("bytes"), 2);
  for (const std::string number : {"2", "01", "99999999999999999999"}) {
    try {
      (void)tokens.encode("a<extra_id_" + number + ">");
      ADD_FAILURE() << number;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
      EXPECT_THAT(e.what(), HasSubstr("got <extra_id_" + number + ">, expected <extra_id_0> to <extra_id_1>"));
    }
  }
}

TEST_F(TokenizerTest, SavedSentinelsLoad) {
  const SentinelTokenizer tokens(open_tokenizer(write("m.model", models_[0])), 3);
  make_dirs(join_path(dir_, "saved")).value();
  for (const auto& [name, content] : tokenizer_files(tokens)) write("saved/" + name, content);
  remove_tree(join_path(dir_, "m.model")).value();
  const auto loaded = load_tokenizer(join_path(dir_, "saved"));
  EXPECT_EQ(loaded->encode("kalo<extra_id_2>"), tokens.encode("kalo<extra_id_2>"));
  EXPECT_EQ(fingerprint(*loaded), fingerprint(tokens));
  EXPECT_EQ(fingerprint(text_tokenizer(*loaded)), fingerprint(tokens.text()));
}

TEST_F(TokenizerTest, WhatIsNoTokenizerIsRefused) {
  EXPECT_EQ(open_error(join_path(dir_, "none")).code(), ErrorCode::not_found);
  EXPECT_THAT(open_error("byte").what(), HasSubstr("expected bytes, the file of"));
  EXPECT_EQ(open_error(dir_).code(), ErrorCode::not_found);
  EXPECT_EQ(open_error(write("empty", "")).code(), ErrorCode::damaged);
  EXPECT_THAT(open_error(write("text", "just a text")).what(),
              HasSubstr("not a SentencePiece model (got other bytes)"));
  for (const size_t length : {10, 300, 2000}) {
    EXPECT_EQ(open_error(write("cut", models_[0].substr(0, length))).code(), ErrorCode::damaged) << length;
  }
}

TEST_F(TokenizerTest, VocabulariesThatCantBeTrained) {
  const auto error = [](int64_t vocab_size) {
    try {
      (void)train(PieceModel::unigram, vocab_size);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("none");
  };
  EXPECT_THAT(error(260), HasSubstr("expected 261 to 1000000"));
  EXPECT_THAT(error(100000), HasSubstr("trained (got Vocabulary size too high (100000). Please"));
  EXPECT_THROW((void)train_sentencepiece({}, []() -> std::optional<std::string> { return std::nullopt; }), Error);
  int i = 0;
  const auto failing = [&i]() -> std::optional<std::string> {
    if (i++ == 20) throw Error(ErrorCode::damaged, "a bad file");
    return sentence(i);
  };
  try {
    (void)train_sentencepiece({330, PieceModel::bpe}, failing);
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::damaged);
  }
}

}  // namespace
}  // namespace tenon
