// What holds of every optimizer: layers of a stack are apart, padding stays zero and changes nothing, and arrays have
// the shapes that were described.
#include <gtest/gtest.h>

#include <cmath>

#include "tenon/ir/mesh_scope.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/testing/evaluate.h"
#include "tenon/optim/adafactor.h"
#include "tenon/optim/adamw.h"
#include "tenon/optim/clip.h"
#include "tenon/optim/lion.h"
#include "tenon/optim/muon.h"
#include "tenon/optim/offload.h"
#include "tenon/optim/optimizer_by_path.h"
#include "tenon/optim/sgd.h"
#include "tenon/optim/shampoo.h"

namespace tenon {
namespace {

constexpr int kSteps = 3;
constexpr int64_t kLayers = 2;

std::unique_ptr<Optimizer> make(const Slot<Optimizer>& config) { return config.build(); }

Slot<Optimizer> by_layer(const Slot<Optimizer>& optimizer) {
  OptimizerRule::Config rule;
  rule.path = "^layers";
  rule.optimizer = optimizer;
  rule.layer_rates = LayerDecay{.factor = 0.5, .num_layers = kLayers};
  OptimizerByPath::Config out;
  out.rules.emplace_back(rule);
  return out;
}

struct Case {
  std::string name;
  Slot<Optimizer> optimizer;
  std::vector<Dims> shapes;
};

std::vector<Case> cases() {
  const std::vector<Dims> any{{5, 3}, {3, 2, 4}, {5}};
  Muon::Config muon;
  muon.iteration_dtype = DType::f32;
  Shampoo::Config shampoo, one_sided;
  shampoo.root_every = 2;
  one_sided.max_dim = 4;
  Adafactor::Config factored;
  factored.min_factored_dim = 2;
  Adafactor::Config whole;
  whole.b1 = 0.5;
  ClipByValue::Config by_value;
  by_value.max_value = 0.5;
  AdaptiveClip::Config adaptive;
  adaptive.optimizer = Sgd::Config();
  return {{"Sgd", Sgd::Config(), any},
          {"AdamW", AdamW::Config(), any},
          {"Lion", Lion::Config(), any},
          {"Muon", muon, {{5, 3}, {2, 4}}},
          {"Adafactor, factored", factored, any},
          {"Adafactor, whole", whole, any},
          {"Shampoo", shampoo, {{5, 3}, {2, 4}}},
          {"Shampoo, one side", one_sided, {{5, 3}, {2, 9}}},
          {"ClipByValue", by_value, any},
          {"AdaptiveClip", adaptive, any},
          {"by layer", by_layer(factored), any}};
}

// Deterministic numbers of both signs, different in every place and step.
Literal numbers(const Dims& dims, double salt) {
  Literal out(TensorType{DType::f32, dims});
  for (int64_t i = 0; i < out.size(); ++i) out.set(i, std::sin(1.7 * static_cast<double>(i) + salt) + 0.1);
  return out;
}

Dims padded(Dims shape, bool pad) {
  for (int64_t& d : shape) d = pad ? (d + 3) / 4 * 4 : d;
  return shape;
}

// `layers` in one array, each padded with zeros.
Literal stacked(const std::vector<Literal>& layers, const Dims& to) {
  Dims dims = to;
  dims.insert(dims.begin(), static_cast<int64_t>(layers.size()));
  Values in;
  for (size_t l = 0; l < layers.size(); ++l) in.emplace(std::to_string(l), layers[l]);
  return evaluate(in, {},
                  [&](const Nest& s, const Nest&) {
                    std::vector<Tensor> parts;
                    for (const auto& [name, x] : s) {
                      Dims high = to;
                      for (size_t d = 0; d < to.size(); ++d) high[d] -= x.dims()[d];
                      parts.push_back(expand_dims(pad(x, zeros({DType::f32, {}}), Dims(to.size(), 0), high), 0));
                    }
                    return Nest{{"all", concatenate(parts, 0)}};
                  })
      .at("all");
}

// The state ("value" in it) after kSteps updates; where it is offloaded, all of it is in host memory.
Values run(const Optimizer& optimizer, const ParamInfo& param, const Literal& start, const std::vector<Literal>& grads,
           bool offload = false) {
  Values state = evaluate({{"value", start}}, {}, [&](const Nest& s, const Nest&) {
    Nest out = optimizer.init(param, s.at("value"));
    out.emplace("value", s.at("value"));
    return out;
  });
  for (int step = 0; step < kSteps; ++step) {
    StepScalars scalars = optimizer.scalars(step);
    scalars["learning_rate"] = 0.1 * (step + 1);
    Values in{{"~grad", grads[static_cast<size_t>(step)]}, {"~t", Literal::scalar(DType::f32, step + 1)}};
    for (const auto& [name, value] : scalars) in.emplace(name, Literal::scalar(DType::f32, value));
    state = evaluate(state, in, [&](const Nest& s, const Nest& inputs) {
      Nest own = s;
      own.erase("value");
      std::set<std::string> names;
      for (const auto& [name, array] : own) names.insert(name);
      const OptimizerArgs args{param,  s.at("value"),   inputs.at("~grad"),      own,
                               inputs, inputs.at("~t"), full({DType::i1, {}}, 1)};
      const auto rule = [&](const OptimizerArgs& a) { return optimizer.update(a); };
      auto [next, after] = offload ? update_offloaded(args, names, rule) : rule(args);
      after.emplace("value", next);
      return after;
    });
  }
  return state;
}

// One layer's part of an array, and whether the rest of it is zero.
void expect_layer(const Literal& all, int64_t layer, const Literal& want, const std::string& what) {
  const Values parts = evaluate({{"all", all}, {"want", want}}, {}, [&](const Nest& s, const Nest&) {
    const Tensor one = squeeze(slice_dim(s.at("all"), 0, layer, layer + 1), 0);
    const Dims begin(want.dims().size(), 0);
    Dims high = one.dims();
    for (size_t d = 0; d < high.size(); ++d) high[d] -= want.dims()[d];
    const Tensor inside = pad(full_like(s.at("want"), 1), zeros({DType::f32, {}}), begin, high);
    return Nest{{"logical", slice(one, begin, want.dims())}, {"padding", sum_all(tenon::abs(one) * (1.0 - inside))}};
  });
  EXPECT_EQ(difference(parts.at("logical"), want, 2e-6), "") << what;
  EXPECT_EQ(parts.at("padding").as_double(0), 0) << what;
}

void expect_contract(const Case& c, const Dims& shape, bool pad) {
  const std::unique_ptr<Optimizer> optimizer = make(c.optimizer);
  ParamInfo one, all;
  one.shape = all.shape = shape;
  all.path = "layers.0::1.weight";
  all.stack = kLayers;
  const Dims to = padded(shape, pad);
  std::vector<Literal> starts;
  std::vector<std::vector<Literal>> grads;  // by layer, by step
  for (int64_t l = 0; l < kLayers; ++l) {
    starts.push_back(numbers(shape, static_cast<double>(l) + 1));
    auto& own = grads.emplace_back();
    for (int step = 0; step < kSteps; ++step) own.push_back(numbers(shape, 10.0 * (step + 1) + static_cast<double>(l)));
  }
  std::vector<Literal> all_grads;
  for (size_t step = 0; step < kSteps; ++step) all_grads.push_back(stacked({grads[0][step], grads[1][step]}, to));
  const Values got = run(*optimizer, all, stacked(starts, to), all_grads);
  EXPECT_EQ(got.size(), optimizer->describe(all).size() + 1) << c.name;
  for (int64_t l = 0; l < kLayers; ++l) {
    one.path = "layers." + std::to_string(l) + ".weight";
    const auto at = static_cast<size_t>(l);
    for (const auto& [name, want] : run(*optimizer, one, starts[at], grads[at])) {
      expect_layer(got.at(name), l, want, c.name + ", " + name + (pad ? ", padded" : ""));
    }
  }
}

TEST(OptimizerContract, LayersAreApartAndPaddingStaysZero) {
  for (const Case& c : cases()) {
    for (const Dims& shape : c.shapes) {
      for (const bool pad : {false, true}) expect_contract(c, shape, pad);
    }
  }
}

// What a checkpoint and a mesh know an array by is what the program makes: shapes are padded along the same axes.
TEST(OptimizerContract, ArraysAreWhatWasDescribed) {
  const Mesh mesh({{"fsdp", 2}, {"model", 4}});
  const MeshScope scope(mesh);
  for (const Case& c : cases()) {
    const std::unique_ptr<Optimizer> optimizer = make(c.optimizer);
    for (const Dims& shape : c.shapes) {
      ParamInfo param;
      param.path = "layers.0::1.weight";
      param.shape = shape;
      param.stack = kLayers;
      param.partition = shape.size() == 1 ? PartitionSpec{{}, "model"} : PartitionSpec{{}, "fsdp", "model"};
      const Literal start(TensorType{DType::f32, mesh.padded_dims(param.logical_shape(), param.partition)});
      const Values made = run(*optimizer, param, start, std::vector<Literal>(kSteps, start));
      for (const ParamInfo& info : optimizer->describe(param)) {
        EXPECT_EQ(made.at(info.path).dims(), mesh.padded_dims(info.logical_shape(), info.partition))
            << c.name << " " << info.path;
        EXPECT_FALSE(info.trainable);
        EXPECT_EQ(info.stack, kLayers);
      }
    }
  }
}

// One layer at a time, where the array is that of several.
TEST(OptimizerContract, OffloadingChangesNoNumber) {
  for (const Case& c : cases()) {
    const std::unique_ptr<Optimizer> optimizer = make(c.optimizer);
    for (const Dims& shape : c.shapes) {
      ParamInfo param;
      param.path = "layers.0::1.weight";
      param.shape = shape;
      param.stack = kLayers;
      std::vector<Literal> grads;
      for (int step = 0; step < kSteps; ++step) grads.push_back(numbers(param.logical_shape(), 10.0 * step + 3));
      const Literal start = numbers(param.logical_shape(), 1);
      for (const PartitionSpec& partition : {PartitionSpec{{}, "fsdp"}, PartitionSpec{"pipeline", "fsdp"}}) {
        param.partition = partition;
        const Values want = run(*optimizer, param, start, grads), got = run(*optimizer, param, start, grads, true);
        for (const auto& [name, array] : want) EXPECT_EQ(difference(got.at(name), array, 1e-6), "") << c.name << name;
      }
    }
  }
}

TEST(OptimizerContract, FactoredArraysLoseTheirDimensionsAxis) {
  Adafactor::Config config;
  config.min_factored_dim = 2;
  ParamInfo param;
  param.path = "w";
  param.shape = {4, 9, 6};
  param.partition = {"expert", "fsdp", "model"};
  const std::vector<ParamInfo> state = Adafactor(config).describe(param);
  ASSERT_EQ(state.size(), 2U);
  EXPECT_EQ(state[0].path, "v_row");
  EXPECT_EQ(state[0].shape, (Dims{4, 6}));
  EXPECT_EQ(state[0].partition, (PartitionSpec{"expert", "model"}));
  EXPECT_EQ(state[1].path, "v_col");
  EXPECT_EQ(state[1].shape, (Dims{4, 9}));
  EXPECT_EQ(state[1].partition, (PartitionSpec{"expert", "fsdp"}));
  config.min_factored_dim = 7;
  EXPECT_EQ(Adafactor(config).describe(param).at(0).path, "v");
}

TEST(OptimizerContract, RangesAreChecked) {
  const auto refused = [](const Slot<Optimizer>& config) {
    try {
      make(config);
    } catch (const Error& e) {
      return e.code() == ErrorCode::invalid_argument;
    }
    return false;
  };
  Sgd::Config sgd;
  sgd.momentum = 1;
  EXPECT_TRUE(refused(sgd));
  sgd = {};
  sgd.momentum = 0;
  sgd.nesterov = true;
  EXPECT_TRUE(refused(sgd));
  Lion::Config lion;
  lion.b2 = -0.1;
  EXPECT_TRUE(refused(lion));
  Adafactor::Config adafactor;
  adafactor.eps = 0;
  EXPECT_TRUE(refused(adafactor));
  adafactor = {};
  adafactor.decay_exponent = 0;
  EXPECT_TRUE(refused(adafactor));
  ClipByValue::Config by_value;
  by_value.max_value = std::nan("");
  EXPECT_TRUE(refused(by_value));
  AdaptiveClip::Config adaptive;
  adaptive.max_ratio = 0;
  EXPECT_TRUE(refused(adaptive));
  Shampoo::Config shampoo;
  shampoo.ridge = 1e-9;
  EXPECT_TRUE(refused(shampoo));
  shampoo = {};
  shampoo.root_every = 0;
  EXPECT_TRUE(refused(shampoo));
}

}  // namespace
}  // namespace tenon
