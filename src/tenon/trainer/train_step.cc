#include "tenon/trainer/train_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "tenon/base/stacked_name.h"
#include "tenon/ir/mesh_scope.h"
#include "tenon/ir/op_def.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/random.h"
#include "tenon/nn/initializers.h"
#include "tenon/passes/dce.h"
#include "tenon/trainer/step_parts.h"

namespace tenon {
namespace {

// The body of the train step.
class StepTracer {
 public:
  StepTracer(const Model& model, const Learner& learner, const StateLayout& layout, const StepSettings& settings,
             std::vector<std::string> scalar_names)
      : model_(model),
        learner_(learner),
        layout_(layout),
        settings_(settings),
        scalar_names_(std::move(scalar_names)) {}

  struct Step {
    std::vector<Tensor> results;
    Tensor loss, grad_norm;
  };
  Step operator()(const std::vector<Tensor>& tensors) {
    Arguments args(tensors);
    const Nest model_state = args.take_all(layout_.model), learner_state = args.take_all(layout_.learner);
    const Tensor seed = args.take(), step = args.take(), scalars = args.take();
    const Nest batch = args.take_batch(settings_.batch);
    const Nest params = select_by_name(layout_, model_state, true),
               states = select_by_name(layout_, model_state, false);

    Gradients g = gradients(model_, params, states, batch, step_key(seed, step), settings_.accumulation);
    current_trace().set_path("learner");
    Nest updated = params;
    split_for_update(layout_, updated, g.grads);
    const Learner::Update update =
        learner_.update(layout_.updated, updated, g.grads, learner_state, g.loss, step, unpack(scalar_names_, scalars));
    current_trace().set_path("");
    return {results(model_state, g, update), g.loss, update.grad_norm};
  }

  const std::vector<std::string>& metric_names() const { return metrics_.names(); }

 private:
  std::vector<Tensor> results(const Nest& before, const Gradients& g, const Learner::Update& update) {
    std::vector<Tensor> out;
    append_model(out, layout_, before, g.states, update);
    append(out, layout_.learner, update.state);
    metrics_.add("loss", g.loss);
    metrics_.add("grad_norm", update.grad_norm);
    metrics_.add(weight_metric(model_), g.weight);
    metrics_.add("skipped", update.skipped);
    metrics_.add("skipped_in_a_row", update.skipped_in_a_row);
    for (const auto& [path, output] : g.summaries) metrics_.add(path, output.value);
    if (settings_.layer_norms) add_norms(before, g);
    out.push_back(metrics_.packed());
    return out;
  }

  void add_norms(const Nest& before, const Gradients& g) {
    for (const ParamInfo& info : layout_.model) {
      if (!info.trainable) continue;
      const std::vector<std::string> names = layer_names(info.path, info.stack);
      metrics_.add_each("param_norm/", names, norms(before.at(info.path), info.stack > 0));
      metrics_.add_each("grad_norm/", names, norms(g.grads.at(info.path), info.stack > 0));
    }
  }

  // One for each layer of a stack, whose padding is behind the names that count.
  static Tensor norms(const Tensor& x, bool stacked) {
    std::vector<int64_t> dims;
    for (int64_t i = stacked ? 1 : 0; i < x.rank(); ++i) dims.push_back(i);
    const Tensor wide = convert(x, DType::f32), squares = wide * wide;
    return reshape(sqrt(dims.empty() ? squares : reduce_sum(squares, dims)), {-1});
  }

  const Model& model_;
  const Learner& learner_;
  const StateLayout& layout_;
  const StepSettings& settings_;
  std::vector<std::string> scalar_names_;
  Metrics metrics_;
};

}  // namespace

std::string weight_metric(const Model& model) { return fmt::format("num_{}", model.unit()); }

PartitionSpec batch_partition() { return {{"data", "expert", "fsdp"}}; }

Literal seed_words(int64_t seed) {
  Literal out(kSeedType);
  const auto bits = static_cast<uint64_t>(seed);
  out.set_int(0, static_cast<int64_t>(bits >> 32));
  out.set_int(1, static_cast<int64_t>(bits & 0xffffffffU));
  return out;
}

namespace {

// Adds `axis` to the largest dimension it divides, of the stack only where no other does; to none where none does.
PartitionSpec split_more(const ParamInfo& info, const Mesh& mesh, const std::string& axis) {
  const Dims dims = info.logical_shape();
  std::vector<Axis> axes = info.partition.dims();
  axes.resize(dims.size());
  size_t best = dims.size();
  const size_t first = info.stack > 0 ? 1 : 0;
  for (size_t d = 0; d < dims.size(); ++d) {
    const std::vector<std::string>& names = axes[d].names;
    if (std::find(names.begin(), names.end(), axis) != names.end()) return info.partition;
    if (dims[d] % (mesh.shards(axes[d]) * mesh.size(axis)) != 0) continue;
    if (best == dims.size() || best < first || (d >= first && dims[d] > dims[best])) best = d;
  }
  if (best == dims.size()) return info.partition;
  axes[best].names.push_back(axis);
  return PartitionSpec(std::move(axes));
}

// Devices along `pipeline` have layers of their own; without any, all would compute the same.
void check_pipeline(const std::vector<ParamInfo>& infos, const Mesh& mesh) {
  if (mesh.size("pipeline") == 1) return;
  for (const ParamInfo& info : infos) {
    for (const Axis& axis : info.partition.dims()) {
      if (std::find(axis.names.begin(), axis.names.end(), "pipeline") != axis.names.end()) return;
    }
  }
  throw Error(ErrorCode::unsupported, "nothing in the model is split over the mesh axis 'pipeline'")
      .at("mesh.pipeline")
      .hint("set the decoder's form = \"pipeline\", as --modify PipelineParallel does");
}

}  // namespace

StateLayout layout_state(const Model& model, const Learner& learner, const Mesh& mesh,
                         const std::vector<std::string>& optimizer_axes) {
  StateLayout out{describe_state(model), {}, {}, {}};
  check_pipeline(out.model, mesh);
  out.updated = out.model;
  for (ParamInfo& info : out.updated) {
    for (const std::string& axis : optimizer_axes) {
      if (info.trainable) info.partition = split_more(info, mesh, axis);
    }
  }
  try {
    learner.check_parameters(out.updated);
  } catch (Error& e) {
    e.prefix("learner");
    throw;
  }
  out.learner = learner.describe(out.updated);
  std::set<std::string> names;
  const auto add = [&](std::string name, const ParamInfo& info, MemoryKind memory) {
    if (!names.insert(name).second) throw Error(ErrorCode::invalid_argument, "two arrays of one name").at(name);
    out.arrays.push_back({std::move(name), info.logical_shape(), info.stack, info.partition, memory, info.dtype});
  };
  for (const ParamInfo& info : out.model) add(info.path, info, MemoryKind::device);
  const std::set<std::string> offloaded = learner.offloaded(out.model);
  for (const ParamInfo& info : out.learner) {
    const MemoryKind memory = offloaded.contains(info.path) ? MemoryKind::pinned_host : MemoryKind::device;
    add(std::string(kLearnerPrefix) + info.path, info, memory);
  }
  return out;
}

namespace {

Signature train_signature(const StateLayout& layout, size_t num_scalars, const StepSettings& settings) {
  Signature in;
  in.add_state(layout, layout.arrays.size(), settings.mesh);
  in.add("seed", kSeedType);
  in.add("step", {DType::i32, {}});
  in.add("scalars", {DType::f32, {static_cast<int64_t>(num_scalars)}});
  in.add_batch(settings.batch);
  return in;
}

}  // namespace

Program make_init_program(const Model& model, const Learner& learner, const Mesh& mesh,
                          const std::vector<std::string>& optimizer_axes) {
  const StateLayout layout = layout_state(model, learner, mesh, optimizer_axes);
  Signature in;
  in.add("seed", kSeedType);
  const MeshScope scope(mesh);
  Graph graph = make_graph(in.types, [&](const std::vector<Tensor>& args) {
    const Nest values = init_state(model, fold_in(args[0], "init"), mesh);
    std::vector<Tensor> out;
    append(out, layout.model, values);
    append(out, layout.learner, learner.init(layout.updated, values));
    return out;
  });
  return finish(graph, mesh, in, Results::state(layout), 0);
}

TrainProgram make_train_program(const Model& model, const Learner& learner, const StepSettings& settings) {
  check_batch(settings);
  TrainProgram out;
  out.layout = layout_state(model, learner, settings.mesh, settings.optimizer_axes);
  out.scalar_names = scalar_names(learner);
  const Signature in = train_signature(out.layout, out.scalar_names.size(), settings);

  const MeshScope scope(settings.mesh);
  StepTracer tracer(model, learner, out.layout, settings, out.scalar_names);
  Graph graph = make_graph(in.types, [&](const std::vector<Tensor>& args) { return tracer(args).results; });
  out.metric_names = tracer.metric_names();
  Results results = Results::state(out.layout);
  results.add();  // metrics
  // Without dead code, before a kernel hides what it computes.
  const PassObserver observer = [&](const Pass* pass, const Graph& g) {
    if (pass == &passes().front()) out.flops = count_flops_by_kind(*g.trace, g.root);
    if (settings.pass_observer) settings.pass_observer(pass, g);
  };
  out.program = finish(graph, settings.mesh, in, results, out.layout.arrays.size(), settings.kernels, observer);
  out.program.compile_options = settings.xla_flags;
  return out;
}

TracedLoss trace_loss(const Model& model, const Learner& learner, const StepSettings& settings) {
  check_batch(settings);
  const StateLayout layout = layout_state(model, learner, settings.mesh, settings.optimizer_axes);
  const std::vector<std::string> scalars = scalar_names(learner);
  const Signature in = train_signature(layout, scalars.size(), settings);
  const MeshScope scope(settings.mesh);
  StepTracer tracer(model, learner, layout, settings, scalars);
  TracedLoss out;
  out.graph = make_graph(in.types, [&](const std::vector<Tensor>& args) {
    const StepTracer::Step step = tracer(args);
    return std::vector<Tensor>{step.loss, step.grad_norm};
  });
  eliminate_dead_code(out.graph);
  out.spec = {settings.mesh, in.specs, {}, in.names, 0, settings.kernels, {}, in.memory, {}};
  return out;
}

EvalProgram make_eval_program(const Model& model, const StepSettings& settings) {
  const Mesh& mesh = settings.mesh;
  const BatchTypes& batch = settings.batch;
  check_batch({mesh, batch, 1, {}, {}});
  StateLayout layout{describe_state(model), {}, {}, {}};
  Signature in;
  for (const ParamInfo& info : layout.model) {
    layout.arrays.push_back(
        {info.path, info.logical_shape(), info.stack, info.partition, MemoryKind::device, info.dtype});
  }
  in.add_state(layout, layout.arrays.size(), mesh);
  in.add_batch(batch);
  EvalProgram out;
  const MeshScope scope(mesh);
  Graph graph = make_graph(in.types, [&](const std::vector<Tensor>& tensors) {
    Arguments args(tensors);
    const Nest state = args.take_all(layout.model), inputs = args.take_batch(batch);
    const auto [loss, collected] = functional(model, &Model::forward, state, Tensor(), false, inputs);
    const auto scalar = [](const Tensor& value) { return reshape(convert(value, DType::f32), {1}); };
    std::vector<Tensor> sums{scalar(loss.sum), scalar(loss.weight)};
    for (const auto& [path, output] : collected.summaries) {
      if (output.merge != Merge::weighted_mean || output.value.rank() != 0) continue;
      out.metric_names.push_back(path);
      sums.push_back(scalar(output.value * output.weight));
      sums.push_back(scalar(output.weight));
    }
    return std::vector<Tensor>{concatenate(sums, 0)};
  });
  Results results;
  results.add();
  out.program = finish(graph, mesh, in, results, 0, settings.kernels);
  out.program.compile_options = settings.xla_flags;
  return out;
}

FlopCount count_traced_forward_flops(const Model& model, const StepSettings& settings) {
  check_batch(settings);
  const std::vector<ParamInfo> infos = describe_state(model);
  Signature in;
  for (const ParamInfo& info : infos)
    in.add(info.path, {DType::f32, settings.mesh.padded_dims(info.logical_shape(), info.partition)});
  in.add("seed", kSeedType);
  in.add_batch(settings.batch);
  Graph graph = make_graph(in.types, [&](const std::vector<Tensor>& tensors) {
    Arguments args(tensors);
    const Nest state = args.take_all(infos);
    const Tensor key = args.take();
    const Nest inputs = args.take_batch(settings.batch);
    const auto loss = functional(model, &Model::forward, state, key, true, inputs).result;
    return std::vector<Tensor>{loss.sum, loss.weight};
  });
  eliminate_dead_code(graph);
  return count_flops_by_kind(*graph.trace, graph.root);
}

}  // namespace tenon
