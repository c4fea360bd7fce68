// Modifiers of models.
#pragma once

#include <map>
#include <string>

#include "tenon/config/modifier.h"
#include "tenon/nn/attention/attention.h"

namespace tenon {

// Gives every config whose class is, or implements, `module` this policy.
struct SetRemat {
  std::string module = "TransformerLayer";
  RematPolicy policy = {};
  void check(Checker& c) const;
  TENON_FN(module, policy)
  void operator()(AnyConfig& tree) const;
};

// Sets the partition specs whose paths match, each one pattern.
struct SetPartitions {
  std::map<std::string, PartitionSpec> specs = {};  // by path pattern (path_pattern.h)
  void check(Checker& c) const;
  TENON_FN(specs)
  void operator()(AnyConfig& tree) const;
};

// Computes all attention so; masks stay.
struct UseAttention {
  Slot<AttentionCore> core;
  std::string within = "**";
  TENON_FN(core, within)
  void operator()(AnyConfig& tree) const;
};

// Computes all products of linear layers so: where quantization goes. Adapters (LoRA) stay, over the new product.
struct UseDot {
  Slot<Dot> dot;
  std::string within = "**";
  TENON_FN(dot, within)
  void operator()(AnyConfig& tree) const;
};

}  // namespace tenon
