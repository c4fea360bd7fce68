// A small model that learns from a large one.
#pragma once

#include "tenon/nn/language/causal_lm.h"

namespace tenon {

// Trains `student` on the labels and on what `teacher` makes of the same text (Hinton et al. 2015), by token
//   (1 - w) hard + w t^2 KL(softmax(teacher / t) || softmax(student / t)),  w = soft_weight, t = temperature,
// where `hard` is the student's own loss. The teacher isn't trained: its parameters are states, which a run takes from
// a checkpoint (init_from.into = "teacher"). Evaluations and generation are the student's alone.
class DistilledLm final : public LanguageModel {
 public:
  struct Config : LanguageModel::Config {
    Slot<CausalLm> student, teacher;
    double temperature = 2, soft_weight = 0.5;
    // Logits of both are made and used in so many pieces along T, each computed again in the backward pass.
    int64_t loss_chunks = 1;
    Config();
    void check(Checker& c) const;
    TENON_CONFIG(student, teacher, temperature, soft_weight, loss_chunks)
  };
  explicit DistilledLm(const Config& config);
  // batch: as CausalLm's.
  LossSum forward(const Nest& batch) const override;
  std::optional<int64_t> max_length() const override { return student_.call(&CausalLm::max_length); }
  Nest init_cache(int64_t batch_size, int64_t max_len) const override {
    return student_.call(&CausalLm::init_cache, batch_size, max_len);
  }
  std::pair<Nest, Tensor> extend_step(const Nest& cache, const Tensor& ids, const Tensor& start,
                                      const Tensor& last) const override {
    return student_.call(&CausalLm::extend_step, cache, ids, start, last);
  }

 private:
  double temperature_, soft_weight_;
  int64_t loss_chunks_;
  Child<CausalLm> student_, teacher_;
};

}  // namespace tenon
