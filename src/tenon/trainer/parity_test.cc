// One device and many: the same initial weights, the same losses.
#include "tenon/trainer/parity.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <limits>
#include <random>

#include "tenon/base/json.h"
#include "tenon/config/define.h"
#include "tenon/data/language_dataset.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/nn/experts/mixture_of_experts.h"
#include "tenon/nn/parallel_modifiers.h"
#include "tenon/nn/testing/tiny_lm.h"
#include "tenon/optim/learner.h"
#include "tenon/pjrt/plugin.h"
#include "tenon/trainer/modifiers.h"
#include "tenon/trainer/test_run.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;

// Rows of short documents of random tokens, with padding behind them.
class PackedDocuments final : public LanguageDataset {
 public:
  struct Config : LanguageDataset::Config {
    int64_t vocab_size = 11;
    TENON_CONFIG(vocab_size)
  };
  explicit PackedDocuments(const Config& c)
      : batch_size_(c.batch_size), sequence_length_(c.sequence_length), vocab_size_(c.vocab_size) {}
  Batch batch(int64_t step) const override {
    std::mt19937 rng(static_cast<unsigned>(step));
    std::vector<std::vector<int64_t>> lengths;
    for (int64_t row = 0; row < batch_size_; ++row) {
      int64_t left = row == 0 ? sequence_length_ : sequence_length_ - 3;  // most rows end in padding
      std::vector<int64_t>& documents = lengths.emplace_back();
      while (left > 0) {
        const int64_t length = std::min<int64_t>(left, 2 + static_cast<int64_t>(rng() % 9));
        documents.push_back(length);
        left -= length;
      }
    }
    return packed_batch(lengths, vocab_size_, static_cast<int>(step));
  }
  std::optional<int64_t> num_batches() const override { return {}; }
  std::unique_ptr<Dataset> held_out() const override { return nullptr; }
  std::string describe() const override { return "random documents"; }

 private:
  int64_t batch_size_, sequence_length_, vocab_size_;
};
TENON_MODULE(PackedDocuments, LanguageDataset, "random documents")

struct Sizes {
  int64_t vocab = 37, heads = 4, batch = 8, tokens = 16;
};

Trainer::Config language_run(const Sizes& s) {
  Trainer::Config c;
  CausalLm::Config model = tiny_lm(StackForm::scan);
  model.vocab_size = s.vocab;
  model.model_dim = 4 * s.heads;
  attention_of(model).num_heads = s.heads;
  attention_of(model).num_kv_heads = s.heads / 2;
  model.decoder.as<Decoder>().pattern[0].as<DecoderLayer>().feed_forward.as<GatedFeedForward>().hidden_dim = 24;
  c.model = model;
  PackedDocuments::Config data;
  data.batch_size = s.batch;
  data.sequence_length = s.tokens;
  data.vocab_size = s.vocab;
  c.data = data;
  Learner::Config learner;
  learner.learning_rate = 1e-3;
  c.learner = learner;
  c.max_steps = 10;
  return c;
}

Trainer::Config with(Trainer::Config config, const std::vector<Modifier>& modifiers) {
  for (const Modifier& m : modifiers) m(config);
  return config;
}

Trainer::Config mixture_run(const Sizes& s, Slot<Dispatch> dispatch) {
  Trainer::Config c = language_run(s);
  MixtureOfExperts::Config mixture;
  mixture.num_experts = 4;
  mixture.experts.as<GatedExperts>().hidden_dim = 12;
  mixture.dispatch = std::move(dispatch);
  auto& router = mixture.router.as<TopKRouter>();
  router.load_balance_loss = 0.1;
  router.z_loss = 1e-2;
  c.model.as<CausalLm>().decoder.as<Decoder>().pattern[0].as<DecoderLayer>().feed_forward = mixture;
  return c;
}

Trainer::Config piped(Trainer::Config c, const PipelineConfig& pipeline) {
  auto& decoder = c.model.as<CausalLm>().decoder.as<Decoder>();
  decoder.form = StackForm::pipeline;
  decoder.pipeline = pipeline;
  return c;
}

class Parity : public testing::Test {
 protected:
  void SetUp() override {
    if (!pjrt::find_plugin("cpu")) GTEST_SKIP() << "no CPU plugin is installed";
  }
  static ParityReport run(const Trainer::Config& config, const std::vector<std::string>& meshes, int64_t steps) {
    static const CompileCache cache;
    ParityOptions options{{}, steps, 1e-5, &cache};
    for (const std::string& mesh : meshes) options.meshes.push_back(parse_parity_mesh(mesh).value());
    return check_parity(config, cpu(8), options);
  }
  static void expect_parity(const Trainer::Config& config, const std::vector<std::string>& meshes, int64_t steps = 10) {
    const ParityReport report = run(config, meshes, steps);
    EXPECT_TRUE(report.agrees()) << format_parity(report);
    EXPECT_LT(report.losses.back(), report.losses.front() + 1) << "it learns, or stays";
    for (const ParityResult& r : report.results) EXPECT_EQ(r.losses.size(), static_cast<size_t>(steps)) << r.mesh;
  }
};

// A ring in zigzag order, heads split, microbatches.
TEST_F(Parity, RingInZigzagOrder) {
  expect_parity(with(language_run({}), {ContextParallel{}}), {"seq=2,model=2,accumulation=2"}, 2);
}

// Devices in another order, sharding, ring and all.
TEST_F(Parity, AxesBetweenNodes) {
  expect_parity(with(language_run({}), {ContextParallel{}}), {"fsdp=2,seq=2,model=2,outer.seq=2"}, 2);
}

// Everything, with a vocabulary that no axis divides: 4,099 over up to 8 devices.
constexpr Sizes kLarge{4099, 8, 16, 32};

TEST_F(Parity, SlowEveryAxis) {
  expect_parity(language_run(kLarge), {"data=8", "fsdp=8", "fsdp=2,model=4", "data=2,fsdp=2,model=2", "data=2,fsdp=4",
                                       "seq=2,fsdp=4", "data=2,seq=2,model=2"});
  Trainer::Config all_heads = language_run(kLarge);
  attention_of(all_heads.model.as<CausalLm>()).num_kv_heads = 8;
  expect_parity(all_heads, {"model=8"});
}

TEST_F(Parity, SlowOuterAxes) {
  expect_parity(language_run(kLarge), {"data=2,fsdp=4,outer.fsdp=2", "fsdp=4,model=2,outer.model=2",
                                       "data=2,fsdp=2,model=2,outer.data=2,outer.model=2"});
  expect_parity(mixture_run(kLarge, CapacityDispatch::Config{}), {"data=2,expert=4,outer.expert=2"});
  expect_parity(piped(language_run(kLarge), {.microbatches = 4}), {"pipeline=2,fsdp=4,outer.fsdp=2"});
}

// 16 examples as devices x microbatches x rows of a microbatch on a device: every way to write them so.
TEST_F(Parity, SlowEveryFactorizationOfTheBatch) {
  const Sizes s{.batch = 16};
  std::vector<std::string> meshes;
  for (const std::string mesh : {"", "data=2,fsdp=2,", "data=2,expert=2,fsdp=2,", "fsdp=2,model=2,seq=2,"}) {
    const Mesh split = Mesh(parse_parity_mesh(mesh + "accumulation=1").value().sizes);
    const int64_t rows = s.batch / split.shards({"data", "expert", "fsdp"});
    for (int64_t n = 1; n <= rows; n *= 2) meshes.push_back(fmt::format("{}accumulation={}", mesh, n));
  }
  EXPECT_EQ(meshes.size(), 5U + 3U + 2U + 4U);
  expect_parity(language_run(s), meshes, 3);
}

TEST_F(Parity, SlowContextParallel) {
  for (const KeyExchange exchange : {KeyExchange::ring, KeyExchange::all_gather}) {
    for (const TokenOrder order : {TokenOrder::zigzag, TokenOrder::as_read}) {
      expect_parity(with(language_run(kLarge), {ContextParallel{exchange, order}}),
                    {"seq=8", "data=2,seq=2,model=2", "seq=4,model=2,accumulation=2", "fsdp=2,seq=4"});
    }
  }
}

TEST_F(Parity, SlowWindowsAndChunks) {
  Trainer::Config c = language_run(kLarge);
  attention_of(c.model.as<CausalLm>()).core->mask = SlidingWindowMask{6};
  c.model.as<CausalLm>().loss_chunks = 2;
  expect_parity(with(c, {ContextParallel{KeyExchange::ring, TokenOrder::as_read}}), {"seq=8", "fsdp=2,seq=4"});
}

TEST_F(Parity, SlowSequenceParallelAndZero1) {
  expect_parity(with(language_run(kLarge), {SequenceParallel{}}), {"model=4,fsdp=2", "data=2,seq=2,model=2"});
  expect_parity(with(language_run(kLarge), {ShardOptimizerOnly{}}), {"fsdp=8", "fsdp=4,model=2,accumulation=2"});
  expect_parity(with(language_run(kLarge), {SequenceParallel{}, ShardOptimizerOnly{}, ContextParallel{}}),
                {"fsdp=2,seq=2,model=2"});
}

TEST_F(Parity, SlowExperts) {
  expect_parity(mixture_run(kLarge, CapacityDispatch::Config{}),
                {"expert=4,fsdp=2", "data=2,expert=2,model=2", "expert=2,fsdp=2,accumulation=4"});
  expect_parity(
      with(mixture_run(kLarge, CapacityDispatch::Config{}), {ContextParallel{KeyExchange::ring, TokenOrder::as_read}}),
      {"expert=2,fsdp=2,seq=2"});
  expect_parity(mixture_run(kLarge, DroplessDispatch::Config{}), {"data=2,fsdp=4", "fsdp=2,accumulation=4"});
}

TEST_F(Parity, SlowPipelines) {
  expect_parity(piped(language_run(kLarge), {.microbatches = 4}),
                {"pipeline=4,data=2", "pipeline=2,fsdp=2,model=2", "pipeline=2,fsdp=2,accumulation=2"});
  expect_parity(piped(language_run(kLarge), {.microbatches = 4, .rounds = 2}), {"pipeline=2,data=2,model=2"});
  expect_parity(piped(mixture_run(kLarge, CapacityDispatch::Config{}), {.microbatches = 4}),
                {"pipeline=2,expert=2,fsdp=2"});
}

TEST_F(Parity, SlowOneForwardOneBackward) {
  const PipelineConfig pipeline{.microbatches = 4, .schedule = PipelineSchedule::one_f_one_b};
  expect_parity(piped(language_run(kLarge), pipeline),
                {"pipeline=2", "pipeline=4", "pipeline=4,data=2", "pipeline=2,fsdp=2,model=2",
                 "pipeline=2,seq=2,data=2", "pipeline=2,fsdp=2,accumulation=2"});
  expect_parity(piped(mixture_run(kLarge, CapacityDispatch::Config{}), pipeline), {"pipeline=2,expert=2,fsdp=2"});
}

// ── a difference is seen, and mistakes are told ──

// Dropout: the same draws on any mesh, but microbatches draw on their own.
TEST_F(Parity, SlowDifferencesAreSeen) {
  Trainer::Config c = language_run({});
  DropoutResidual::Config residual;
  residual.rate = 0.3;
  c.model.as<CausalLm>().decoder.as<Decoder>().pattern[0].as<DecoderLayer>().residual = residual;
  expect_parity(c, {"fsdp=2,model=2"}, 2);
  const ParityReport report = run(c, {"accumulation=2"}, 2);
  EXPECT_FALSE(report.agrees());
  ASSERT_EQ(report.results.size(), 1U);
  EXPECT_TRUE(report.results[0].other_weights.empty());
  EXPECT_GT(report.results[0].largest, 1e-5);
  EXPECT_EQ(report.results[0].differences.size(), 2U);
  EXPECT_THAT(format_parity(report), HasSubstr("may differ by draws: each microbatch has its own"));
}

// The last digit of bf16 is 2^-8 of a number.
TEST_F(Parity, SlowBf16DiffersInItsLastDigit) {
  Trainer::Config c = language_run({});
  c.model->compute_dtype = DType::bf16;
  const ParityReport report = run(c, {"fsdp=2,model=2"}, 2);
  EXPECT_FALSE(report.agrees());
  EXPECT_LT(report.results.at(0).largest, 1.0 / 256);
  EXPECT_THAT(format_parity(report), HasSubstr("compare in f32 (model.compute_dtype)"));
}

TEST(ParityReport, TellsWhatDiffers) {
  ParityReport report{1e-5, {2.5, 2}, {{"fsdp=2", {}, {2.5, 2}, {0, 0}, 0}}};
  EXPECT_TRUE(report.agrees());
  report.results.push_back({"model=2", {}, {2.5, 2.1}, {0, 0.05}, 0.05});
  EXPECT_FALSE(report.agrees());
  report.results[1].largest = 1e-6;
  report.results[1].other_weights = {"embedding.weight"};
  EXPECT_FALSE(report.agrees());
  const std::string table = format_parity(report), json = parity_json(report);
  EXPECT_THAT(table, HasSubstr("agrees\n"));
  EXPECT_THAT(table, HasSubstr("1 arrays differ"));
  EXPECT_THAT(table, HasSubstr("DIFFERS\n"));
  report.limits = {"draws"};
  EXPECT_THAT(format_parity(report), HasSubstr("\nmay differ by draws\n"));
  report.results.resize(1);
  EXPECT_THAT(format_parity(report), testing::Not(HasSubstr("may differ")));
  EXPECT_THAT(json, HasSubstr("\"agrees\": false"));
  EXPECT_THAT(json, HasSubstr("\"embedding.weight\""));
}

TEST(ParityReport, JsonHasNoInfinity) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const ParityReport report{1e-5, {2.5}, {{"fsdp=2", {}, {kInfinity}, {kInfinity}, kInfinity}}};
  const Json json = Json::parse(parity_json(report)).value();
  EXPECT_EQ(json.list("losses").at(0).number(), 2.5);
  EXPECT_EQ(json.member("tolerance").number(), 1e-5);
  const Json& mesh = json.list("meshes").at(0);
  EXPECT_EQ(mesh.string("mesh"), "fsdp=2");
  EXPECT_EQ(mesh.member("agrees").text(), "false");
  EXPECT_EQ(mesh.member("losses").text(), "[null]");
  EXPECT_EQ(mesh.member("differences").text(), "[null]");
  EXPECT_EQ(mesh.member("largest").text(), "null");
}

TEST_F(Parity, SaysWhatDoesntFit) {
  const auto error = [&](const std::vector<std::string>& meshes, int64_t steps = 1) {
    return error_of([&] { run(language_run({}), meshes, steps); });
  };
  const auto large = error({"data=2", "fsdp=16"});
  ASSERT_TRUE(large);
  EXPECT_EQ(large->code(), ErrorCode::mesh_mismatch);
  EXPECT_THAT(large->what(), HasSubstr("got fsdp=16 = 16 devices, expected at most 8"));
  EXPECT_THAT(large->hint(), HasSubstr("cpu:16"));
  const auto uneven = error({"fsdp=3,data=-1"});
  ASSERT_TRUE(uneven);
  EXPECT_EQ(uneven->code(), ErrorCode::mesh_mismatch);
  const auto batch = error({"data=2,accumulation=3"});
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->path(), "mesh data=2,accumulation=3.data.batch_size");
  EXPECT_EQ(error({"data=2"}, 0)->path(), "--steps");
}

TEST(ParityMesh, IsReadFromText) {
  const ParityMesh mesh = parse_parity_mesh("fsdp=4,model=-1,accumulation=2").value();
  EXPECT_EQ(mesh.sizes, (Mesh::Sizes{1, 1, 1, 4, 1, -1}));
  EXPECT_EQ(mesh.accumulation, 2);
  EXPECT_EQ(mesh.outer, Mesh::kOnes);
  EXPECT_EQ(parse_parity_mesh("fsdp=4,outer.fsdp=2").value().outer, (Mesh::Sizes{1, 1, 1, 2, 1, 1}));
  EXPECT_THAT(parse_parity_mesh("outer.fsdq=2").error().hint(), HasSubstr("outer.fsdp"));
  const Error unknown = parse_parity_mesh("fsdq=2").error();
  EXPECT_EQ(unknown.code(), ErrorCode::unknown_name);
  EXPECT_THAT(unknown.hint(), HasSubstr("fsdp"));
  for (const char* text : {"", "fsdp", "fsdp=", "fsdp=0", "fsdp=-2", "fsdp=2,fsdp=2", "accumulation=-1", "fsdp=x",
                           "fsdp=2,outer.fsdp=-1"}) {
    EXPECT_FALSE(parse_parity_mesh(text).ok()) << text;
  }
}

}  // namespace
}  // namespace tenon
