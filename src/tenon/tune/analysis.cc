#include "tenon/tune/analysis.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "tenon/data/dataset.h"
#include "tenon/nn/language/causal_lm.h"

namespace tenon {
namespace {

// A device's part of a stack of layers.
struct Stack {
  double layers = 0;        // that a microbatch passes at a time
  double stream_bytes = 0;  // of the residual stream of a microbatch on one device, not split over `model`
  double passes = 1;        // of microbatches, and those in which a pipeline waits
  double kept = 0;          // streams of microbatches, at least, that wait for the backward pass
  double handed_on = 0;     // streams of microbatches, to other stages
};

// What a pipeline keeps: of GPipe, of all microbatches; of 1F1B, what stages are given, and of one all.
double kept_streams(const PipelineConfig& pipeline, double stages, double layers) {
  const auto microbatches = static_cast<double>(pipeline.microbatches), rounds = static_cast<double>(pipeline.rounds);
  if (pipeline.schedule == PipelineSchedule::gpipe) return microbatches * rounds * layers;
  return std::min(microbatches, 2 * stages - 1) + layers;
}

// Of a decoder of tokens; of other models nothing but the passes.
Stack stack_of(const Trainer::Config& config, const Mesh& mesh) {
  const auto accumulation = static_cast<double>(config.accumulation);
  const auto* model = dynamic_cast<const CausalLm::Config*>(config.model.operator->());
  const BatchTypes batch = config.data->batch_types();
  const auto ids = batch.find("input_ids");
  if (model == nullptr || ids == batch.end()) return {.passes = accumulation};
  const DType dtype = model->compute_dtype.value_or(DType::f32);
  double split = accumulation;
  for (const char* axis : {"data", "expert", "fsdp", "seq"}) split *= static_cast<double>(mesh.size(axis));
  const double tokens = static_cast<double>(num_elements(ids->second.dims)) / split;
  const double stream = tokens * static_cast<double>(model->model_dim.value() * byte_size(dtype));
  const auto& decoder = model->decoder.as<Decoder>();
  const auto num_layers = static_cast<double>(decoder.num_layers.value());
  const auto stages = static_cast<double>(decoder.form == StackForm::pipeline ? mesh.size("pipeline") : 1);
  if (stages == 1) return {num_layers, stream, accumulation, num_layers};
  const PipelineConfig& pipeline = decoder.pipeline;
  const auto microbatches = static_cast<double>(pipeline.microbatches), rounds = static_cast<double>(pipeline.rounds);
  const double layers = num_layers / stages / rounds;
  const double passes = (rounds * microbatches + stages - 1) * accumulation;
  return {layers, stream / microbatches, passes, kept_streams(pipeline, stages, layers), 2 * passes};
}

double dtype_share(const Trainer::Config& config) {
  const DType dtype = config.model->compute_dtype.value_or(DType::f32);
  return static_cast<double>(byte_size(dtype)) / static_cast<double>(byte_size(DType::f32));
}

// How many of the machine's devices, one behind another, hold all those that differ along the axis alone.
int64_t reach(const Mesh& mesh, std::string_view axis) {
  const auto at = static_cast<size_t>(std::find(kMeshAxes.begin(), kMeshAxes.end(), axis) - kMeshAxes.begin());
  int64_t inner = 1, outer = 1, all_inner = 1;
  for (size_t a = 0; a < kMeshAxes.size(); ++a) {
    const int64_t size = mesh.sizes()[a] / mesh.outer()[a];
    all_inner *= size;
    if (a < at) continue;
    inner *= size;
    outer *= mesh.outer()[a];
  }
  return mesh.outer()[at] > 1 ? outer * all_inner : inner;
}

// What each device sends for the mesh's sake: by fast links where all that differ along an axis are linked.
struct Sent {
  double links = 0, network = 0;
};
Sent sent_by(const Trainer::Config& config, const Mesh& mesh, double parameter_bytes, const Stack& stack,
             int64_t linked) {
  const auto size = [&](const char* axis) { return static_cast<double>(mesh.size(axis)); };
  const double gathers = parameter_bytes * (size("fsdp") - 1) * stack.passes;
  const double sums = stack.stream_bytes * stack.layers * stack.passes;
  const std::array<std::pair<const char*, double>, 5> by_axis = {
      {{"pipeline", stack.stream_bytes * stack.handed_on},
       {"fsdp", gathers * (1 + 2 * dtype_share(config))},
       {"data", 2 * parameter_bytes * (1 - 1 / size("data"))},
       {"expert", 2 * parameter_bytes * (1 - 1 / size("expert"))},
       {"model", 4 * sums * 2 * (1 - 1 / size("model"))}}};
  Sent out;
  for (const auto& [axis, bytes] : by_axis) {
    (reach(mesh, axis) <= linked ? out.links : out.network) += bytes;
  }
  return out;
}

}  // namespace

Analysis analyze(const StepReport& traced, const Trainer::Config& config, const AotTarget& target,
                 const MachineSpeeds& speeds) {
  Analysis out;
  out.program = traced.program_hash;
  if (traced.mesh.outer() != Mesh::kOnes) out.program += " on " + to_string(traced.mesh);
  const Stack stack = stack_of(config, traced.mesh);
  const double kept = stack.kept * stack.stream_bytes / static_cast<double>(traced.mesh.size("model"));
  out.least_bytes = traced.bytes() + static_cast<int64_t>(kept);
  out.at_least_s = time_step(count_step(traced), speeds).bound.seconds();
  const auto parameters = traced.arguments.find("parameters");
  const double parameter_bytes = parameters == traced.arguments.end() ? 0 : static_cast<double>(parameters->second);
  const Sent sent = sent_by(config, traced.mesh, parameter_bytes, stack, target.linked_devices);
  out.guess_s = out.at_least_s + ratio_or_zero(sent.links, speeds.links) + ratio_or_zero(sent.network, speeds.network);
  return out;
}

}  // namespace tenon
