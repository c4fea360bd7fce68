// What the fixture of another library's models (tests/models) doesn't show: documents, parts, initial values, errors.
#include "tenon/nn/state_space/mamba2.h"

#include <gmock/gmock.h>

#include <cmath>

#include "tenon/ir/ops.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/nn/functional.h"
#include "tenon/nn/state_space/initializers.h"
#include "tenon/nn/testing/tiny_lm.h"
#include "tenon/nn/transformer/mixer_layer.h"

namespace tenon {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

Mamba2::Config tiny_mixer() {
  Mamba2::Config c;
  c.head_dim = 4;
  c.state_dim = 3;
  c.num_groups = 2;
  c.chunk_size = 4;
  return c;
}

CausalLm::Config tiny_model(const Mamba2::Config& mixer) {
  CausalLm::Config c = tiny_lm(StackForm::scan);
  auto& decoder = c.decoder.as<Decoder>();
  MixerLayer::Config layer;
  layer.mixer = mixer;
  decoder.pattern = {layer};
  decoder.num_layers = 2;
  return c;
}

Literal logits(const CausalLm& model, const Values& state, const Values& batch) {
  return evaluate(state, batch,
                  [&](const Nest& s, const Nest& b) {
                    return Nest{{"", functional(model, &CausalLm::logits, s, Tensor(), false, b).result}};
                  })
      .at("");
}

// Three documents and padding in a row, against each in a row of its own.
TEST(Mamba2, DocumentsOfOneRowDontSeeEachOther) {
  const CausalLm model(tiny_model(tiny_mixer()));
  const Values state = initial_values(model, 3);
  const std::vector<int64_t> lengths{5, 1, 4};
  const Values packed = packed_batch({lengths, {12}}, 11, 5);
  const Literal together = logits(model, state, packed);
  int64_t begin = 0;
  for (const int64_t length : lengths) {
    Values alone = packed_batch({{length}}, 11, 5);
    for (int64_t t = 0; t < length; ++t) {
      alone.at("input_ids").set_int(t, packed.at("input_ids").as_int(begin + t));
    }
    const Literal apart = logits(model, state, alone);
    for (int64_t i = 0; i < length * 11; ++i) {
      EXPECT_NEAR(together.as_double(begin * 11 + i), apart.as_double(i), 1e-6) << "document at " << begin;
    }
    begin += length;
  }
}

// And where a row is one text, whatever the batch says, they do.
TEST(Mamba2, RowsThatAreOneText) {
  CausalLm::Config config = tiny_model(tiny_mixer());
  const Values packed = packed_batch({{5, 7}}, 11, 5), whole = packed_batch({{12}}, 11, 5);
  Values batch = packed;
  batch.at("input_ids") = whole.at("input_ids");
  const Values state = initial_values(CausalLm(config), 3);
  const Literal separate = logits(CausalLm(config), state, batch), want = logits(CausalLm(config), state, whole);
  config.separate_documents = false;
  EXPECT_EQ(logits(CausalLm(config), state, batch), want);
  EXPECT_NE(difference(separate, want, 1e-3), "");
}

TEST(CausalConv, IsASumOverTheLastTokens) {
  CausalConv::Config config;
  config.input_dim = 2;
  config.kernel_size = 3;
  config.activation = Identity{};
  const CausalConv conv(config);
  const Values state{{"kernel", Literal::from(DType::f32, {3, 2}, std::vector<double>{1, 10, 2, 20, 3, 30})},
                     {"bias", Literal::from(DType::f32, {2}, std::vector<double>{0.5, -0.5})}};
  Literal starts(TensorType{DType::i1, {1, 5}});
  starts.set_int(3, 1);
  const Values inputs{{"x", Literal::from(DType::f32, {1, 5, 2}, std::vector<double>{1, 1, 2, 0, 3, -1, 4, 2, 5, 1})},
                      {"starts", starts}};
  const Literal got =
      evaluate(state, inputs, [&](const Nest& s, const Nest& in) {
        return Nest{
            {"", functional(conv, &CausalConv::forward, s, Tensor(), false, in.at("x"), in.at("starts")).result}};
      }).at("");
  // 3 x[t] + 2 x[t-1] + x[t-2] + 0.5, and ten times that less 0.5; the fourth token sees none before it.
  EXPECT_THAT(got.to_doubles(), ::testing::ElementsAre(3.5, 29.5, 8.5, 19.5, 14.5, -20.5, 12.5, 59.5, 23.5, 69.5));
}

// Rows that take no token keep all of the cache; those that take one have what they'd have alone.
TEST(Mamba2, RowsWithoutATokenStayAsTheyAre) {
  Mamba2::Config config = tiny_mixer();
  config.input_dim = 8;
  const Mamba2 mixer(config);
  const int64_t B = 2;
  std::vector<double> numbers;
  for (int64_t i = 0; i < B * 6 * 8; ++i) numbers.push_back(std::sin(static_cast<double>(i)));
  const Values inputs{{"x", Literal::from(DType::f32, {B, 6, 8}, numbers)}};
  const Values got = evaluate(initial_values(mixer, 3), inputs, [&](const Nest& s, const Nest& in) {
    const auto count = [](int64_t first, int64_t second) {
      return constant(Literal::from(DType::i32, {2}, std::vector<int64_t>{first, second}));
    };
    const auto extend = [&](const Nest& cache, int64_t begin, int64_t end, const Tensor& start, const Tensor& some) {
      return functional(mixer, &Mamba2::extend_step, s, Tensor(), false, cache, slice_dim(in.at("x"), 1, begin, end),
                        DecodeStep{start, some})
          .result.first;
    };
    const Nest empty = functional(mixer, &Mamba2::init_cache, s, Tensor(), false, B, int64_t{8}).result;
    const Nest before = extend(empty, 0, 5, count(0, 0), count(5, 5));
    const Nest both = extend(before, 5, 6, count(5, 5), count(1, 1)),
               one = extend(before, 5, 6, count(5, 5), count(1, 0));
    Nest out;
    for (const auto& [name, array] : one) {
      out.emplace(name + ".first", slice_dim(array, 0, 0, 1) - slice_dim(both.at(name), 0, 0, 1));
      out.emplace(name + ".second", slice_dim(array, 0, 1, 2) - slice_dim(before.at(name), 0, 1, 2));
      out.emplace(name + ".moved", slice_dim(both.at(name), 0, 1, 2) - slice_dim(before.at(name), 0, 1, 2));
    }
    return out;
  });
  ASSERT_EQ(got.size(), 12U);
  for (const auto& [name, apart] : got) {
    if (name.ends_with(".moved")) {
      EXPECT_THAT(apart.to_doubles(), ::testing::Contains(::testing::Ne(0))) << name;
    } else {
      EXPECT_THAT(apart.to_doubles(), Each(0)) << name;
    }
  }
}

TEST(GatedNorm, BothOrders) {
  const std::vector<double> x{1, -2, 3, 0.5}, gate{0.3, -1, 2, 0.1}, scale{1, 2, 0.5, -1};
  const Values state{{"scale", Literal::from(DType::f32, {4}, scale)}};
  const Values inputs{{"x", Literal::from(DType::f32, {1, 4}, x)}, {"gate", Literal::from(DType::f32, {1, 4}, gate)}};
  for (const GateOrder order : {GateOrder::gate_then_norm, GateOrder::norm_then_gate}) {
    GatedNorm::Config config;
    config.input_dim = 4;
    config.num_groups = 2;
    config.eps = 1e-3;
    config.order = order;
    const GatedNorm norm(config);
    const Literal got =
        evaluate(state, inputs, [&](const Nest& s, const Nest& in) {
          return Nest{
              {"", functional(norm, &GatedNorm::forward, s, Tensor(), false, in.at("x"), in.at("gate")).result}};
        }).at("");
    for (size_t i = 0; i < 4; ++i) {
      const auto open = [&](size_t j) { return gate[j] / (1 + std::exp(-gate[j])); };
      const auto in = [&](size_t j) { return order == GateOrder::gate_then_norm ? x[j] * open(j) : x[j]; };
      const size_t other = i ^ 1U;
      const double norm_of = in(i) / std::sqrt((in(i)*in(i) + in(other)*in(other)) / 2 + 1e-3);
      const double want = norm_of * scale[i] * (order == GateOrder::gate_then_norm ? 1 : open(i));
      EXPECT_NEAR(got.as_double(static_cast<int64_t>(i)), want, 1e-6);
    }
  }
}

// The published ranges; and what weight decay leaves alone.
TEST(Mamba2, StartsAsPublished) {
  Mamba2::Config config;
  config.input_dim = 2;
  config.inner_dim = 256;
  config.head_dim = 1;
  config.state_dim = 2;
  const Mamba2 mixer(config);
  const Values values = initial_values(mixer, 1);
  const auto expect_range = [&](const char* name, auto f, double low, double high) {
    double least = 1e9, most = -1e9;
    for (const double x : values.at(name).to_doubles()) {
      least = std::min(least, f(x));
      most = std::max(most, f(x));
    }
    EXPECT_GE(least, low * 0.9999) << name;
    EXPECT_LE(most, high * 1.0001) << name;
    EXPECT_LT(least, low + 0.1 * (high - low)) << name;
    EXPECT_GT(most, high - 0.2 * (high - low)) << name;
  };
  expect_range("a_log", [](double x) { return std::exp(x); }, 1, 16);
  expect_range("dt_bias", [](double x) { return std::log1p(std::exp(x)); }, 1e-3, 0.1);
  expect_range("x_conv.kernel", [](double x) { return x; }, -0.5, 0.5);
  EXPECT_THAT(values.at("d").to_doubles(), Each(1));
  // Half of the step sizes below the geometric mean of the ends.
  int64_t below = 0;
  for (const double x : values.at("dt_bias").to_doubles()) below += std::log1p(std::exp(x)) < 1e-2;
  EXPECT_NEAR(static_cast<double>(below), 128, 30);
  std::vector<std::string> undecayed;
  for (const ParamInfo& info : describe_state(mixer)) {
    if (info.decay_scale == 0) undecayed.push_back(info.path);
  }
  EXPECT_THAT(undecayed, ::testing::ElementsAre("a_log", "dt_bias", "d", "x_conv.bias", "b_conv.bias", "c_conv.bias",
                                                "norm.scale"));
}

// The cache doesn't grow with the text.
TEST(Mamba2, CacheHasOneSize) {
  const CausalLm model(tiny_model(tiny_mixer()));
  const Values cache = evaluate(initial_values(model, 1), {}, [&](const Nest& s, const Nest&) {
    return functional(model, &LanguageModel::init_cache, s, Tensor(), false, CacheSizes{2, 1000}).result;
  });
  ASSERT_EQ(cache.size(), 4U);
  EXPECT_EQ(cache.at("0::1.state").dims(), (Dims{2, 2, 2, 3, 2, 4}));
  EXPECT_EQ(cache.at("0::1.x").dims(), (Dims{2, 2, 3, 16}));
}

TEST(Mamba2, RefusesWhatDoesntFit) {
  const auto refused = [](auto change) {
    CausalLm::Config config = tiny_model(tiny_mixer());
    change(config.decoder.as<Decoder>().pattern[0].as<MixerLayer>().mixer.as<Mamba2>());
    const auto error = error_of([&] { CausalLm model(config); });
    EXPECT_TRUE(error);
    return error ? std::string(error->what()) : "";
  };
  EXPECT_THAT(refused([](Mamba2::Config& c) { c.head_dim = 3; }),
              HasSubstr("inner_dim: must be a multiple of head_dim * num_groups"));
  EXPECT_THAT(refused([](Mamba2::Config& c) { c.chunk_size = 0; }), HasSubstr("chunk_size"));
  EXPECT_THAT(refused([](Mamba2::Config& c) { c.max_dt = 0.0; }), HasSubstr("max_dt: must be above min_dt"));
  EXPECT_THAT(refused([](Mamba2::Config& c) { c.conv.as<CausalConv>().kernel_size = 1; }), HasSubstr("kernel_size"));
  EXPECT_THAT(refused([](Mamba2::Config& c) { c.a_init = LogOfUniform{.low = 0}; }), HasSubstr("low"));
}

}  // namespace
}  // namespace tenon
