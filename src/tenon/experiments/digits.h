// A small ResNet on scikit-learn's digits: a minute on a CPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/trainer/trainer.h"

namespace tenon {

class ExperimentRegistry;

// The data are the 1797 images of 8 x 8 pixels from 0 to 16 that scripts/setup --target digits fetches (the test set of
// Alpaydin & Kaynak 1998, "Optical Recognition of Handwritten Digits"), or others of that form.
struct Digits {
  std::vector<int64_t> depths = {1, 1, 1};
  int64_t feature_dim = 64;  // channels of the last stage
  int64_t batch_size = 64;
  // The learning rate rises over the first tenth of them and falls over the others.
  int64_t max_steps = 400;
  double peak_learning_rate = 5e-3;
  double eval_fraction = 0.2;
  std::string data_path = "data/digits/digits.csv.gz";
  void check(Checker& c) const;
  TENON_FN(depths, feature_dim, batch_size, max_steps, peak_learning_rate, eval_fraction, data_path)
  Trainer::Config operator()() const;
};

void register_digits(ExperimentRegistry& registry);

}  // namespace tenon
