// Training a classifier of images: batch norm's moments are the batch's, whatever devices it is split over, and a run
// that stops and resumes keeps them.
#include <gmock/gmock.h>

#include <cmath>

#include "tenon/base/file.h"
#include "tenon/data/image_dataset.h"
#include "tenon/nn/testing/evaluate.h"
#include "tenon/nn/vision/image_classifier.h"
#include "tenon/nn/vision/resnet.h"
#include "tenon/trainer/test_run.h"
#include "tenon/trainer/train_session.h"

namespace tenon {
namespace {

using testing::HasSubstr;

class ImageRunTest : public RunTest {
 protected:
  // 40 images of 4 x 4, whose class is where their brightest row is.
  std::string images() const {
    std::string text;
    for (int i = 0; i < 40; ++i) {
      for (int p = 0; p < 16; ++p) text += std::to_string((p / 4 == i % 4 ? 200 : 40) + (7 * i + 3 * p) % 40) + ",";
      text += std::to_string(i % 4) + "\n";
    }
    write_file_atomic(path("images.csv"), text).value();
    return path("images.csv");
  }
  Trainer::Config image_config(int64_t steps) const {
    ResNet::Config encoder;
    encoder.stem.as<Conv2D>().kernel_size = {3, 3};
    encoder.stem.as<Conv2D>().strides = {1, 1};
    encoder.stem.as<Conv2D>().padding = SamePadding{};
    encoder.stem_pool.reset();
    encoder.stem_dim = 4;
    encoder.block = BasicBlock::Config();
    encoder.depths = {1, 1};
    ImageClassifier::Config model;
    model.height = model.width = 4;
    model.channels = 1;
    model.num_classes = 4;
    model.feature_dim = 8;
    model.encoder = encoder;
    ImageDataset::Config data;
    data.path = images();
    data.batch_size = 8;
    data.height = data.width = 4;
    data.num_classes = 4;
    data.eval_fraction = 0.2;
    Trainer::Config c = config(steps);
    c.model = model;
    c.data = data;
    return c;
  }
  static Values state_after(const Trainer& t, const Mesh& mesh, int64_t steps) {
    TrainSession s(t.model(), t.learner(),
                   {cpu(static_cast<int>(mesh.num_devices())),
                    {mesh, t.config().data->batch_types(), t.config().accumulation},
                    3});
    s.initialize();
    for (int64_t i = 0; i < steps; ++i) s.train_step(i, t.data().batch(i));
    Values out;
    for (auto& [name, value] : s.export_state()) out.emplace(name, std::move(value));
    return out;
  }
};

TEST_F(ImageRunTest, MomentsAreTheWholeBatchsOnAMesh) {
  const Trainer t(image_config(3));
  const Values one = state_after(t, Mesh(), 3);
  ASSERT_TRUE(one.contains("encoder.norm.variance"));
  EXPECT_GT(std::abs(one.at("encoder.norm.variance").as_double(0) - 1), 1e-3);
  const Values four = state_after(t, {{"fsdp", 2}, {"model", 2}}, 3);
  ASSERT_EQ(four.size(), one.size());
  for (const auto& [name, want] : one) {
    if (name.ends_with(".mean") || name.ends_with(".variance") || name.ends_with("weight")) {
      EXPECT_EQ(difference(four.at(name), want, name.starts_with("learner") ? 1e-3 : 1e-4), "") << name;
    }
  }
}

TEST_F(ImageRunTest, LearnsAndSaysSoInItsUnits) {
  const TrainResult r = run("run", image_config(60));
  EXPECT_EQ(r.unit, "examples");
  EXPECT_EQ(r.eval.at("loss.accuracy"), 1);
  EXPECT_EQ(r.eval.at("num_examples"), 8);
  EXPECT_FALSE(r.eval.contains("perplexity"));
  EXPECT_FALSE(r.eval.contains("bits_per_byte"));
  EXPECT_THAT(output_, HasSubstr(" examples/s"));
  EXPECT_THAT(output_, HasSubstr("accuracy=1.0000 examples_per_s="));
  EXPECT_THAT(read_file(path("run/metrics.jsonl")).value(), HasSubstr("\"train/num_examples\":8"));
}

TEST_F(ImageRunTest, ResumesWithItsMoments) {
  run("whole", image_config(20));
  run("parts", image_config(10));
  Trainer::Config longer = image_config(20);
  const TrainResult resumed = run("parts", longer);
  EXPECT_EQ(resumed.step, 20);
  EXPECT_EQ(losses(path("parts")), losses(path("whole")));
}

}  // namespace
}  // namespace tenon
