#include "tenon/nn/language/distilled_lm.h"

#include "tenon/config/define.h"
#include "tenon/config/number_checks.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/batch.h"
#include "tenon/nn/experts/auxiliary_loss.h"
#include "tenon/nn/language/chunked_loss.h"

namespace tenon {

TENON_MODULE(DistilledLm, LanguageModel, "learns from the labels and from a teacher's logits; Hinton et al. 2015",
             {"student", "what is trained, evaluated and writes"},
             {"teacher", "what it learns from; its parameters come with init_from.into = \"teacher\" and stay"},
             {"temperature", "both models' logits are divided by it where they are compared"},
             {"soft_weight", "the teacher's part in the loss; the rest is the student's own loss"})

DistilledLm::Config::Config() : student(CausalLm::Config{}), teacher(CausalLm::Config{}) {}

void DistilledLm::Config::check(Checker& c) const {
  c.positive("vocab_size", vocab_size);
  check_above_zero(c, "temperature", temperature);
  check_interval(c, "soft_weight", soft_weight, '[', 0, 1, ']');
}

DistilledLm::DistilledLm(const Config& c)
    : LanguageModel(c),
      temperature_(c.temperature),
      soft_weight_(c.soft_weight),
      loss_chunks_(c.student->loss_chunks),
      student_(this, "student", c.student, [&](CausalLm::Config& m) { m.vocab_size = c.vocab_size; }),
      teacher_(this, "teacher", c.teacher, [&](CausalLm::Config& m) { m.vocab_size = c.vocab_size; }) {
  freeze("teacher");
  for (const auto& [name, model] : {std::pair("student", &c.student), std::pair("teacher", &c.teacher)}) {
    if ((*model)->token_order == TokenOrder::as_read) continue;
    throw Error(ErrorCode::unsupported, "tokens laid over devices in another order than they are read in")
        .at(std::string(name) + ".token_order")
        .hint("set token_order = \"as_read\"");
  }
}

LossSum DistilledLm::forward(const Nest& batch) const {
  if (!is_training()) return student_(batch);
  const Tensor& labels = token_array(batch, "target_labels");
  const Tensor taught = stop_gradient(teacher_.call_evaluating(&CausalLm::hidden_states, batch));
  const std::vector<Tensor> arrays{student_.call(&CausalLm::hidden_states, batch), taught, labels};
  const auto told = [&](const Tensor& logits) { return log_softmax(widen(logits) * (1 / temperature_)); };
  const auto loss_of = [&](const std::vector<Tensor>& piece) {
    const Tensor logits = student_.call(&CausalLm::hidden_logits, piece[0]);
    const Tensor wanted = stop_gradient(teacher_.call_evaluating(&CausalLm::hidden_logits, piece[1]));
    const LossSum hard = student_.call(&CausalLm::token_loss, logits, piece[2]);
    const Tensor target = told(wanted);
    const Tensor divergence = reduce_sum(exp(target) * (target - told(logits)), {-1});
    const Tensor live = greater_equal(piece[2], zeros_like(piece[2]));
    const Tensor soft = sum_all(select(live, divergence, zeros_like(divergence))) * (temperature_ * temperature_);
    const Tensor at_least_one = maximum(hard.weight, full_like(hard.weight, 1));
    summary("hard_loss", hard.sum / at_least_one, Merge::weighted_mean, hard.weight);
    summary("soft_loss", soft / at_least_one, Merge::weighted_mean, hard.weight);
    return LossSum{hard.sum * (1 - soft_weight_) + soft * soft_weight_, hard.weight};
  };
  const LossSum loss = chunked_loss(arrays, loss_chunks_, loss_of, "student.loss_chunks");
  return add_auxiliary_losses(loss, live_tokens(labels));
}

}  // namespace tenon
