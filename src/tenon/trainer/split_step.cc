#include "tenon/trainer/split_step.h"

#include "tenon/ir/mesh_scope.h"
#include "tenon/trainer/step_parts.h"

namespace tenon {
namespace {

// An array as a program takes and gives it.
struct Passed {
  std::string name;
  TensorType type;
  PartitionSpec partition;
};

// Gradients, then states.
std::vector<Passed> passed_on(const StateLayout& layout, const Mesh& mesh) {
  std::vector<Passed> out;
  for (const ParamInfo& info : layout.updated) {
    if (!info.trainable) continue;
    out.push_back({"gradient." + info.path,
                   {DType::f32, mesh.padded_dims(info.logical_shape(), info.partition)},
                   info.partition});
  }
  for (const ParamInfo& info : layout.model) {
    if (info.trainable) continue;
    out.push_back(
        {"next." + info.path, {info.dtype, mesh.padded_dims(info.logical_shape(), info.partition)}, info.partition});
  }
  return out;
}

}  // namespace

GradientProgram make_gradient_program(const Model& model, const Learner& learner, const StepSettings& settings) {
  check_batch(settings);
  GradientProgram out;
  out.layout = layout_state(model, learner, settings.mesh, settings.optimizer_axes);
  Signature in;
  in.add_state(out.layout, out.layout.model.size(), settings.mesh);
  in.add("seed", kSeedType);
  in.add("step", {DType::i32, {}});
  in.add_batch(settings.batch);
  Metrics metrics;
  const MeshScope scope(settings.mesh);
  Graph graph = make_graph(in.types, [&](const std::vector<Tensor>& tensors) {
    Arguments args(tensors);
    const Nest state = args.take_all(out.layout.model);
    const Tensor seed = args.take(), step = args.take();
    const Nest batch = args.take_batch(settings.batch);
    const Gradients g =
        gradients(model, select_by_name(out.layout, state, true), select_by_name(out.layout, state, false), batch,
                  step_key(seed, step), settings.accumulation);
    metrics.add("loss", g.loss);
    metrics.add(weight_metric(model), g.weight);
    for (const auto& [path, output] : g.summaries) metrics.add(path, output.value);
    std::vector<Tensor> results;
    for (const ParamInfo& info : out.layout.updated) {
      if (info.trainable) results.push_back(g.grads.at(info.path));
    }
    for (const ParamInfo& info : out.layout.model) {
      if (!info.trainable) results.push_back(g.states.at(info.path));
    }
    results.push_back(metrics.packed());
    return results;
  });
  out.metric_names = metrics.names();
  Results results;
  for (const Passed& each : passed_on(out.layout, settings.mesh)) results.add(each.partition);
  results.add();  // metrics
  out.program = finish(graph, settings.mesh, in, results, 0, settings.kernels);
  out.program.compile_options = settings.xla_flags;
  return out;
}

ApplyProgram make_apply_program(const Model& model, const Learner& learner, const StepSettings& settings) {
  ApplyProgram out;
  out.layout = layout_state(model, learner, settings.mesh, settings.optimizer_axes);
  out.scalar_names = scalar_names(learner);
  Signature in;
  in.add_state(out.layout, out.layout.arrays.size(), settings.mesh);
  for (const Passed& each : passed_on(out.layout, settings.mesh)) in.add(each.name, each.type, each.partition);
  in.add("loss", {DType::f32, {}});
  in.add("step", {DType::i32, {}});
  in.add("scalars", {DType::f32, {static_cast<int64_t>(out.scalar_names.size())}});
  Metrics metrics;
  const MeshScope scope(settings.mesh);
  Graph graph = make_graph(in.types, [&](const std::vector<Tensor>& tensors) {
    Arguments args(tensors);
    const Nest before = args.take_all(out.layout.model), learner_state = args.take_all(out.layout.learner);
    Nest params = select_by_name(out.layout, before, true), grads, states;
    for (const ParamInfo& info : out.layout.updated) {
      if (info.trainable) grads.emplace(info.path, args.take());
    }
    for (const ParamInfo& info : out.layout.model) {
      if (!info.trainable) states.emplace(info.path, args.take());
    }
    const Tensor loss = args.take(), step = args.take(), scalars = args.take();
    current_trace().set_path("learner");
    split_for_update(out.layout, params, grads);
    const Learner::Update update =
        learner.update(out.layout.updated, params, grads, learner_state, loss, step, unpack(out.scalar_names, scalars));
    current_trace().set_path("");
    std::vector<Tensor> results;
    append_model(results, out.layout, before, states, update);
    append(results, out.layout.learner, update.state);
    metrics.add("grad_norm", update.grad_norm);
    metrics.add("skipped", update.skipped);
    metrics.add("skipped_in_a_row", update.skipped_in_a_row);
    results.push_back(metrics.packed());
    return results;
  });
  out.metric_names = metrics.names();
  Results results = Results::state(out.layout);
  results.add();  // metrics
  out.program = finish(graph, settings.mesh, in, results, out.layout.arrays.size(), settings.kernels);
  out.program.compile_options = settings.xla_flags;
  return out;
}

}  // namespace tenon
