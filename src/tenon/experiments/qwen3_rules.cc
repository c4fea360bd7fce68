// Mesh rules of Qwen3's mixture. Nobody published any. By arithmetic, that is checked (qwen3_moe_test.cc): 30.5e9
// parameters with two moments and a gradient in f32, and another with microbatches, take 20 bytes each, 611 GB; what is
// kept of a token, the products of attention and each layer's input in bf16, 1.28 MB. Compiled beside that
// (docs/aot.md): 32,768 tokens at a time leave room on v5p, and with 8 devices to share parameters on B200.
#include "tenon/experiments/qwen3_moe.h"
#include "tenon/experiments/rule_parts.h"

namespace tenon {

std::vector<MeshRule> qwen3_moe_mesh_rules(const Qwen3Moe& args) {
  const auto layout = [](const MeshConfig& mesh, int64_t tokens) {
    return MachineLayout{mesh, tokens, {keep(attention_products())}};
  };
  MeshRuleList list(args.batch_size, args.sequence_length);
  list.add(kV5e, slices(256, 256, {1, 2, 4, 8, 16}), layout(shared_by(256), 4096));
  list.add(kV6e, slices(256, 256, {1, 2, 4, 8, 16}), layout(shared_by(256), 8192));
  // Not over all of a large slice: libtpu then gathers parameters by sums, with twice the traffic.
  list.add(kV5p, powers_of_two(32, 64, 2), layout(shared_by_all(), 16384));
  list.add(kV5p, v5p_sizes(128), layout(shared_by(64), 32768));
  list.add(k7x, powers_of_two(16, 32), layout(shared_by_all(), 16384));
  list.add(k7x, powers_of_two(64, kMostChips), layout(shared_by(64), 32768));
  list.add(gpus({kP5, kA3}), powers_of_two(32, kMostGpus), layout(shared_by(32), 16384));
  list.add(gpus({kA4}), powers_of_two(8, kMostGpus), layout(shared_by(8), 32768));
  list.add(on_cpus());
  return list.rules();
}

}  // namespace tenon
