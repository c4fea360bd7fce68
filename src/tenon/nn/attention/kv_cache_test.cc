// Caches in a whole model: what extend_step writes against all tokens at once.
#include "tenon/nn/attention/kv_cache.h"

#include <gmock/gmock.h>

#include "tenon/ir/ops.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/nn/functional.h"
#include "tenon/nn/state_space/mamba2.h"
#include "tenon/nn/testing/tiny_lm.h"
#include "tenon/nn/transformer/mixer_layer.h"

namespace tenon {
namespace {

constexpr int64_t kVocab = 11, kLength = 14, kWindow = 4;

const Values& batch() {
  static const Values values = packed_batch({{kLength}, {kLength}}, kVocab, 2);
  return values;
}

CausalLm::Config model_of(StackForm form, const Mask& mask, const Slot<KvCache>& cache) {
  CausalLm::Config c = tiny_lm(form);
  c.decoder.as<Decoder>().num_layers = 2;
  attention_of(c).core->mask = mask;
  attention_of(c).kv_cache = cache;
  return c;
}

CausalLm::Config sliding(StackForm form) {
  return model_of(form, SlidingWindowMask{kWindow}, SlidingKvCache::Config());
}
CausalLm::Config dense(StackForm form) { return model_of(form, CausalMask{}, DenseKvCache::Config()); }

// The tokens of each row that a step adds, and how many the call is given, padding included.
struct Step {
  std::vector<int64_t> count;
  int64_t padded;
};

Tensor numbers(const std::vector<int64_t>& values, bool scalar) {
  return scalar ? full({DType::i32, {}}, static_cast<double>(values[0]))
                : constant(Literal::from(DType::i32, {static_cast<int64_t>(values.size())}, values));
}

// Tokens start… of each row, and behind the row's end its first tokens again.
Tensor tokens_at(const Tensor& ids, const std::vector<int64_t>& start, int64_t padded) {
  std::vector<Tensor> rows;
  for (size_t row = 0; row < start.size(); ++row) {
    const auto r = static_cast<int64_t>(row);
    const Tensor of_row = slice_dim(ids, 0, r, r + 1);
    rows.push_back(slice_dim(concatenate(std::vector{of_row, of_row}, 1), 1, start[row], start[row] + padded));
  }
  return concatenate(rows, 0);
}

// Every step's logits against those of forward at the last token it added. One number a step for all rows where they
// are equally long and `ragged` is false.
void expect_equals_forward(const CausalLm::Config& config, const std::vector<Step>& steps, bool ragged) {
  const CausalLm model(config);
  std::vector<std::vector<int64_t>> ends;
  const Values got = evaluate(initial_values(model, 9), batch(), [&](const Nest& s, const Nest& b) {
    Nest out{{"forward", functional(model, &CausalLm::logits, s, Tensor(), false, b).result}};
    Nest cache = functional(model, &LanguageModel::init_cache, s, Tensor(), false, CacheSizes{2, kLength + 6}).result;
    std::vector<int64_t> start{0, 0};
    for (const Step& step : steps) {
      const std::vector<int64_t> last{step.count[0] - 1, step.count[1] - 1};
      auto [next, logits] =
          functional(model, &LanguageModel::extend_step, s, Tensor(), false, cache,
                     tokens_at(b.at("input_ids"), start, step.padded), numbers(start, !ragged), numbers(last, !ragged))
              .result;
      cache = std::move(next);
      for (size_t row = 0; row < 2; ++row) start[row] += step.count[row];
      out.emplace(std::to_string(ends.size()), logits);
      ends.push_back(start);
    }
    return out;
  });
  for (size_t step = 0; step < ends.size(); ++step) {
    for (int64_t i = 0; i < 2 * kVocab; ++i) {
      const int64_t row = i / kVocab, token = ends[step][static_cast<size_t>(row)] - 1;
      EXPECT_NEAR(got.at(std::to_string(step)).as_double(i),
                  got.at("forward").as_double((row * kLength + token) * kVocab + i % kVocab), 3e-6)
          << "step " << step << " row " << row;
    }
  }
}

std::vector<Step> then_ones(std::vector<Step> steps, int64_t ones) {
  for (int64_t i = 0; i < ones; ++i) steps.push_back({{1, 1}, 1});
  return steps;
}

TEST(KvCache, SlidingEqualsForward) {
  for (const StackForm form : {StackForm::scan, StackForm::unroll}) {
    expect_equals_forward(sliding(form), then_ones({}, 9), false);                          // from the first token on
    expect_equals_forward(sliding(form), then_ones({{{7, 7}, 7}}, 5), false);               // longer than the window
    expect_equals_forward(sliding(form), then_ones({{{2, 2}, 6}}, 8), false);               // padding beyond the window
    expect_equals_forward(sliding(form), then_ones({{{3, 3}, 4}, {{6, 6}, 6}}, 4), false);  // a second piece
  }
}

TEST(KvCache, RowsOfDifferentLengths) {
  for (const StackForm form : {StackForm::scan, StackForm::unroll}) {
    for (const CausalLm::Config& config : {dense(form), sliding(form)}) {
      expect_equals_forward(config, then_ones({{{7, 2}, 7}}, 6), true);
      expect_equals_forward(config, then_ones({{{1, 5}, 5}, {{6, 1}, 6}}, 4), true);
    }
  }
}

TEST(KvCache, PrefixesSeeThemselvesAndNoPadding) {
  const CausalLm::Config config = model_of(StackForm::scan, PrefixMask{5}, DenseKvCache::Config());
  expect_equals_forward(config, then_ones({{{5, 5}, 8}}, 6), false);
  expect_equals_forward(config, then_ones({{{7, 5}, 8}}, 6), true);
}

// Two layers without attention for each one with it.
CausalLm::Config hybrid(StackForm form) {
  CausalLm::Config c = dense(form);
  Mamba2::Config mixer;
  mixer.head_dim = 4;
  mixer.state_dim = 3;
  mixer.num_groups = 2;
  mixer.chunk_size = 4;
  MixerLayer::Config layer;
  layer.mixer = mixer;
  auto& decoder = c.decoder.as<Decoder>();
  decoder.pattern = {layer, decoder.pattern[0], layer};
  decoder.num_layers = 6;
  return c;
}

TEST(KvCache, StateSpacesBesideAttention) {
  for (const StackForm form : {StackForm::scan, StackForm::unroll}) {
    expect_equals_forward(hybrid(form), then_ones({}, 8), false);                          // from the first token on
    expect_equals_forward(hybrid(form), then_ones({{{2, 2}, 6}}, 4), false);               // padding beyond a chunk
    expect_equals_forward(hybrid(form), then_ones({{{3, 3}, 4}, {{6, 6}, 6}}, 4), false);  // a second piece
    expect_equals_forward(hybrid(form), then_ones({{{1, 5}, 5}, {{6, 1}, 6}}, 4), true);
  }
}

TEST(KvCache, SlidingHoldsTheWindowAlone) {
  const CausalLm model(sliding(StackForm::scan));
  const Values cache = evaluate(initial_values(model, 1), {}, [&](const Nest& s, const Nest&) {
    return functional(model, &LanguageModel::init_cache, s, Tensor(), false, CacheSizes{2, 1000}).result;
  });
  ASSERT_EQ(cache.size(), 2U);
  for (const auto& [name, value] : cache) EXPECT_EQ(value.dims(), (Dims{2, 2, 2, kWindow, 2})) << name;
}

TEST(KvCache, SlidingNeedsAWindow) {
  const auto error = error_of([] { build(model_of(StackForm::scan, CausalMask{}, SlidingKvCache::Config())); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::unsupported);
  EXPECT_THAT(error->path(), ::testing::HasSubstr("attention.kv_cache"));
}

TEST(KvCache, StartsOfAnotherShapeAreErrors) {
  const CausalLm model(dense(StackForm::scan));
  const auto error = error_of([&] {
    evaluate(initial_values(model, 9), batch(), [&](const Nest& s, const Nest& b) {
      const Nest cache =
          functional(model, &LanguageModel::init_cache, s, Tensor(), false, CacheSizes{2, kLength}).result;
      const Tensor start = zeros({DType::i32, {3}}), last = zeros({DType::i32, {}});
      return functional(model, &LanguageModel::extend_step, s, Tensor(), false, cache, b.at("input_ids"), start, last)
          .result.first;
    });
  });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::shape_mismatch);
}

}  // namespace
}  // namespace tenon
