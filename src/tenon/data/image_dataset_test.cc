#include "tenon/data/image_dataset.h"

#include <gmock/gmock.h>
#include <zlib.h>

#include <cstring>
#include <set>

#include "tenon/config/validate.h"
#include "tenon/data/image_row.h"
#include "tenon/data/test_dir.h"

namespace tenon {
namespace {

using testing::HasSubstr;

TEST(ImageRowTest, ReadsPixelsAndLabel) {
  std::vector<uint8_t> pixels(3);
  EXPECT_EQ(parse_image_row(" 0,255 , 7,9\r", pixels).value(), 9);
  EXPECT_THAT(pixels, testing::ElementsAre(0, 255, 7));
  const auto error = [&](std::string_view line) { return std::string(parse_image_row(line, pixels).error().what()); };
  EXPECT_THAT(error("0,256,7,9"), HasSubstr("byte 2 of a line of pixels"));
  EXPECT_THAT(error("0,-1,7,9"), HasSubstr("pixel 2 of 3, 0 to 255"));
  EXPECT_THAT(error("0,-0,7,9"), HasSubstr("pixel 2 of 3, 0 to 255"));
  EXPECT_THAT(error("0,1"), HasSubstr("',' behind pixel 2 of 3"));
  EXPECT_THAT(error("0,1,2"), HasSubstr("',' behind pixel 3 of 3"));
  EXPECT_THAT(error("0,1,2,"), HasSubstr("the label"));
  EXPECT_THAT(error("0,1,2,3,4"), HasSubstr("the line's end"));
  EXPECT_THAT(error("0,1.5,2,3"), HasSubstr("byte 3"));
  EXPECT_THAT(error("0,1,2,99999999999"), HasSubstr("the label"));
  EXPECT_THAT(error(""), HasSubstr("pixel 1 of 3"));
}

class ImageDatasetTest : public TestDir {
 protected:
  // `count` images of 2 x 3; the first pixel is the image's number, which is its label too.
  static std::string csv(int count) {
    std::string out;
    for (int i = 0; i < count; ++i) out += std::to_string(i) + ",0,1,2,3,250," + std::to_string(i) + "\n";
    return out;
  }
  static std::string npy(const std::string& type, const std::string& shape, const std::string& data) {
    const std::string dictionary = "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
    std::string out("\x93NUMPY\1\0", 8);
    out += static_cast<char>(dictionary.size());
    return out + '\0' + dictionary + data;
  }
  static ImageDataset::Config config(const std::string& path) {
    ImageDataset::Config c;
    c.path = path;
    c.batch_size = 4;
    c.height = 2;
    c.width = 3;
    c.num_classes = 100;
    c.eval_fraction = 0.2;
    return c;
  }
  static std::vector<int64_t> labels(const Batch& batch) {
    std::vector<int64_t> out;
    const Literal& all = batch.at("labels");
    for (int64_t i = 0; i < all.size(); ++i) {
      out.push_back(all.as_int(i));
      // Each image is with its own label.
      EXPECT_EQ(batch.at("images").as_int(6 * i), std::max<int64_t>(all.as_int(i), 0));
    }
    return out;
  }
};

TEST_F(ImageDatasetTest, EachEpochHasEveryTrainingImageOnce) {
  const ImageDataset data(config(write("a.csv", csv(50))));
  EXPECT_EQ(types_of(data.batch(0)), config("").batch_types());
  std::multiset<int64_t> seen;
  std::vector<int64_t> first, second;
  for (int64_t step = 0; step < 20; ++step) {
    for (const int64_t label : labels(data.batch(step))) {
      seen.insert(label);
      (step < 10 ? first : second).push_back(label);
    }
  }
  EXPECT_EQ(std::set<int64_t>(first.begin(), first.end()).size(), 40u);
  for (const int64_t label : first) EXPECT_EQ(seen.count(label), 2u);
  EXPECT_NE(first, second);

  std::set<int64_t> held_out;
  const auto eval = data.held_out();
  ASSERT_EQ(eval->num_batches(), 3);
  for (int64_t step = 0; step < 3; ++step) {
    for (const int64_t label : labels(eval->batch(step))) {
      if (label < 0) continue;
      EXPECT_TRUE(held_out.insert(label).second);
      EXPECT_FALSE(seen.contains(label));
    }
  }
  EXPECT_EQ(held_out.size(), 10u);
  EXPECT_THAT(labels(eval->batch(2)), testing::ElementsAre(testing::Ge(0), testing::Ge(0), -1, -1));
  EXPECT_THROW(eval->batch(3), Error);
  EXPECT_THROW(data.batch(-1), Error);
  EXPECT_THROW(data.batch(int64_t{1} << 62), Error);
}

TEST_F(ImageDatasetTest, OrderIsAFunctionOfSeedAndStep) {
  ImageDataset::Config c = config(write("a.csv", csv(50)));
  const ImageDataset data(c), again(c);
  const Batch late = data.batch(1000);
  EXPECT_EQ(again.batch(1000), late);
  c.seed = 1;
  const ImageDataset other(c);
  EXPECT_NE(labels(other.batch(1000)), labels(late));
  // The split is the same whatever the seed.
  EXPECT_EQ(labels(other.held_out()->batch(0)), labels(data.held_out()->batch(0)));
  Literal rows(late.at("labels").type());
  for (int64_t host = 0; host < 2; ++host) {
    const Batch part = data.host_batch(1000, host, 2);
    EXPECT_EQ(part.at("images").dims(), (Dims{2, 2, 3, 1}));
    for (int64_t i = 0; i < 2; ++i) rows.set_int(2 * host + i, part.at("labels").as_int(i));
  }
  EXPECT_EQ(rows, late.at("labels"));
}

TEST_F(ImageDatasetTest, PackedLinesAndArraysHoldTheSame) {
  const ImageDataset plain(config(write("a.csv", csv(50))));
  const std::string packed = path("a.csv.gz");
  const gzFile out = gzopen(packed.c_str(), "wb");
  const std::string text = csv(50);
  ASSERT_EQ(gzwrite(out, text.data(), static_cast<unsigned>(text.size())), static_cast<int>(text.size()));
  gzclose(out);
  EXPECT_EQ(ImageDataset(config(packed)).batch(3), plain.batch(3));

  std::string pixels, numbers;
  for (char i = 0; i < 50; ++i) {
    pixels += std::string{i, 0, 1, 2, 3, '\xfa'};
    numbers += std::string{i, 0, 0, 0, 0, 0, 0, 0};
  }
  write("arrays/images.npy", npy("|u1", "(50, 2, 3)", pixels));
  write("arrays/labels.npy", npy("<i8", "(50,)", numbers));
  EXPECT_EQ(ImageDataset(config(path("arrays"))).batch(3), plain.batch(3));
  write("arrays/images.npy", npy("|u1", "(50, 2, 3, 1)", pixels));
  EXPECT_EQ(ImageDataset(config(path("arrays"))).held_out()->batch(0), plain.held_out()->batch(0));
}

TEST_F(ImageDatasetTest, ChangesTrainingImagesByTheirPlace) {
  ImageDataset::Config c = config(write("a.csv", csv(50)));
  const ImageDataset plain(c);
  c.augment = {RandomFlip{}};
  const ImageDataset data(c), again(c);
  int flipped = 0;
  for (int64_t step = 0; step < 30; ++step) {
    const Batch batch = data.batch(step), before = plain.batch(step);
    EXPECT_EQ(again.batch(step), batch);
    EXPECT_EQ(batch.at("labels"), before.at("labels"));
    for (int64_t row = 0; row < 4; ++row) {
      const bool flip = batch.at("images").as_int(6 * row + 5) == 2;
      EXPECT_EQ(batch.at("images").as_int(6 * row), before.at("images").as_int(6 * row + (flip ? 2 : 0)));
      flipped += flip ? 1 : 0;
    }
  }
  EXPECT_NEAR(flipped, 60, 25);
  EXPECT_EQ(data.held_out()->batch(0), plain.held_out()->batch(0));
}

TEST_F(ImageDatasetTest, EvaluatesOnOtherImages) {
  ImageDataset::Config c = config(write("a.csv", csv(8)));
  c.eval_fraction = 0;
  EXPECT_EQ(ImageDataset(c).held_out(), nullptr);
  c.eval_path = write("b.csv", csv(3));
  EXPECT_THAT(labels(ImageDataset(c).held_out()->batch(0)), testing::ElementsAre(0, 1, 2, -1));
  EXPECT_THAT(ImageDataset(c).describe(), HasSubstr("8 images of 2 x 3 x 1, 8 for training, 3 held out"));
}

TEST_F(ImageDatasetTest, RefusesWhatItCantRead) {
  const auto refusal = [&](const std::string& path) {
    return std::string(thrown([&] { ImageDataset{config(path)}; }).what());
  };
  EXPECT_THAT(refusal(path("none")), HasSubstr("not_found"));
  EXPECT_THAT(refusal(write("a.png", "")), HasSubstr("ends in .csv or .csv.gz"));
  EXPECT_THAT(refusal(write("a.csv", "1,2,3,4,5,6,0\n1,2,3,x,5,6,0\n")), HasSubstr("a.csv:2 (byte 14)"));
  EXPECT_THAT(refusal(write("b.csv", "1,2,3,4,5,6,100\n")), HasSubstr("100 in line 1"));
  EXPECT_THAT(refusal(write("c.csv", "")), HasSubstr("the training part has no images"));
  EXPECT_THAT(refusal(write("d.csv", csv(1))), HasSubstr("the held-out part has no images"));
  EXPECT_THAT(refusal(write("e.csv.gz", csv(5))), HasSubstr("not a gzip file"));

  make_dirs(path("f")).value();
  EXPECT_THAT(refusal(path("f")), HasSubstr("images.npy"));
  write("f/images.npy", npy("<f4", "(1, 2, 3)", std::string(24, '\0')));
  EXPECT_THAT(refusal(path("f")), HasSubstr("[1,2,3] of float32"));
  write("f/images.npy", npy("|u1", "(1, 3, 2)", std::string(6, '\0')));
  EXPECT_THAT(refusal(path("f")), HasSubstr("[N,2,3,1] of uint8"));
  write("f/images.npy", npy("|u1", "(1, 2, 3)", std::string(6, '\0')));
  write("f/labels.npy", npy("|u1", "(2,)", std::string(2, '\0')));
  EXPECT_THAT(refusal(path("f")), HasSubstr("one for each image"));
  write("f/labels.npy", npy("|i1", "(1,)", "\xff"));
  EXPECT_THAT(refusal(path("f")), HasSubstr("-1 at index 0"));
}

TEST_F(ImageDatasetTest, ChecksItsFields) {
  const auto refusal = [](void set(ImageDataset::Config&)) {
    ImageDataset::Config c = config("x");
    set(c);
    return std::string(thrown([&] { validate(c); }).what());
  };
  EXPECT_THAT(refusal([](ImageDataset::Config& c) { c.height = 0; }), HasSubstr("height"));
  EXPECT_THAT(refusal([](ImageDataset::Config& c) { c.eval_path = "y"; }), HasSubstr("must be 0 with an eval_path"));
  EXPECT_THAT(refusal([](ImageDataset::Config& c) { c.height = c.width = c.channels = 65536; }), HasSubstr("1 TiB"));
  EXPECT_THAT(refusal([](ImageDataset::Config& c) { c.num_classes = 0; }), HasSubstr("num_classes"));
}

}  // namespace
}  // namespace tenon
