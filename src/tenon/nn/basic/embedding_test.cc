#include "tenon/nn/basic/embedding.h"

#include <gtest/gtest.h>

#include "tenon/config/validate.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/nn/functional.h"
#include "tenon/nn/testing/evaluate.h"

namespace tenon {
namespace {

Embedding::Config config(double multiplier) {
  Embedding::Config c;
  c.vocab_size = 3;
  c.embedding_dim = 2;
  c.multiplier = multiplier;
  return c;
}

// "rows": forward of ids {2, 0, 7}; "logits": attend of {1, 10}.
Values run(double multiplier) {
  const Embedding embedding(config(multiplier));
  const Values state{{"weight", Literal::from(DType::f32, {3, 2}, std::vector<double>{1, 2, 3, 4, 5, 6})}};
  const Values inputs{{"ids", Literal::from(DType::i32, {1, 3}, std::vector<double>{2, 0, 7})},
                      {"x", Literal::from(DType::f32, {1, 2}, std::vector<double>{1, 10})}};
  return evaluate(state, inputs, [&](const Nest& s, const Nest& i) {
    return Nest{{"rows", functional(embedding, &Embedding::forward, s, Tensor(), false, i.at("ids")).result},
                {"logits", functional(embedding, &Embedding::attend, s, Tensor(), false, i.at("x")).result}};
  });
}

TEST(Embedding, ReadsRowsTheNearestForIdsOutside) {
  EXPECT_EQ(run(1).at("rows"), Literal::from(DType::f32, {1, 3, 2}, std::vector<double>{5, 6, 1, 2, 5, 6}));
}

TEST(Embedding, MultipliesInputsAlone) {
  EXPECT_EQ(run(3).at("rows"), Literal::from(DType::f32, {1, 3, 2}, std::vector<double>{15, 18, 3, 6, 15, 18}));
  EXPECT_EQ(run(3).at("logits"), Literal::from(DType::f32, {1, 3}, std::vector<double>{21, 43, 65}));
}

TEST(Embedding, ChecksItsMultiplier) {
  const auto e = error_of([] { validate(config(0)); });
  ASSERT_TRUE(e);
  EXPECT_EQ(e->path(), "multiplier");
}

}  // namespace
}  // namespace tenon
