#include "tenon/nn/language/loss.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tenon/ir/interpreter.h"
#include "tenon/nn/functional.h"

namespace tenon {
namespace {

// Three of the five that count have their label's logit on top; a tie counts, a label outside doesn't.
TEST(CrossEntropy, CountsWhatIsRightWhenEvaluating) {
  const CrossEntropy loss{CrossEntropy::Config{}};
  const std::vector<double> logits = {3, 1, 2, 0, 1, 9, 4, 4, 0, 1, 0, 0, 7, 0, 0, 2, 0, 0};
  const std::vector<int64_t> labels = {0, 2, 1, 2, -1, 3};
  const std::vector<Literal> args = {Literal::from(DType::f32, {2, 3, 3}, logits),
                                     Literal::from(DType::i32, {2, 3}, labels)};
  const Graph graph =
      make_graph(std::vector<TensorType>{args[0].type(), args[1].type()}, [&](const std::vector<Tensor>& t) {
        const auto out = functional(loss, &TokenLoss::forward, Nest(), Tensor(), false, t[0], t[1]);
        const Output& accuracy = out.collected.summaries.at("accuracy");
        return std::vector<Tensor>{accuracy.value, accuracy.weight};
      });
  const std::vector<Literal> result = interpret(graph, args);
  EXPECT_NEAR(result[0].as_double(0), 3.0 / 5, 1e-7);
  EXPECT_EQ(result[1].as_double(0), 5);
  make_graph(std::vector<TensorType>{args[0].type(), args[1].type()}, [&](const std::vector<Tensor>& t) {
    const auto out = functional(loss, &TokenLoss::forward, Nest(), Tensor(), true, t[0], t[1]);
    EXPECT_TRUE(out.collected.summaries.empty());
    return std::vector<Tensor>{out.result.sum};
  });
}

// What is added in training is told apart, and isn't there in evaluations.
TEST(CrossEntropy, EvaluatesWithoutWhatTrainingAdds) {
  CrossEntropy::Config config;
  config.label_smoothing = 0.2;
  config.z_loss = 0.1;
  const CrossEntropy plain{CrossEntropy::Config{}}, more{config};
  const std::vector<double> logits = {3, 1, 2, 0, 1, 9};
  const std::vector<int64_t> labels = {0, 1};
  const std::vector<Literal> args = {Literal::from(DType::f32, {2, 3}, logits), Literal::from(DType::i32, {2}, labels)};
  const Graph graph =
      make_graph(std::vector<TensorType>{args[0].type(), args[1].type()}, [&](const std::vector<Tensor>& t) {
        const auto sum = [&](const CrossEntropy& loss, bool training) {
          return functional(loss, &TokenLoss::forward, Nest(), Tensor(), training, t[0], t[1]);
        };
        return std::vector<Tensor>{sum(plain, true).result.sum, sum(more, false).result.sum,
                                   sum(more, true).collected.summaries.at("cross_entropy").value,
                                   sum(more, true).result.sum};
      });
  const std::vector<Literal> result = interpret(graph, args);
  EXPECT_EQ(result[1], result[0]);
  EXPECT_NEAR(result[2].as_double(0) * 2, result[0].as_double(0), 1e-6);
  double want = 0;
  for (size_t row = 0; row < 2; ++row) {
    double z = 0, mean = 0;
    for (size_t v = 0; v < 3; ++v) {
      z += std::exp(logits[row * 3 + v]);
      mean += logits[row * 3 + v] / 3;
    }
    const double log_z = std::log(z), label = logits[row * 3 + static_cast<size_t>(labels[row])];
    want += log_z - 0.8 * label - 0.2 * mean + 0.1 * log_z * log_z;
  }
  EXPECT_NEAR(result[3].as_double(0), want, 1e-5);
}

}  // namespace
}  // namespace tenon
