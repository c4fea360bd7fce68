#include "tenon/trainer/inspect.h"

#include <gmock/gmock.h>

#include <map>

#include "tenon/data/language_dataset.h"
#include "tenon/trainer/test_run.h"
#include "tenon/trainer/train_session.h"

namespace tenon {
namespace {

using testing::HasSubstr;

class InspectTest : public RunTest {
 protected:
  Trainer::Config tiny(StackForm form = StackForm::scan) const {
    Trainer::Config c = config(40);
    c.model.as<TinyModel>().form = form;
    return c;
  }
  static std::vector<InspectedValue> at(const Trainer::Config& c, std::string_view where) {
    std::vector<InspectedValue> out;
    inspect_forward(c, where, [&](const InspectedValue& v) { out.push_back(v); });
    return out;
  }
};

TEST_F(InspectTest, ALayerOfAScanIsTheUnrolledOne) {
  const auto scanned = at(tiny(), "layers.2"), unrolled = at(tiny(StackForm::unroll), "layers.2");
  std::map<std::string, const InspectedValue*> left, right;
  for (const InspectedValue& v : scanned) left[v.op] = &v;
  for (const InspectedValue& v : unrolled) right[v.op] = &v;
  for (const char* op : {"dot_general", "tanh", "add"}) {
    ASSERT_TRUE(left.contains(op) && right.contains(op)) << op;
    EXPECT_EQ(left[op]->path, "layers.2");
    EXPECT_EQ(left[op]->type, (TensorType{DType::f32, {8, 16, 8}}));
    EXPECT_EQ(left[op]->mean, right[op]->mean) << op;
    EXPECT_EQ(left[op]->first, right[op]->first) << op;
  }
  EXPECT_LT(left["tanh"]->max, 1);
  EXPECT_GT(left["tanh"]->min, -1);
  EXPECT_NE(at(tiny(), "layers.0").at(0).first, scanned.at(0).first);
}

TEST_F(InspectTest, TheLossIsTheFirstStepsLoss) {
  const Trainer t(tiny());
  TrainSession s(t.model(), t.learner(), {cpu(1), {{}, token_batch_types(8, 16), 1}, t.config().seed});
  s.initialize();
  const Literal metrics = s.train_step(0, t.data().batch(0)).to_literal();
  const InspectedLoss got = inspect_forward(tiny(), "/tanh$", [](const InspectedValue&) {});
  EXPECT_NEAR(got.loss, metrics.as_double(0), 1e-5);  // "loss"
  EXPECT_EQ(got.weight, metrics.as_double(2));
}

TEST_F(InspectTest, Expressions) {
  for (const InspectedValue& v : at(tiny(), "layers\\.[13]/tanh$")) EXPECT_EQ(v.op, "tanh");
  EXPECT_EQ(at(tiny(), "layers\\.[13]/tanh$").size(), 2U);
  EXPECT_EQ(at(tiny(), "layers.1/tanh").size(), 1U);
}

TEST_F(InspectTest, NothingThere) {
  const auto error = [&](std::string_view where) {
    try {
      at(tiny(), where);
    } catch (const Error& e) {
      return e;
    }
    return Error(ErrorCode::internal, "nothing was thrown");
  };
  EXPECT_EQ(error("layer.1").code(), ErrorCode::unknown_name);
  EXPECT_THAT(error("layer.1").what(), HasSubstr("did you mean layers.1"));
  EXPECT_EQ(error("layers.4").code(), ErrorCode::unknown_name);
  EXPECT_EQ(error("layers.[").code(), ErrorCode::invalid_argument);
}

TEST(FormatValue, AllOfIt) {
  const InspectedValue v{"decoder.norm", "mul", {DType::f32, {2}}, -1.5, 2, 0.25, 0.5, 1, {0.5, -1}};
  EXPECT_EQ(format_value(v),
            "decoder.norm/mul  f32[2]  min -1.5  max 2  mean 0.25  std 0.5  1 not finite  first 0.5, -1");
}

}  // namespace
}  // namespace tenon
