#include "tenon/trainer/evaluator.h"

#include <gmock/gmock.h>

#include <cmath>

#include "tenon/base/file.h"
#include "tenon/data/text_dataset.h"
#include "tenon/trainer/run_history.h"
#include "tenon/trainer/test_run.h"

namespace tenon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class EvaluatorTest : public RunTest {
 protected:
  // A dataset of another shape than that of training.
  LossEvaluator::Config other() const {
    TextDataset::Config data;
    data.path = path("text.txt");
    data.batch_size = 3;
    data.sequence_length = 32;
    LossEvaluator::Config c;
    c.data = Slot<Dataset>(data);
    return c;
  }
  std::vector<double> steps(const std::string& metric) const {
    std::vector<double> out;
    for (const auto& [step, value] : read_metric(path("run"), metric).value()) out.push_back(step);
    return out;
  }
  double last(const std::string& metric) const { return read_metric(path("run"), metric).value().back().second; }
};

TEST_F(EvaluatorTest, SeveralSetsEachAtItsTime) {
  Trainer::Config c = config(8);
  c.eval_every_n_steps = 4;
  LossEvaluator::Config often = other(), training;
  often.every_n_steps = 3;
  training.part = DataPart::training;
  training.max_batches = 2;
  training.every_n_steps = 0;
  c.evaluators["often"] = often;
  c.evaluators["training"] = training;
  run("run", c);
  EXPECT_THAT(steps("eval/loss"), ElementsAre(4, 8));
  EXPECT_THAT(steps("often/loss"), ElementsAre(3, 6, 8));
  EXPECT_THAT(steps("training/loss"), ElementsAre(8));
  EXPECT_THAT(output_, HasSubstr("often at step 3: loss "));
  // The tiny model sees one token at a time: how the same text is cut doesn't matter.
  EXPECT_NEAR(last("often/loss"), last("eval/loss"), 1e-5);
  EXPECT_EQ(last("often/num_tokens"), 600);
  EXPECT_EQ(last("training/num_tokens"), 2 * 8 * 16);
  EXPECT_NEAR(last("eval/perplexity"), std::exp(last("eval/loss")), 1e-9);
  EXPECT_NEAR(last("eval/bits_per_byte"), last("eval/loss") / std::log(2), 1e-12);
}

// The model's mean by token, against the labels themselves.
TEST_F(EvaluatorTest, MeansByTokenOfTheModel) {
  const Trainer::Config c = config(1);
  run("run", c);
  double sum = 0, count = 0;
  const auto held_out = TextDataset(c.data.as<TextDataset>()).held_out();
  for (int64_t i = 0; i < *held_out->num_batches(); ++i) {
    for (const double label : held_out->batch(i).at("target_labels").to_doubles()) {
      if (label < 0) continue;
      sum += label;
      ++count;
    }
  }
  EXPECT_NEAR(last("eval/mean_label"), sum / count, 1e-3);
}

TEST_F(EvaluatorTest, NothingHeldOut) {
  Trainer::Config c = config(2);
  c.data.as<TextDataset>().eval_fraction = 0;
  EXPECT_TRUE(run("run", c).eval.empty());
  LossEvaluator::Config whole = other();
  whole.data->as<TextDataset>().eval_fraction = 0;
  c.evaluators["whole"] = whole;
  const Error e = failure("other", c);
  EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
  EXPECT_EQ(e.path(), "evaluators.whole.data");
  LossEvaluator::Config endless;
  endless.part = DataPart::training;
  c.evaluators["whole"] = endless;
  EXPECT_THAT(failure("other", c).what(), HasSubstr("evaluators.whole.max_batches"));
}

}  // namespace
}  // namespace tenon
