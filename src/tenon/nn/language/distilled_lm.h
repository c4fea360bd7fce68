// A small model that learns from a large one.
#pragma once

#include "tenon/nn/language/causal_lm.h"

namespace tenon {

// Trains `student` on the labels and on what `teacher` makes of the same text (Hinton et al. 2015), by token
//   (1 - w) hard + w t^2 KL(softmax(teacher / t) || softmax(student / t)),  w = soft_weight, t = temperature,
// where `hard` is the student's own loss. Logits of both are made and used in the student's loss_chunks pieces. The
// teacher isn't trained: its parameters are states, which a run takes from a checkpoint (init_from.into = "teacher").
// Evaluations and generation are the student's alone, and the latter loads nothing of the teacher.
class DistilledLm final : public LanguageModel {
 public:
  struct Config : LanguageModel::Config {
    Slot<CausalLm> student, teacher;
    double temperature = 2, soft_weight = 0.5;
    Config();
    void check(Checker& c) const;
    TENON_CONFIG(student, teacher, temperature, soft_weight)
  };
  explicit DistilledLm(const Config& config);
  // batch: as CausalLm's.
  LossSum forward(const Nest& batch) const override;
  std::optional<int64_t> max_length() const override { return student_.call(&CausalLm::max_length); }
  Nest init_cache(const CacheSizes& sizes) const override { return student_.call(&CausalLm::init_cache, sizes); }
  std::pair<Nest, Tensor> extend_step(const Nest& cache, const Tensor& ids, const Tensor& start,
                                      const Tensor& last) const override {
    return student_.call(&CausalLm::extend_step, cache, ids, start, last);
  }
  bool writes_with(std::string_view path) const override { return path.starts_with("student."); }

 private:
  double temperature_, soft_weight_;
  int64_t loss_chunks_;
  Child<CausalLm> student_, teacher_;
};

}  // namespace tenon
