#include "tenon/nn/language/causal_lm.h"

#include <gmock/gmock.h>

#include <cmath>

#include "tenon/config/define.h"
#include "tenon/ir/op_def.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/random.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/nn/functional.h"
#include "tenon/nn/testing/tiny_lm.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;

const Values& batch() {
  static const Values values = packed_batch({{5, 3}, {7}}, 11, 1);
  return values;
}

Values logits(const CausalLm& model, const Values& state, const Values& inputs) {
  return evaluate(state, inputs, [&](const Nest& s, const Nest& b) {
    return Nest{{"logits", functional(model, &CausalLm::logits, s, Tensor(), false, b).result}};
  });
}

TEST(CausalLm, ScanAndUnrollAreEqualToTheBit) {
  const CausalLm scanned(tiny_lm(StackForm::scan)), unrolled(tiny_lm(StackForm::unroll));
  const Values stacked = initial_values(scanned, 3), apart = initial_values(unrolled, 3);
  EXPECT_EQ(unstack(stacked), apart);
  const Values results = loss_and_gradients(scanned, stacked, batch());
  EXPECT_TRUE(results.contains("grads.decoder.layers.0::1.attention.qkv.projection.query.weight"));
  EXPECT_EQ(unstack(results), loss_and_gradients(unrolled, apart, batch()));
}

TEST(CausalLm, PatternsOfLayers) {
  const auto config = [](StackForm form) {
    CausalLm::Config c = tiny_lm(form);
    auto& decoder = c.decoder.as<Decoder>();
    decoder.pattern.push_back(decoder.pattern[0]);
    decoder.pattern[1].as<DecoderLayer>().feed_forward.as<GatedFeedForward>().hidden_dim = 6;
    return c;
  };
  const CausalLm scanned(config(StackForm::scan)), unrolled(config(StackForm::unroll));
  const Values stacked = initial_values(scanned, 4), apart = initial_values(unrolled, 4);
  EXPECT_EQ(apart.at("decoder.layers.3.feed_forward.gate.weight").dims(), (Dims{8, 6}));
  EXPECT_EQ(unstack(stacked), apart);
  EXPECT_EQ(unstack(loss_and_gradients(scanned, stacked, batch())), loss_and_gradients(unrolled, apart, batch()));
}

TEST(CausalLm, InitialLossIsThatOfGuessing) {
  const CausalLm model(tiny_lm(StackForm::scan));
  const double loss = loss_and_gradients(model, initial_values(model, 5), batch()).at("loss").as_double(0);
  EXPECT_NEAR(loss, std::log(11.0), 0.2);
}

int64_t count_ops(const Graph& graph, RegionId region, std::string_view name) {
  int64_t count = 0;
  for (OpId id : graph.trace->region(region).ops) {
    const OpInfo& op = graph.trace->op(id);
    count += op.def->name == name;
    for (RegionId inner : op.regions) count += count_ops(graph, inner, name);
  }
  return count;
}

TEST(CausalLm, RematPoliciesAreEqualToTheBit) {
  for (const StackForm form : {StackForm::scan, StackForm::unroll}) {
    const Values state = initial_values(CausalLm(tiny_lm(form)), 6);
    const Values want = loss_and_gradients(CausalLm(tiny_lm(form)), state, batch());
    std::map<std::string, int64_t> dots;
    const auto try_policy = [&](const std::string& name, const RematPolicy& policy) {
      CausalLm::Config c = tiny_lm(form);
      c.decoder.as<Decoder>().pattern[0]->remat = policy;
      const CausalLm model(c);
      EXPECT_EQ(loss_and_gradients(model, state, batch()), want) << name;
      const NestGraph program =
          nest_graph(state, batch(), [&](const Nest& s, const Nest& b) { return loss_and_gradients(model, s, b); });
      dots[name] = count_ops(program.graph, program.graph.root, "dot_general");
    };
    try_policy("everything", SaveEverything{});
    try_policy("nothing", SaveNothing{});
    try_policy("dots", SaveDots{});
    try_policy("tags", SaveTags{.device = {"q_proj", "k_proj", "v_proj", "context", "hidden"}});
    EXPECT_EQ(dots["everything"], dots["dots"]);
    EXPECT_GT(dots["nothing"], dots["tags"]);
    EXPECT_GT(dots["tags"], dots["dots"]);
  }
}

TEST(CausalLm, RematOfWholeModelAndNestedScopes) {
  CausalLm::Config c = tiny_lm(StackForm::scan);
  const Values state = initial_values(CausalLm(c), 6);
  const Values want = loss_and_gradients(CausalLm(c), state, batch());
  c.remat = SaveNothing{};
  EXPECT_EQ(loss_and_gradients(CausalLm(c), state, batch()), want);
  attention_of(c).remat = SaveDots{};
  c.decoder.as<Decoder>().pattern[0]->remat = SaveTags{.device = {"hidden"}};
  EXPECT_EQ(loss_and_gradients(CausalLm(c), state, batch()), want);
}

TEST(CausalLm, LossChunksGiveTheSameLossAndGradients) {
  CausalLm::Config c = tiny_lm(StackForm::scan);
  const Values state = initial_values(CausalLm(c), 7);
  const Values want = loss_and_gradients(CausalLm(c), state, batch());
  for (const int64_t chunks : {2, 4, 8}) {
    c.loss_chunks = chunks;
    const Values got = loss_and_gradients(CausalLm(c), state, batch());
    ASSERT_EQ(got.size(), want.size());
    for (const auto& [name, value] : want) EXPECT_EQ(difference(got.at(name), value, 1e-6), "") << name;
  }
  c.loss_chunks = 3;
  const auto error = error_of([&] { loss_and_gradients(CausalLm(c), state, batch()); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::shape_mismatch);
  EXPECT_EQ(error->path(), "loss_chunks");
  EXPECT_THAT(error->what(), HasSubstr("got 3 pieces of 8 tokens"));
}

// A loss that says something about itself.
class TalkingLoss final : public TokenLoss {
 public:
  struct Config : TokenLoss::Config {
    TENON_CONFIG()
  };
  explicit TalkingLoss(const Config& c) : TokenLoss(c), loss_(this, "loss", CrossEntropy::Config{}) {}
  LossSum forward(const Tensor& logits, const Tensor& labels) const override {
    summary("live", sum_all(convert(greater_equal(labels, zeros_like(labels)), DType::f32)), Merge::sum);
    aux("logits", sum_all(logits * logits), Merge::sum);
    return loss_(logits, labels);
  }

 private:
  Child<CrossEntropy> loss_;
};
TENON_MODULE(TalkingLoss, TokenLoss, "for tests")

TEST(CausalLm, OutputsOfLossChunksAreMerged) {
  CausalLm::Config c = tiny_lm(StackForm::scan);
  c.loss = TalkingLoss::Config{};
  const Values state = initial_values(CausalLm(c), 7);
  const Values want = loss_and_gradients(CausalLm(c), state, batch());
  EXPECT_EQ(want.at("summaries.loss.live").as_double(0), 15);
  c.loss_chunks = 4;
  const Values got = loss_and_gradients(CausalLm(c), state, batch());
  EXPECT_EQ(got.at("summaries.loss.live").as_double(0), 15);
  EXPECT_EQ(difference(got.at("aux.loss.logits"), want.at("aux.loss.logits"), 1e-5), "");
}

// A loss that draws: the square of the sum of its draws is collected.
class DrawingLoss final : public TokenLoss {
 public:
  struct Config : TokenLoss::Config {
    TENON_CONFIG()
  };
  explicit DrawingLoss(const Config& c) : TokenLoss(c) {}
  LossSum forward(const Tensor& logits, const Tensor& labels) const override {
    const Tensor sum = sum_all(random_uniform(rng("draw"), labels.dims(), DType::f32));
    aux("square", sum * sum, Merge::sum);
    aux("sum", sum, Merge::sum);
    return {sum_all(logits), sum};
  }
};
TENON_MODULE(DrawingLoss, TokenLoss, "for tests")

TEST(CausalLm, LossChunksDrawOfTheirOwn) {
  CausalLm::Config c = tiny_lm(StackForm::scan);
  c.loss = DrawingLoss::Config{};
  c.loss_chunks = 2;
  const CausalLm model(c);
  const Values got = evaluate(initial_values(model, 7), batch(), [&](const Nest& s, const Nest& b) {
    return flatten_collected(functional(model, &Model::forward, s, make_key(1), true, b).collected);
  });
  // Were the chunks' sums equal, the sum of their squares would be half the square of their sum.
  const double sum = got.at("aux.loss.sum").as_double(0), squares = got.at("aux.loss.square").as_double(0);
  EXPECT_GT(squares, sum * sum / 2 * 1.0001);
}

TEST(CausalLm, ChunkedLossesStackNoLogits) {
  CausalLm::Config c = tiny_lm(StackForm::scan);
  c.loss_chunks = 4;
  const CausalLm model(c);
  const NestGraph program = nest_graph(initial_values(model, 7), batch(),
                                       [&](const Nest& s, const Nest& b) { return loss_and_gradients(model, s, b); });
  const Trace& trace = *program.graph.trace;
  int64_t scans = 0;
  for (OpId id : trace.region(program.graph.root).ops) {
    if (!is_scan(trace.op(id))) continue;
    ++scans;
    for (ValueId v : trace.op(id).results) {
      const Dims& dims = trace.value(v).type.dims;
      EXPECT_FALSE(dims.size() == 4 && dims[0] == 4 && dims[3] == 11) << to_string(trace.value(v).type);
    }
  }
  EXPECT_GE(scans, 4);  // layers and loss, forward and backward
}

TEST(CausalLm, DocumentsOfARowDontSeeEachOther) {
  const CausalLm model(tiny_lm(StackForm::scan));
  const Values state = initial_values(model, 8);
  Values changed = batch();
  for (int64_t i = 0; i < 5; ++i) changed.at("input_ids").set_int(i, (changed.at("input_ids").as_int(i) + 1 + i) % 11);
  const Literal a = logits(model, state, batch()).at("logits"), b = logits(model, state, changed).at("logits");
  ASSERT_EQ(a.dims(), (Dims{2, 8, 11}));
  for (int64_t t = 0; t < 8; ++t) {
    bool same = true;
    for (int64_t v = 0; v < 11; ++v) same = same && a.as_double(t * 11 + v) == b.as_double(t * 11 + v);
    EXPECT_EQ(same, t >= 5) << "token " << t;
  }
}

TEST(CausalLm, PackedRowsEqualRowsOfTheirOwn) {
  const CausalLm model(tiny_lm(StackForm::scan));
  const Values state = initial_values(model, 8);
  Values second;  // the second document of the first row
  for (const auto& [name, value] : batch()) {
    second.emplace(name, Literal(TensorType{DType::i32, {1, 3}}));
    for (int64_t i = 0; i < 3; ++i) second.at(name).set_int(i, value.as_int(5 + i));
  }
  const Literal packed = logits(model, state, batch()).at("logits"), alone = logits(model, state, second).at("logits");
  for (int64_t i = 0; i < 33; ++i) EXPECT_NEAR(alone.as_double(i), packed.as_double(55 + i), 1e-6);
}

// Prefill, then one token after another, against all tokens at once.
TEST(CausalLm, ExtendStepEqualsForward) {
  const Values row = packed_batch({{8}, {8}}, 11, 2);
  for (const StackForm form : {StackForm::scan, StackForm::unroll}) {
    const CausalLm model(tiny_lm(form));
    const Values state = initial_values(model, 9);
    const Values got = evaluate(state, row, [&](const Nest& s, const Nest& b) {
      Nest out{{"forward", functional(model, &CausalLm::logits, s, Tensor(), false, b).result}};
      Nest cache = functional(model, &LanguageModel::init_cache, s, Tensor(), false, CacheSizes{2, 10}).result;
      const auto extend = [&](int64_t begin, int64_t end, int64_t padded, const std::string& name) {
        // Padding behind the last token is whatever the batch has there.
        const Tensor ids = slice_dim(b.at("input_ids"), 1, begin, padded);
        const Tensor start = full({DType::i32, {}}, static_cast<double>(begin));
        const Tensor last = full({DType::i32, {}}, static_cast<double>(end - begin - 1));
        auto step = functional(model, &LanguageModel::extend_step, s, Tensor(), false, cache, ids, start, last).result;
        cache = std::move(step.first);
        out.emplace(name, step.second);
      };
      extend(0, 4, 6, "3");
      for (int64_t t = 4; t < 8; ++t) extend(t, t + 1, t + 1, std::to_string(t));
      return out;
    });
    const Literal& all = got.at("forward");
    for (int64_t t = 3; t < 8; ++t) {
      const Literal& step = got.at(std::to_string(t));
      ASSERT_EQ(step.dims(), (Dims{2, 11}));
      for (int64_t i = 0; i < 22; ++i) {
        EXPECT_NEAR(step.as_double(i), all.as_double((i / 11 * 8 + t) * 11 + i % 11), 2e-6) << "token " << t;
      }
    }
  }
}

TEST(CausalLm, ComputesInTheDtypeAskedFor) {
  CausalLm::Config c = tiny_lm(StackForm::scan);
  const Values state = initial_values(CausalLm(c), 10);
  const Values exact = loss_and_gradients(CausalLm(c), state, batch());
  c.compute_dtype = DType::bf16;
  const Values coarse = loss_and_gradients(CausalLm(c), state, batch());
  EXPECT_EQ(coarse.at("loss").dtype(), DType::f32);
  EXPECT_NEAR(coarse.at("loss").as_double(0), exact.at("loss").as_double(0), 0.02);
  EXPECT_NE(coarse.at("loss").as_double(0), exact.at("loss").as_double(0));
  for (const auto& [name, value] : exact) EXPECT_EQ(difference(coarse.at(name), value, 0.1), "") << name;
}

TEST(CausalLm, LabelsOutsideTheVocabularyAreNotSilent) {
  const CausalLm model(tiny_lm(StackForm::scan));
  Values bad = batch();
  bad.at("target_labels").set_int(2, 11);
  EXPECT_TRUE(std::isnan(loss_and_gradients(model, initial_values(model, 5), bad).at("loss").as_double(0)));
}

std::optional<Error> forward_error(const CausalLm& model, const Values& state, const Values& inputs) {
  return error_of([&] { loss_and_gradients(model, state, inputs); });
}

TEST(CausalLm, BatchErrorsNameTheArray) {
  const CausalLm model(tiny_lm(StackForm::scan));
  const Values state = initial_values(model, 1);
  Values inputs = batch();
  inputs.erase("positions");
  auto error = forward_error(model, state, inputs);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::missing_field);
  EXPECT_EQ(error->path(), "positions");
  inputs.emplace("positions", Literal(TensorType{DType::i32, {1, 8}}));
  error = forward_error(model, state, inputs);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::shape_mismatch);
  EXPECT_EQ(error->path(), "positions");
  inputs.at("positions") = Literal(TensorType{DType::f32, {2, 8}});
  EXPECT_EQ(forward_error(model, state, inputs)->code(), ErrorCode::shape_mismatch);
}

TEST(CausalLm, StateErrorsNameTheArray) {
  const CausalLm model(tiny_lm(StackForm::scan));
  Values state = initial_values(model, 1);
  const std::string name = "decoder.layers.0::1.feed_forward.down.weight";
  state.at(name) = Literal(TensorType{DType::f32, {4, 12, 7}});
  auto error = forward_error(model, state, batch());
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::shape_mismatch);
  EXPECT_EQ(error->path(), name);
  EXPECT_THAT(std::string(error->what()), HasSubstr("f32[12,7]"));
  state.erase(name);
  error = forward_error(model, state, batch());
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::missing_field);
  EXPECT_EQ(error->path(), name);
}

}  // namespace
}  // namespace tenon
