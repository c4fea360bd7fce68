// What the trainer trains: a module that turns a batch into a sum of losses and a count.
#pragma once

#include "tenon/nn/module.h"

namespace tenon {

// Loss is sum / weight, both over the global batch, so that every split of one batch gives the same gradients.
struct LossSum {
  Tensor sum;     // f32 scalar: losses, in nats, of live tokens or examples
  Tensor weight;  // f32 scalar: their number
  TENON_TREE(sum, weight)
};

class Model : public Module {
 public:
  struct Config : Module::Config {
    TENON_FIELDS()
  };
  // `batch`: named arrays, first dimension B, as the dataset names them ("input_ids", "target_labels", …).
  virtual LossSum forward(const Nest& batch) const = 0;
  // What the weight of its loss counts: a plural, for logs and the names of numbers ("num_tokens", "tokens_per_s").
  virtual std::string_view unit() const { return "tokens"; }
  // Of what an evaluation measures, the number that sums up a run in its last line.
  virtual std::string_view headline() const { return "bits_per_byte"; }
  // Whether an example's loss depends on the others of its batch: then gradients aren't accumulated over microbatches.
  virtual bool mixes_examples() const { return false; }

 protected:
  explicit Model(const Config& config) : Module(config) {}
};

}  // namespace tenon
