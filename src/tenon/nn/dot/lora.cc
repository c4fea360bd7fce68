#include "tenon/nn/dot/lora.h"

#include "tenon/config/define.h"
#include "tenon/config/number_checks.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/basic/dropout.h"
#include "tenon/nn/initializers.h"

namespace tenon {

TENON_MODULE(LoRA, Dot, "x W + alpha / rank * (x A) B; Hu et al. 2021", {"dot", "what computes x W"},
             {"rank", "columns of A, rows of B"}, {"alpha", "divided by rank, multiplies what is added"},
             {"dropout", "share of x that A doesn't see in training"})

LoRA::Config::Config() : dot(PlainDot::Config{}) {}

void LoRA::Config::check(Checker& c) const {
  c.positive("rank", rank);
  check_above_zero(c, "alpha", alpha);
  check_rate(c, "dropout", dropout);
}

namespace {

// Of A or B: the weight's axes on the dimension they share with it.
PartitionSpec split_over(const PartitionSpec& weight, size_t dim) {
  std::vector<Axis> axes(2);
  if (weight.dims().size() > dim) axes[dim] = weight.dims()[dim];
  return PartitionSpec(axes);
}

}  // namespace

LoRA::LoRA(const Config& c)
    : Dot(c),
      scale_(c.alpha / static_cast<double>(c.rank)),
      dropout_(c.dropout),
      dot_(this, "dot", c.dot,
           [&](Dot::Config& d) {
             d.input_dim = c.input_dim;
             d.output_dim = c.output_dim;
             d.weight_partition = c.weight_partition;
           }),
      a_(this, "lora_a", {c.input_dim, c.rank}, {split_over(c.weight_partition, 0), FanInNormal{}}),
      b_(this, "lora_b", {c.rank, c.output_dim}, {split_over(c.weight_partition, 1), Constant{0}}) {}

Tensor LoRA::forward(const Tensor& x, const Tensor& weight) const {
  const Tensor y = dot_(x, weight);
  const Tensor rows = dropout(fold_rows(x), dropout_, "dropout");
  return y + unfold_rows(matmul(matmul(rows, a_), b_) * scale_, x);
}

Tensor LoRA::merge(const Tensor& weight, const Tensor& a, const Tensor& b) const {
  return weight + matmul(a, b) * scale_;
}

namespace {

// Merges the adapters below `module`, whose arrays begin with `prefix`, into `weight`, the nearest above them.
void merge_below(const Module& module, const std::string& prefix, const std::string& weight, Nest& state) {
  for (const Module::ChildEntry& child : module.children()) {
    const std::string path = prefix + child.name + ".";
    const auto* lora = dynamic_cast<const LoRA*>(child.module);
    merge_below(*child.module, path, lora != nullptr ? weight : path + "weight", state);
    if (lora == nullptr) continue;
    state.at(weight) = lora->merge(state.at(weight), state.at(path + "lora_a"), state.at(path + "lora_b"));
    state.erase(path + "lora_a");
    state.erase(path + "lora_b");
    // What is left belongs to the inner dot.
    const std::string inner = path + "dot.";
    for (auto it = state.lower_bound(inner); it != state.end() && it->first.starts_with(inner);) {
      state.emplace(path + it->first.substr(inner.size()), it->second);
      it = state.erase(it);
    }
  }
}

}  // namespace

Nest merge_lora(const Module& root, const Nest& state) {
  Nest out = state;
  merge_below(root, "", "weight", out);
  return out;
}

}  // namespace tenon
