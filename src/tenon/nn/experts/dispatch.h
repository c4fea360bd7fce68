// How tokens get to their experts and back.
#pragma once

#include <functional>

#include "tenon/nn/module.h"

namespace tenon {

// Tokens in the order experts take them, [..., D].
struct Dispatched {
  Tensor tokens;
  // x [..., in], ordered as `tokens`, and a matrix for each expert, weights [E, in, out] -> [..., out].
  std::function<Tensor(const Tensor& x, const Tensor& weights)> product;
  // Places are counted through each group of sequences that is ordered by itself, G of them, S places each.
  Tensor place_of;  // i32 [G,A]: the place of each of the group's assignments (token by token, K each); S if dropped
  Tensor assignment_of;  // i32 [G,S]: the assignment at a place; A if none
};

class Dispatch : public Module {
 public:
  struct Config : Module::Config {
    Required<int64_t> num_experts;
    TENON_FIELDS(num_experts)
  };
  // x [B,T,D], experts i32 [B,T,K].
  virtual Dispatched dispatch(const Tensor& x, const Tensor& experts) const = 0;
  // y, ordered as the tokens, back: each token's sum of what its experts made of it, times `weights` [B,T,K]; a dropped
  // assignment adds nothing. -> [B,T,D].
  virtual Tensor combine(const Dispatched& dispatched, const Tensor& y, const Tensor& weights) const = 0;

 protected:
  explicit Dispatch(const Config& config) : Module(config) {}
};

// Each expert takes at most capacity_factor * T K / E tokens of each sequence, rounded up, in the order of the
// sequence; those behind are dropped (Fedus et al. 2021). Tokens move between the devices of mesh axis "expert", once
// each way.
class CapacityDispatch final : public Dispatch {
 public:
  struct Config : Dispatch::Config {
    double capacity_factor = 1.25;
    // Outside of training; empty: nothing is dropped, so that text is generated as it is scored.
    std::optional<double> eval_capacity_factor;
    // Of tokens [B, E * capacity, D] before they move to their expert's device …
    PartitionSpec tokens_partition = {{"data", "expert", "fsdp"}, {}, {}};
    // … and behind it, [E, B, capacity, D].
    PartitionSpec experts_partition = {"expert", {"data", "fsdp"}, {}, {}};
    void check(Checker& c) const;
    TENON_CONFIG(capacity_factor, eval_capacity_factor, tokens_partition, experts_partition)
  };
  explicit CapacityDispatch(const Config& config) : Dispatch(config), config_(config) {}
  Dispatched dispatch(const Tensor& x, const Tensor& experts) const override;
  Tensor combine(const Dispatched& dispatched, const Tensor& y, const Tensor& weights) const override;

 private:
  int64_t capacity(int64_t num_tokens, int64_t top_k) const;
  Config config_;
};

// Drops nothing: the batch's tokens, sorted by expert, each expert's filled up to whole blocks (Gale et al. 2022,
// "MegaBlocks"). For one device, or data-parallel ones with experts on all of them: over mesh axis "expert" it gathers.
class DroplessDispatch final : public Dispatch {
 public:
  struct Config : Dispatch::Config {
    int64_t block_size = 128;
    void check(Checker& c) const;
    TENON_CONFIG(block_size)
  };
  explicit DroplessDispatch(const Config& config) : Dispatch(config), config_(config) {}
  Dispatched dispatch(const Tensor& x, const Tensor& experts) const override;
  Tensor combine(const Dispatched& dispatched, const Tensor& y, const Tensor& weights) const override;

 private:
  Config config_;
};

// For implementations: rows y [G,S,D] at the places of `dispatched`, weighted and summed: -> as `weights`, [B,T,D].
Tensor combine_rows(const Dispatched& dispatched, const Tensor& y, const Tensor& weights);

}  // namespace tenon
