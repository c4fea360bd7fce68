// What dtypes do to a run: bytes moved, bytes kept, and what is learned.
#include <gmock/gmock.h>

#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "tenon/base/file.h"
#include "tenon/checkpoint/checkpoint.h"
#include "tenon/data/language_dataset.h"
#include "tenon/nn/testing/tiny_lm.h"
#include "tenon/optim/adamw.h"
#include "tenon/optim/learner.h"
#include "tenon/runtime/executable.h"
#include "tenon/trainer/modifiers.h"
#include "tenon/trainer/test_run.h"
#include "tenon/trainer/train_step.h"

namespace tenon {
namespace {

using testing::HasSubstr;

class PrecisionTest : public RunTest {
 protected:
  OpenedCheckpoint saved(const std::string& name, int64_t step) const {
    return OpenedCheckpoint::open(path(name + "/" + step_dir_name(step))).value();
  }
};

// Bytes of the results of all-gathers in a program as XLA writes it: "= bf16[64,32]{1,0} all-gather(…".
int64_t gathered_bytes(const std::string& hlo) {
  static const std::regex kGather(R"(= (bf16|f32)\[([0-9,]*)\]\S* all-gather\()");
  int64_t bytes = 0;
  for (auto it = std::sregex_iterator(hlo.begin(), hlo.end(), kGather); it != std::sregex_iterator(); ++it) {
    int64_t size = (*it)[1] == "bf16" ? 2 : 4;
    std::stringstream dims((*it)[2]);
    for (std::string dim; std::getline(dims, dim, ',');) size *= std::stoll(dim);
    bytes += size;
  }
  return bytes;
}

// The train step of a model whose parameters are split over four devices, as it is once it is partitioned: later
// XLA:CPU widens all of bf16, collectives too.
std::string partitioned_text(DType compute, const std::string& dir) {
  CausalLm::Config c = tiny_lm(StackForm::unroll);
  c.vocab_size = 64;
  c.model_dim = 32;
  c.compute_dtype = compute;
  const CausalLm model(c);
  Learner::Config learner;
  learner.learning_rate = 0.1;
  const Mesh mesh{{"data", 1}, {"expert", 1}, {"fsdp", 4}, {"seq", 1}, {"model", 1}};
  Program program = make_train_program(model, Learner(learner), {mesh, token_batch_types(8, 16), 1, {}}).program;
  program.compile_options = {{"xla_dump_to", dir}, {"xla_dump_hlo_as_text", "true"}, {"xla_dump_hlo_pass_re", ".*"}};
  compile(cpu(4), mesh, std::move(program));
  for (const auto& entry : std::filesystem::directory_iterator(dir)) {
    const std::string name = entry.path().filename();
    if (name.find("spmd-cleanup.after_pipeline-start") != std::string::npos) return read_file(entry.path()).value();
  }
  return "";
}

// A parameter is cast where it lies, and then gathered.
TEST_F(PrecisionTest, SlowBfloat16GathersHalfTheBytes) {
  const int64_t f32 = gathered_bytes(partitioned_text(DType::f32, path("f32")));
  const int64_t bf16 = gathered_bytes(partitioned_text(DType::bf16, path("bf16")));
  EXPECT_GT(f32, 4 * 64 * 32);
  EXPECT_EQ(bf16 * 2, f32);
}

// Bytes that casts of a program's arguments from f32 to bf16 give, by the argument's name; and how many other values
// are cast, by their shape: "64x32x".
struct Casts {
  std::map<std::string, int64_t> arguments;
  std::map<std::string, int> others;
};

Casts casts_in(const Program& program) {
  static const std::regex kCast(
      R"(stablehlo\.convert %(arg)?([0-9#]+) : \(tensor<([0-9x]*x)f32>\) -> tensor<([0-9x]*x)bf16>)");
  Casts out;
  for (auto it = std::sregex_iterator(program.text.begin(), program.text.end(), kCast); it != std::sregex_iterator();
       ++it) {
    if (!(*it)[1].matched) {
      ++out.others[(*it)[3]];
      continue;
    }
    const size_t arg = std::stoul((*it)[2]);
    out.arguments[program.arg_names[arg]] += num_elements(program.arg_types[arg].dims) * byte_size(DType::bf16);
  }
  return out;
}

// A model that reads every parameter several times: in a stack, for its head too, in the backward pass again, in
// microbatches, in pieces of the loss.
void expect_cast_once(CausalLm::Config c) {
  c.vocab_size = 64;
  c.model_dim = 32;
  c.compute_dtype = DType::bf16;
  c.loss_chunks = 2;
  const CausalLm model(c);
  Learner::Config learner;
  learner.learning_rate = 0.1;
  const Casts casts =
      casts_in(make_train_program(model, Learner(learner), {Mesh(), token_batch_types(12, 20), 2, {}}).program);
  std::map<std::string, int64_t> bytes;
  std::set<std::string> shapes;
  for (const ParamInfo& info : describe_state(model)) {
    if (info.path.find("norm") != std::string::npos) continue;  // read in f32
    bytes[info.path] = num_elements(info.logical_shape()) * byte_size(DType::bf16);
    for (const Dims& dims : {info.logical_shape(), info.shape}) {
      std::string shape;
      for (const int64_t d : dims) shape += std::to_string(d) + "x";
      shapes.insert(shape);
    }
  }
  EXPECT_EQ(casts.arguments, bytes);
  // And no part of one, nor one that comes from a barrier: of such a shape there is the gradient of the embedding,
  // which is summed in f32.
  for (const auto& [shape, count] : casts.others) {
    EXPECT_EQ(shapes.contains(shape) ? count : 0, shape == "64x32x" ? 1 : 0) << shape;
  }
}

TEST(Precision, EachParameterIsCastOnceAStep) {
  for (const StackForm form : {StackForm::scan, StackForm::unroll}) {
    SCOPED_TRACE(to_string(form));
    CausalLm::Config c = tiny_lm(form);
    expect_cast_once(c);
    c.decoder.as<Decoder>().pattern[0]->remat = SaveNothing{};
    expect_cast_once(c);
    c.remat = SaveNothing{};  // outside the layers too
    expect_cast_once(c);
  }
}

TEST_F(PrecisionTest, SlowBfloat16LearnsAsMuchIn200Steps) {
  Trainer::Config c = config(200);
  c.learner->learning_rate = 3e-3;
  CausalLm::Config model = tiny_lm(StackForm::scan);
  model.vocab_size = kVocab;
  model.decoder.as<Decoder>().num_layers = 2;
  c.model = model;
  c.save_every_n_steps = 0;
  const TrainResult f32 = run("f32", c);
  SetPrecision{.compute = {{"model", DType::bf16}}}(c);
  const TrainResult bf16 = run("bf16", c);
  EXPECT_LT(f32.train_loss, 2.5);  // from ln 259 = 5.6
  EXPECT_NE(bf16.train_loss, f32.train_loss);
  EXPECT_NEAR(bf16.train_loss, f32.train_loss, 0.01 * f32.train_loss);
  EXPECT_NEAR(bf16.eval.at("loss"), f32.eval.at("loss"), 0.01 * f32.eval.at("loss"));
}

TEST_F(PrecisionTest, WhatIsKeptHasItsOwnDtype) {
  Trainer::Config c = config(10);
  c.learner->ema = Ema{.evaluate = false};
  const TrainResult f32 = run("f32", c);
  SetPrecision{.compute = {}, .params = {{"model", DType::bf16}}, .learner_state = {{"^m\\.", DType::bf16}}}(c);
  const TrainResult bf16 = run("bf16", c);
  const OpenedCheckpoint last = saved("bf16", 10);
  EXPECT_EQ(last.type("layers.3.w").value(), (TensorType{DType::bf16, {8, 8}}));
  EXPECT_EQ(last.type("learner.m.layers.3.w").value(), (TensorType{DType::bf16, {8, 8}}));
  EXPECT_EQ(last.type("learner.v.layers.3.w").value(), (TensorType{DType::f32, {8, 8}}));
  EXPECT_EQ(last.type("learner.ema.layers.3.w").value(), (TensorType{DType::f32, {8, 8}}));
  EXPECT_NE(bf16.train_loss, f32.train_loss);
  EXPECT_NEAR(bf16.train_loss, f32.train_loss, 0.1 * f32.train_loss);
  // A run that stopped in between is the same.
  c.max_steps = 5;
  run("broken", c);
  c.max_steps = 10;
  run("broken", c);
  EXPECT_EQ(losses(path("broken")), losses(path("bf16")));
}

// In another precision a checkpoint is converted; what fits is kept to the bit.
TEST_F(PrecisionTest, ARunGoesOnInAnotherPrecision) {
  Trainer::Config c = config(5);
  c.learner->learning_rate = 0.0;
  SetPrecision{.compute = {}, .params = {{"model", DType::bf16}}, .learner_state = {}}(c);
  run("run", c);
  const Literal before = saved("run", 5).read("layers.3.w").value();
  c.model->param_dtype = DType::f32;
  c.max_steps = 6;
  run("run", c);
  const Literal after = saved("run", 6).read("layers.3.w").value();
  EXPECT_EQ(after.dtype(), DType::f32);
  EXPECT_EQ(after.to_doubles(), before.to_doubles());
}

TEST_F(PrecisionTest, MistakesAreNamed) {
  Trainer::Config c = config(5);
  c.model->param_dtype = DType::f16;
  Error e = failure("run", c);
  EXPECT_EQ(e.code(), ErrorCode::unsupported);
  EXPECT_THAT(e.what(), HasSubstr("got f16"));
  EXPECT_THAT(e.hint(), HasSubstr("bf16"));
  c = config(5);
  c.learner->state_dtypes = {{"^m", DType::f16}};
  e = failure("run", c);
  EXPECT_EQ(e.code(), ErrorCode::unsupported);
  EXPECT_THAT(e.what(), HasSubstr("state_dtypes"));
  c.learner->state_dtypes = {{"^nothing", DType::bf16}};
  EXPECT_THAT(failure("run", c).what(), HasSubstr("\"^nothing\""));
  c.learner->state_dtypes = {{"^m", DType::bf16}, {"layers", DType::f32}};
  EXPECT_THAT(failure("run", c).what(), HasSubstr("two patterns match one array"));
  c.learner->state_dtypes = {{"(", DType::bf16}};
  EXPECT_EQ(failure("run", c).code(), ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace tenon
