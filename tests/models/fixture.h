// Arrays made by the scripts of tests/fixtures.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "tenon/checkpoint/safetensors.h"
#include "tenon/nn/testing/evaluate.h"

namespace tenon {

class Fixture {
 public:
  // tests/fixtures/<name>.safetensors
  explicit Fixture(const std::string& name)
      : file_(
            SafetensorsFile::open(std::string(TENON_SOURCE_DIR) + "/tests/fixtures/" + name + ".safetensors").value()) {
  }

  Literal operator[](const std::string& name) const { return file_.read(name).value(); }
  // Those whose names begin with `prefix`, without it.
  Values all(const std::string& prefix) const {
    Values out;
    for (const TensorInfo& info : file_.tensors()) {
      if (info.name.starts_with(prefix)) out.emplace(info.name.substr(prefix.size()), file_.read(info.name).value());
    }
    return out;
  }

 private:
  SafetensorsFile file_;
};

// Sizes of the batches that make_layers_fixture.py and make_losses_fixture.py have.
inline constexpr int64_t kVocab = 11, kTokens = 12;
// transformers computes norms, angles and softmaxes in f32, whatever the model's dtype; other libraries' f64 is exact.
inline constexpr double kTolerance = 2e-5, kExact = 1e-12;

inline Values in_f64(Values values) {
  for (auto& [name, value] : values) value = Literal::from(DType::f64, value.dims(), value.to_doubles());
  return values;
}

// "<name>/weights/" of a file in f64, as the model stacks them.
inline Values weights_for(const Module& model, const Fixture& file, const std::string& name) {
  const Values own = initial_values(model, 1), weights = in_f64(file.all(name + "/weights/"));
  EXPECT_EQ(unstack(own).size(), weights.size());
  return stack_as(own, weights);
}

inline double largest(const Literal& x) {
  double out = 0;
  for (const double value : x.to_doubles()) out = std::max(out, std::fabs(value));
  return out;
}

// As difference(), but rounding errors of gradients that are 0 don't count: of a bias of all keys alike, say, which
// softmax doesn't see.
inline std::string gradient_difference(const Literal& got, const Literal& want) {
  return largest(want) < 1e-12 && largest(got) < 1e-12 ? "" : difference(got, want, kTolerance);
}

}  // namespace tenon
