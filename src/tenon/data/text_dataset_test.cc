#include "tenon/data/text_dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tenon/base/file.h"
#include "tenon/config/registry.h"
#include "tenon/data/prefetch.h"
#include "tenon/data/register.h"
#include "tenon/text/byte_vocab.h"
#include "tenon/text/tokenizer.h"

namespace tenon {
namespace {

using testing::HasSubstr;

class TextDatasetTest : public testing::Test {
 protected:
  TextDatasetTest() : dir_(testing::TempDir() + "tenon_text_" + random_suffix()) { make_dirs(dir_).value(); }
  ~TextDatasetTest() override { remove_tree(dir_).value(); }
  void write(const std::string& name, const std::string& text) {
    write_file_atomic(join_path(dir_, name), text).value();
  }
  void write_novels() {
    for (int doc = 0; doc < 3; ++doc) {
      std::string text;
      for (int i = 0; i < 400 + 37 * doc; ++i) text += static_cast<char>('a' + (i * i + doc * 5) % 26);
      write("novel" + std::to_string(2 - doc) + ".txt", text);
      all_ = text + all_;
    }
    write("readme.md", "not a novel");
  }
  TextDataset::Config options() const {
    TextDataset::Config config;
    config.path = dir_;
    config.batch_size = 4;
    config.sequence_length = 16;
    config.seed = 7;
    return config;
  }
  Error failure(const TextDataset::Config& with) const {
    try {
      (void)build_as<TextDataset>(with);
    } catch (const Error& error) {
      return error;
    }
    return Error(ErrorCode::internal, "nothing was thrown");
  }
  std::string dir_, all_;
};

TEST_F(TextDatasetTest, HeldOutBytesAreLabelledExactlyOnce) {
  write_novels();
  const TextDataset dataset(options());
  const auto held_out = dataset.held_out();
  std::string labels;
  int64_t tokens = 0;
  for (int64_t i = 0; i < *held_out->num_batches(); ++i) {
    const Batch batch = held_out->batch(i);
    tokens += count_labels(batch);
    for (int64_t j = 0; j < batch.at("target_labels").size(); ++j) {
      if (batch.at("target_labels").as_int(j) >= 0) labels += static_cast<char>(batch.at("target_labels").as_int(j));
    }
  }
  const size_t expected = all_.size() / 10;
  EXPECT_EQ(labels, all_.substr(all_.size() - expected));
  EXPECT_EQ(tokens, static_cast<int64_t>(expected));
  EXPECT_THROW(held_out->batch(*held_out->num_batches()), Error);
  EXPECT_THROW(held_out->batch(-1), Error);
  EXPECT_EQ(held_out->held_out(), nullptr);
}

TEST_F(TextDatasetTest, TrainingNeverSeesHeldOutBytes) {
  write("a.txt", std::string(900, 'x') + std::string(100, 'y'));
  const TextDataset dataset(options());
  for (int64_t step = 0; step < 100; ++step) {
    const Batch batch = dataset.batch(step);
    for (int64_t j = 0; j < batch.at("input_ids").size(); ++j) {
      ASSERT_NE(batch.at("input_ids").as_int(j), 'y');
      ASSERT_NE(batch.at("target_labels").as_int(j), 'y');
      ASSERT_NE(batch.at("target_labels").as_int(j), kEosToken);  // the only document is cut
    }
  }
}

TEST_F(TextDatasetTest, LabelsAreTheNextInputWithinASegment) {
  write_novels();
  const TextDataset dataset(options());
  for (int64_t step = 0; step < 40; ++step) {
    const Batch batch = dataset.batch(step);
    int64_t labels = 0;
    for (int64_t i = 0; i < batch.at("input_ids").size(); ++i) {
      labels += batch.at("target_labels").as_int(i) >= 0 ? 1 : 0;
      const bool row_end = i % 16 == 15;
      if (row_end || batch.at("segment_ids").as_int(i) != batch.at("segment_ids").as_int(i + 1)) continue;
      ASSERT_EQ(batch.at("target_labels").as_int(i), batch.at("input_ids").as_int(i + 1));
      ASSERT_EQ(batch.at("positions").as_int(i) + 1, batch.at("positions").as_int(i + 1));
    }
    ASSERT_EQ(labels, count_labels(batch));
  }
}

TEST_F(TextDatasetTest, AnyStepAtAnyTime) {
  write_novels();
  const TextDataset a(options()), b(options());
  const Batch late = a.batch(1000);
  for (int64_t step = 0; step < 20; ++step) (void)b.batch(step);
  EXPECT_EQ(b.batch(1000).at("input_ids"), late.at("input_ids"));
  EXPECT_FALSE(a.batch(1001).at("input_ids") == late.at("input_ids"));
  TextDataset::Config other = options();
  other.seed = 8;
  EXPECT_FALSE(TextDataset(other).batch(1000).at("input_ids") == late.at("input_ids"));
  EXPECT_NO_THROW(a.batch(int64_t{1} << 60));
  EXPECT_THROW(a.batch(-1), Error);
  EXPECT_THROW(a.batch(int64_t{1} << 62), Error);
}

TEST_F(TextDatasetTest, NothingHeldOut) {
  write_novels();
  TextDataset::Config with = options();
  with.eval_fraction = 0;
  EXPECT_EQ(TextDataset(with).held_out(), nullptr);
  with.path = join_path(dir_, "novel0.txt");
  EXPECT_THAT(TextDataset(with).describe(), HasSubstr("novel0.txt: 1 documents, 474 B for training, 0 B held out"));
}

TEST_F(TextDatasetTest, ErrorsNameThePath) {
  TextDataset::Config with = options();
  EXPECT_EQ(failure(with).code(), ErrorCode::not_found);
  with.path = "no_such_text";
  Error bare = failure(with);
  EXPECT_STREQ(bare.prefix("data").what(), "not_found at data: ./no_such_text: no such file or folder");
  write("a.txt", "a text long enough for one window of sixteen");
  with = options();
  with.sequence_length = 100;
  EXPECT_THAT(failure(with).what(), HasSubstr("the training text is too short (got 40 bytes, expected at least 100)"));
  with = options();
  with.eval_fraction = 0.01;
  EXPECT_THAT(failure(with).what(), HasSubstr(dir_ + ": the held-out text is too short"));
  make_dirs(join_path(dir_, "c.txt")).value();
  write("b.txt", "");
  EXPECT_THAT(TextDataset(options()).describe(),
              HasSubstr("1 documents, 40 B for training, 4 B held out; 1 empty files"));
}

TEST_F(TextDatasetTest, OptionsOutOfRange) {
  write_novels();
  for (const double fraction : {-0.1, 1.0, std::numeric_limits<double>::quiet_NaN()}) {
    TextDataset::Config with = options();
    with.eval_fraction = fraction;
    EXPECT_THAT(failure(with).what(), HasSubstr("eval_fraction"));
  }
  TextDataset::Config with = options();
  with.batch_size = 0;
  EXPECT_THAT(failure(with).what(), HasSubstr("batch_size"));
  with = options();
  with.sequence_length = -5;
  EXPECT_THAT(failure(with).what(), HasSubstr("sequence_length"));
  with = options();
  with.path.reset();
  EXPECT_EQ(failure(with).code(), ErrorCode::missing_field);
}

TEST_F(TextDatasetTest, HostsSeeTheirPartOfTheBatch) {
  write_novels();
  const TextDataset dataset(options());
  const Batch all = dataset.batch(3);
  int64_t tokens = 0;
  for (int64_t host = 0; host < 2; ++host) {
    const Batch part = dataset.host_batch(3, host, 2);
    ASSERT_EQ(part.at("positions").dims(), (Dims{2, 16}));
    tokens += count_labels(part);
    for (int64_t i = 0; i < 32; ++i) {
      ASSERT_EQ(part.at("input_ids").as_int(i), all.at("input_ids").as_int(32 * host + i));
      ASSERT_EQ(part.at("segment_ids").as_int(i), all.at("segment_ids").as_int(32 * host + i));
    }
  }
  EXPECT_EQ(tokens, count_labels(all));
  EXPECT_THROW(dataset.host_batch(3, 2, 2), Error);
  EXPECT_THROW(dataset.host_batch(3, 0, 3), Error);
}

TEST_F(TextDatasetTest, HeldOutBytesAreCounted) {
  write_novels();
  const auto held_out = TextDataset(options()).held_out();
  EXPECT_EQ(held_out->num_text_bytes(), static_cast<int64_t>(all_.size() / 10));
  EXPECT_EQ(held_out->tokenizer()->vocab_size(), 259);
}

TEST_F(TextDatasetTest, BuildsByItsInterface) {
  write_novels();
  Registry registry;
  register_data(registry);
  EXPECT_EQ(registry.implementations(LanguageDataset::Config::static_type()).size(), 3u);
  Slot<Dataset> slot = options();
  slot->batch_size = 2;
  EXPECT_EQ(slot.build()->batch(0).at("input_ids").dims(), (Dims{2, 16}));
}

class Counting final : public Dataset {
 public:
  Batch batch(int64_t step) const override {
    if (step == 7) throw Error(ErrorCode::damaged, "bad page");
    return {{"step", Literal::scalar_int(DType::i32, step)}};
  }
  std::optional<int64_t> num_batches() const override { return end; }
  std::unique_ptr<Dataset> held_out() const override { return nullptr; }
  std::string describe() const override { return "counting"; }
  std::optional<int64_t> end;
};

TEST(PrefetcherTest, InOrderThenTheErrorAgainAndAgain) {
  const Counting dataset;
  Prefetcher prefetcher(dataset, 3, 2);
  for (int64_t step = 3; step < 7; ++step) EXPECT_EQ(prefetcher.next()->at("step").as_int(0), step);
  EXPECT_THROW(prefetcher.next(), Error);
  EXPECT_THROW(prefetcher.next(), Error);
}

TEST(PrefetcherTest, EndsAfterTheLast) {
  Counting dataset;
  dataset.end = 2;
  Prefetcher prefetcher(dataset, 0, 1);
  EXPECT_EQ(prefetcher.next()->at("step").as_int(0), 0);
  EXPECT_EQ(prefetcher.next()->at("step").as_int(0), 1);
  EXPECT_FALSE(prefetcher.next().has_value());
  EXPECT_FALSE(prefetcher.next().has_value());
}

TEST(PrefetcherTest, MayBeDroppedAtAnyTime) {
  Counting dataset;
  dataset.end = 5;
  for (int taken = 0; taken < 5; ++taken) {
    Prefetcher prefetcher(dataset, 0, 1);
    for (int i = 0; i < taken; ++i) (void)prefetcher.next();
  }
}

}  // namespace
}  // namespace tenon
