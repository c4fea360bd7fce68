#include "tenon/nn/language/loss.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace tenon
