// What the trainer trains: a module that turns a batch into a sum of losses and a count.
#pragma once

#include "tenon/nn/module.h"

namespace tenon {

// Loss is sum / weight, both over the global batch, so that every split of one batch gives the same gradients.
struct LossSum {
  Tensor sum;     // f32 scalar: token losses, in nats, of live tokens
  Tensor weight;  // f32 scalar: number of live tokens
  TENON_TREE(sum, weight)
};

class Model : public Module {
 public:
  struct Config : Module::Config {
    TENON_FIELDS()
  };
  // `batch`: named arrays, first dimension B, as the dataset names them ("input_ids", "target_labels", …).
  virtual LossSum forward(const Nest& batch) const = 0;

 protected:
  explicit Model(const Config& config) : Module(config) {}
};

}  // namespace tenon
