#include "tenon/conformance/plugin_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tenon/autodiff/functional.h"
#include "tenon/base/text.h"
#include "tenon/ir/cases/op_cases.h"
#include "tenon/ir/interpreter.h"
#include "tenon/ir/ops.h"
#include "tenon/pjrt/device_profiler.h"

namespace tenon {
namespace {

using Tensors = std::vector<Tensor>;

// Products may be computed in less than f32.
constexpr double kTolerance = 2e-2;

// A program with what it is traced from, to interpret too.
struct Sample {
  std::vector<Literal> args;
  TensorFn body;
  ProgramSpec spec = {};

  std::vector<TensorType> types() const {
    std::vector<TensorType> out;
    for (const Literal& x : args) out.push_back(x.type());
    return out;
  }
  Program program() const {
    Graph graph = make_graph(types(), body);
    return make_program(graph, spec);
  }
};

CheckOutcome not_tried(std::string why) { return {CheckStatus::not_tried, std::move(why)}; }
CheckOutcome differs(std::string how) { return {CheckStatus::differs, std::move(how)}; }

// Compiles it, runs it where the machine can, and compares. `words` are for when all is well.
CheckOutcome run_and_compare(const CheckMachine& machine, const Sample& sample, const Program& program,
                             std::string words = "") {
  const std::optional<std::vector<Literal>> got = machine.run(sample.spec.mesh, program, sample.args);
  if (!got) return {CheckStatus::compiles, std::move(words)};
  const std::vector<Literal> want = interpret(make_graph(sample.types(), sample.body), sample.args);
  for (size_t i = 0; i < want.size(); ++i) {
    for (int64_t k = 0; k < want[i].size(); ++k) {
      const double is = (*got)[i].as_double(k), should = want[i].as_double(k);
      if (std::fabs(is - should) <= kTolerance * std::max(1.0, std::fabs(should))) continue;
      return differs(fmt::format("element {} of result {} is {}, the interpreter says {}", k, i, is, should));
    }
  }
  return {CheckStatus::works, std::move(words)};
}

// Two layers in a loop, their gradient, and a step of descent in place of the weights.
Sample training_step(const Mesh& mesh) {
  Sample out;
  out.args = {sample({DType::f32, {2, 16, 16}}, -0.5, 0.5), sample({DType::f32, {8, 16}}, -1, 1, 1)};
  out.spec.mesh = mesh;
  out.spec.num_donated = 1;
  out.body = [](const Tensors& p) {
    const auto loss = [&](const Tensors& weights) {
      const auto layer = [](const Tensor&, const Tensor& h, const Tensor& w) {
        return std::pair<Tensor, Tensors>(tanh(matmul(h, w)), {});
      };
      return sum_all(scan(layer, p[1], weights[0]).first);
    };
    return Tensors{p[0] - grad(loss, Tensors{p[0]})[0] * 0.01};
  };
  return out;
}

// Rows over all devices, and a sum over them.
Sample sharded(const CheckMachine& machine) {
  const int64_t devices = machine.num_devices();
  Sample out;
  out.spec.mesh = devices == 1 ? Mesh() : Mesh{{"data", devices}};
  out.args = {sample({DType::f32, {8 * devices, 16}}, -1, 1), sample({DType::f32, {16, 16}}, -1, 1, 1)};
  out.body = [](const Tensors& p) {
    const Tensor y = tanh(matmul(p[0], p[1]));
    return Tensors{y, dot_general(p[0], y, {{}, {}, {0}, {0}}) * (1.0 / static_cast<double>(y.dim(0)))};
  };
  out.spec.param_specs = out.spec.result_specs = {{"data"}, {}};
  return out;
}

CheckOutcome check_training(const CheckMachine& machine) {
  const Sample step = training_step(machine.least_mesh());
  return run_and_compare(machine, step, step.program());
}

CheckOutcome check_sharding(const CheckMachine& machine) {
  if (machine.num_devices() == 1) return not_tried("there is one device");
  const Sample s = sharded(machine);
  return run_and_compare(machine, s, s.program(), fmt::format("over {} devices", machine.num_devices()));
}

// On all devices, as AotMachine compiles for all.
Mesh all_devices(const CheckMachine& machine) {
  return machine.num_devices() == 1 ? Mesh() : Mesh{{"data", machine.num_devices()}};
}

CheckOutcome check_donation(const CheckMachine& machine) {
  const Sample step = training_step(all_devices(machine));
  const Program program = step.program();
  const int64_t alias = machine.compile(step.spec.mesh, program).memory.alias;
  if (alias < byte_size(step.args[0].type())) {
    throw Error(ErrorCode::unsupported, "results don't take the place of donated arguments")
        .got(fmt::format("{} bytes of alias", alias))
        .expected(fmt::format("{} bytes", byte_size(step.args[0].type())));
  }
  return run_and_compare(machine, step, program);
}

CheckOutcome check_statistics(const CheckMachine& machine) {
  const Sample s = sharded(machine);
  const pjrt::MemoryStats memory = machine.compile(s.spec.mesh, s.program()).memory;
  const int64_t weights = byte_size(s.args[1].type()), rows = byte_size(s.args[0].type()) / machine.num_devices();
  if (memory.argument < weights + rows) {
    return differs(fmt::format("arguments of {} bytes are said to take {}", weights + rows, memory.argument));
  }
  return {CheckStatus::works, memory.peak > 0 ? "" : "without the peak"};
}

CheckOutcome check_refusal(const CheckMachine& machine) {
  Program program = sharded(machine).program();
  program.text = "module { this is no program }";
  try {
    machine.compile(all_devices(machine), program);
  } catch (const Error& e) {
    if (e.code() == ErrorCode::compile) return {};
    throw;
  }
  return differs("text that is no program was compiled");
}

CheckOutcome check_kernels(const CheckMachine& machine) {
  if (machine.kernels().empty()) {
    return not_tried("Tenon has none for this platform; `kernels` in a description of it takes those of another");
  }
  Sample s;
  const TensorType query{DType::bf16, {1, 2, 128, 64}}, key{DType::bf16, {1, 1, 128, 64}}, tokens{DType::i32, {1, 128}};
  s.args = {sample(query, -1, 1), sample(key, -1, 1, 1), sample(key, -1, 1, 2)};
  s.spec.mesh = machine.least_mesh();
  s.spec.kernels = machine.kernels();
  s.body = [tokens](const Tensors& p) {
    AttentionOptions options;
    options.scale = 0.125;
    options.pattern.causal = true;
    const Tensor positions = iota(tokens, 1), one = full(tokens, 1);
    return Tensors{attention({p[0], p[1], p[2], positions, positions, one, one}, options).context};
  };
  const Program program = s.program();
  std::vector<std::string> chosen;
  for (const KernelChoice& choice : program.kernels) chosen.push_back(to_string(choice));
  return run_and_compare(machine, s, program, join(chosen, "; "));
}

CheckOutcome check_host_memory(const CheckMachine& machine) {
  Sample s{{sample({DType::f32, {8, 16}}, -1, 1)}, [](const Tensors& p) { return Tensors{to_device(p[0]) * 2.0}; }};
  s.spec.mesh = machine.least_mesh();
  s.spec.param_memory = {MemoryKind::pinned_host};
  std::string memories;
  if (machine.runs()) {
    const pjrt::Client& client = machine.backend()->client();
    memories = "a device has " + join(client.memory_kinds(client.devices().front()).value(), ", ");
  }
  return run_and_compare(machine, s, s.program(), std::move(memories));
}

CheckOutcome check_saving(const CheckMachine& machine) {
  const Sample s = sharded(machine);
  const Program program = s.program();
  const SavedProgram saved = *machine.compile(s.spec.mesh, program, true).saved;
  const CheckOutcome saves{CheckStatus::works, fmt::format("{} bytes", saved.bytes.size())};
  if (!machine.runs()) return saves;
  const Backend& backend = *machine.backend();
  const pjrt::CompileOptions options =
      make_compile_options(program, backend.default_flags(), s.spec.mesh, backend.device_ids());
  const pjrt::Executable loaded = backend.client().deserialize(saved.bytes, options).value();
  const auto results = static_cast<int64_t>(program.result_types.size());
  if (loaded.num_outputs() == results) return saves;
  return differs(fmt::format("a program of {} results is read back with {}", results, loaded.num_outputs()));
}

CheckOutcome check_optimized(const CheckMachine& machine) {
  const Sample s = sharded(machine);
  if (machine.compile(s.spec.mesh, s.program()).optimized) return {};
  throw Error(ErrorCode::unsupported, "the plugin doesn't show it");
}

CheckOutcome check_cost(const CheckMachine& machine) {
  const Sample s = sharded(machine);
  if (!machine.compile(s.spec.mesh, s.program()).cost.empty()) return {};
  throw Error(ErrorCode::unsupported, "the plugin has none");
}

CheckOutcome check_profiler(const CheckMachine& machine) {
  if (!machine.runs()) return not_tried("there is no device");
  const auto recording = pjrt::DeviceProfiler::start(machine.backend()->client().plugin()).value();
  return {CheckStatus::works, fmt::format("{} bytes", recording->stop().value().size())};
}

constexpr PluginCheck kChecks[] = {
    {"training step", "", check_training},
    {"sharding", "", check_sharding},
    {"donation", "", check_donation},
    {"memory statistics", "", check_statistics},
    {"words against a wrong program", "", check_refusal},
    {"own kernels", "ops run as the compiler makes them", check_kernels},
    {"host memory", "nothing can be offloaded", check_host_memory},
    {"saved programs", "every start compiles anew, and aot --save has nothing to save", check_saving},
    {"optimized program", "aot shows no collectives, peaks or traffic", check_optimized},
    {"cost analysis", "aot has Tenon's own counts alone", check_cost},
    {"profiler", "--profile records host spans alone", check_profiler},
};

}  // namespace

std::span<const PluginCheck> plugin_checks() { return kChecks; }

}  // namespace tenon
