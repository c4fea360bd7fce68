#include "tenon/nn/position/position_embedding.h"

#include <gmock/gmock.h>

#include <cmath>

#include "tenon/ir/ops.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/nn/functional.h"
#include "tenon/nn/testing/tiny_lm.h"

namespace tenon {
namespace {

Literal sinusoids(SinusoidLayout layout) {
  SinusoidalPositions::Config config;
  config.input_dim = 6;
  config.theta = 100;
  config.layout = layout;
  const SinusoidalPositions positions(config);
  const Values inputs{{"p", Literal::from(DType::i32, {1, 3}, std::vector<int64_t>{0, 5, 40})}};
  return evaluate(
             {}, inputs,
             [&](const Nest& s, const Nest& in) {
               return Nest{
                   {"", functional(positions, &PositionEmbedding::forward, s, Tensor(), false, in.at("p")).result}};
             })
      .at("");
}

TEST(SinusoidalPositions, AreSinesAndCosines) {
  const Literal interleaved = sinusoids(SinusoidLayout::interleaved), halves = sinusoids(SinusoidLayout::halves);
  ASSERT_EQ(interleaved.dims(), (Dims{1, 3, 6}));
  const double at[] = {0, 5, 40};
  for (int64_t t = 0; t < 3; ++t) {
    for (int64_t i = 0; i < 3; ++i) {
      const double angle = at[t] / std::pow(100.0, static_cast<double>(i) / 3);
      EXPECT_NEAR(interleaved.as_double(t * 6 + 2 * i), std::sin(angle), 4e-6);
      EXPECT_NEAR(interleaved.as_double(t * 6 + 2 * i + 1), std::cos(angle), 4e-6);
      EXPECT_NEAR(halves.as_double(t * 6 + i), std::sin(angle), 4e-6);
      EXPECT_NEAR(halves.as_double(t * 6 + 3 + i), std::cos(angle), 4e-6);
    }
  }
}

CausalLm::Config learned(int64_t max_positions) {
  CausalLm::Config c = tiny_lm(StackForm::scan);
  LearnedPositions::Config positions;
  positions.max_positions = max_positions;
  c.position_embedding = positions;
  return c;
}

TEST(LearnedPositions, TextsThatAreTooLongAreErrors) {
  const Values batch = packed_batch({{7}}, 11, 1);
  const CausalLm fits(learned(7)), model(learned(6));
  loss_and_gradients(fits, initial_values(fits, 1), batch);
  const auto error = error_of([&] { loss_and_gradients(model, initial_values(model, 1), batch); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::invalid_argument);
  EXPECT_EQ(error->path(), "position_embedding");
  EXPECT_THAT(std::string(error->what()), ::testing::HasSubstr("7 tokens"));
  std::optional<int64_t> longest;
  evaluate(initial_values(model, 1), {}, [&](const Nest& s, const Nest&) {
    longest = functional(model, &LanguageModel::max_length, s, Tensor(), false).result;
    return functional(model, &LanguageModel::init_cache, s, Tensor(), false, CacheSizes{1, 16}).result;
  });
  EXPECT_EQ(longest, 6) << "of a text: a cache may have room for more";
}

}  // namespace
}  // namespace tenon
