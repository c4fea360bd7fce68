#include "tenon/nn/language/distilled_lm.h"

#include <gmock/gmock.h>

#include "tenon/ir/ops.h"
#include "tenon/ir/random.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/nn/functional.h"
#include "tenon/nn/testing/tiny_lm.h"

namespace tenon {
namespace {

DistilledLm::Config distilled() {
  DistilledLm::Config c;
  c.vocab_size = 11;
  c.student = tiny_lm(StackForm::scan);
  c.teacher = tiny_lm(StackForm::scan);
  c.teacher.as<CausalLm>().model_dim = 16;
  return c;
}

const Values& distilled_batch() {
  static const Values values = packed_batch({{5, 3}, {7}}, 11, 1);
  return values;
}

TEST(DistilledLm, TheTeacherIsNotTrained) {
  int64_t trained = 0, kept = 0;
  for (const ParamInfo& info : describe_state(DistilledLm(distilled()))) {
    EXPECT_EQ(info.trainable, !info.path.starts_with("teacher.")) << info.path;
    ++(info.trainable ? trained : kept);
  }
  EXPECT_EQ(trained, kept);
  EXPECT_GT(kept, 5);
}

// The student alone is evaluated and writes; what a teacher would do differently in training doesn't matter.
TEST(DistilledLm, EvaluatesTheStudent) {
  const DistilledLm model(distilled());
  const Values state = initial_values(model, 3);
  Values students;
  for (const auto& [name, value] : state) {
    if (name.starts_with("student.")) students.emplace(name.substr(8), value);
  }
  CausalLm::Config alone = tiny_lm(StackForm::scan);
  const auto loss = [&](const Model& m, const Values& s) {
    return evaluate(s, distilled_batch(), [&](const Nest& params, const Nest& b) {
      const LossSum out = functional(m, &Model::forward, params, Tensor(), false, b).result;
      return Nest{{"sum", out.sum}, {"weight", out.weight}};
    });
  };
  EXPECT_EQ(loss(model, state), loss(CausalLm(alone), students));
}

TEST(DistilledLm, TheTeacherDrawsNothing) {
  DistilledLm::Config c = distilled();
  auto& layer = c.teacher.as<CausalLm>().decoder.as<Decoder>().pattern[0].as<DecoderLayer>();
  layer.residual = DropoutResidual::Config();
  const DistilledLm model(c);
  const Values state = initial_values(model, 3);
  const auto loss = [&](uint64_t seed) {
    return evaluate(state, distilled_batch(), [&](const Nest& s, const Nest& b) {
      return Nest{{"sum", functional(model, &Model::forward, s, make_key(seed), true, b).result.sum}};
    });
  };
  EXPECT_EQ(loss(1), loss(2));
}

// Of all arrays, generation reads the student's alone.
TEST(DistilledLm, WritesWithoutTheTeacher) {
  const DistilledLm model(distilled());
  Values state = initial_values(model, 3), students;
  std::erase_if(state, [&](const auto& array) { return !model.writes_with(array.first); });
  for (const auto& [name, value] : state) students.emplace(name.substr(8), value);
  const auto logits = [&](const LanguageModel& m, const Values& s) {
    return evaluate(s, distilled_batch(), [&](const Nest& params, const Nest& b) {
      const Nest cache = functional(m, &LanguageModel::init_cache, params, Tensor(), false, CacheSizes{2, 8}).result;
      const Tensor start = zeros({DType::i32, {}}), last = full_like(start, 4);
      const auto out = functional(m, &LanguageModel::extend_step, params, Tensor(), false, cache,
                                  slice_dim(b.at("input_ids"), 1, 0, 5), start, last);
      return Nest{{"logits", out.result.second}};
    });
  };
  EXPECT_EQ(logits(model, state), logits(CausalLm(tiny_lm(StackForm::scan)), students));
}

TEST(DistilledLm, TheStudentsPiecesGiveOneLoss) {
  DistilledLm::Config c = distilled();
  const Values state = initial_values(DistilledLm(c), 3);
  const auto loss = [&](int64_t chunks) {
    c.student.as<CausalLm>().loss_chunks = chunks;
    const DistilledLm model(c);
    return evaluate(state, distilled_batch(), [&](const Nest& s, const Nest& b) {
      return Nest{{"sum", functional(model, &Model::forward, s, Tensor(), true, b).result.sum}};
    });
  };
  EXPECT_NEAR(loss(4).at("sum").as_double(0), loss(1).at("sum").as_double(0), 1e-4);
  EXPECT_EQ(error_of([&] { loss(3); })->path(), "student.loss_chunks");
}

// A teacher like the student has nothing to say beyond the labels.
TEST(DistilledLm, AgreementCostsNothing) {
  DistilledLm::Config c = distilled();
  c.teacher = c.student;
  c.soft_weight = 1;
  const DistilledLm model(c);
  Values state = initial_values(model, 3);
  for (auto& [name, value] : state) {
    if (name.starts_with("teacher.")) value = state.at("student." + name.substr(8));
  }
  const Values got = evaluate(state, distilled_batch(), [&](const Nest& s, const Nest& b) {
    const auto out = functional(model, &Model::forward, s, Tensor(), true, b);
    return Nest{{"sum", out.result.sum}, {"hard", out.collected.summaries.at("hard_loss").value}};
  });
  EXPECT_NEAR(got.at("sum").as_double(0), 0, 1e-5);
  EXPECT_GT(got.at("hard").as_double(0), 1);
}

}  // namespace
}  // namespace tenon
