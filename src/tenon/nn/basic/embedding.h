#pragma once

#include "tenon/nn/module.h"

namespace tenon {

// Rows of a table by token, and the table as an output head.
class Embedding final : public Module {
 public:
  struct Config : Module::Config {
    Required<int64_t> vocab_size, embedding_dim;
    PartitionSpec weight_partition = {"model", "fsdp"};
    // Rows are multiplied by it when read, not where the table is the head: sqrt(embedding_dim) in Vaswani et al. 2017,
    // section 3.4.
    double multiplier = 1;
    Initializer init;
    Config();  // init: Normal with standard deviation 0.02
    void check(Checker& c) const;
    TENON_CONFIG(vocab_size, embedding_dim, weight_partition, multiplier, init)
  };
  explicit Embedding(const Config& config);
  // ids i32 [B,T] -> [B,T,D]; ids outside the vocabulary read the nearest row.
  Tensor forward(const Tensor& ids) const;
  // x [..., D] -> logits [..., V] against the same table (Press & Wolf 2017).
  Tensor attend(const Tensor& x) const;

 private:
  double multiplier_;
  Param weight_;
};

}  // namespace tenon
