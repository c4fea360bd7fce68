#include "tenon/aot/generate_report.h"

#include <fmt/format.h>

#include "tenon/config/config_type.h"
#include "tenon/config/validate.h"
#include "tenon/inference/generate_program.h"
#include "tenon/inference/load_model.h"
#include "tenon/nn/functional.h"
#include "tenon/passes/pipeline.h"

namespace tenon {
namespace {

constexpr int64_t kMaxRows = int64_t{1} << 20, kMaxLength = int64_t{1} << 24;

void check_shape(const GenerateShape& shape, bool reads_source) {
  const auto check = [](const char* option, int64_t value, int64_t least, int64_t most, const std::string& why) {
    if (value >= least && value <= most) return;
    throw Error(ErrorCode::invalid_argument, "not a size of texts")
        .at(option)
        .got(std::to_string(value))
        .expected(fmt::format("{} to {}{}", least, most, why));
  };
  check("--rows", shape.rows, 1, kMaxRows, "");
  check("--prompt_tokens", shape.prompt_tokens, 1, kMaxLength - 1, "");
  const int64_t begin = reads_source ? 1 : shape.prompt_tokens;
  const std::string why = reads_source ? ", with room behind its first token" : ", with room behind its prompt";
  check("--max_length", shape.max_length, begin + 1, kMaxLength, why);
}

std::unique_ptr<LanguageModel> build_model(const Trainer::Config& config) {
  validate(config);
  Slot<Model> slot = config.model;
  if (!slot.is<LanguageModel>()) {
    throw Error(ErrorCode::unsupported, "this model can't write text")
        .at("model")
        .got(std::string(slot->type().name()))
        .expected("a LanguageModel");
  }
  unroll_decoders(slot.mutable_get());
  return std::unique_ptr<LanguageModel>(static_cast<LanguageModel*>(slot.build().release()));
}

// [rows, heads, …] of the cache, [rows, …] of counts.
PartitionSpec state_spec(const TensorType& type, int64_t rows, const Mesh& mesh) {
  std::vector<Axis> dims(type.dims.size());
  const Axis examples{"data", "expert", "fsdp"}, heads("model");
  if (type.rank() >= 2 && type.dims[0] == rows) {
    if (rows % mesh.shards(examples) == 0) dims[0] = examples;
    if (type.rank() == 4 && type.dims[1] % mesh.shards(heads) == 0) dims[1] = heads;
  }
  return PartitionSpec(std::move(dims));
}

class Reports {
 public:
  Reports(const Trainer::Config& config, const ProgramReporter& reporter)
      : model_(build_model(config)),
        mesh_(config.mesh.resolve(reporter.num_devices())),
        kernels_(config.kernels.allowed(reporter.kernels())),
        reporter_(reporter) {
    for (const ParamInfo& info : describe_state(*model_)) {
      if (!model_->writes_with(info.path)) continue;
      names_.push_back(info.path);
      types_.push_back({info.dtype, mesh_.padded_dims(info.logical_shape(), info.partition)});
      specs_.push_back(info.partition);
    }
  }

  bool reads_source() const { return model_->reads_source(); }

  StepReport report(std::string name, const GenerateKey& key) const {
    GenerateProgram made = make_generate_program(*model_, names_, types_, nullptr, key);
    Graph graph = make_graph(made.types, made.body);
    made.spec.mesh = mesh_;
    made.spec.kernels = kernels_;
    made.spec.param_specs.resize(made.types.size());
    for (size_t i = 0; i < made.spec.num_donated; ++i) {
      made.spec.param_specs[i] = state_spec(made.types[i], key.rows, mesh_);
      made.spec.result_specs.push_back(made.spec.param_specs[i]);
    }
    for (size_t i = 0; i < specs_.size(); ++i) made.spec.param_specs[made.spec.num_donated + i] = specs_[i];
    made.spec.result_specs.emplace_back();
    StepReport start;
    start.name = std::move(name);
    start.tokens = static_cast<double>(key.rows * (key.reads_source ? key.source_length : key.num_tokens));
    made.spec.pass_observer = [&](const Pass* pass, const Graph& g) {
      if (pass == &passes().front()) start.flops = count_flops_by_kind(*g.trace, g.root);
    };
    const Program program = make_program(graph, made.spec);
    start.model_flops = start.flops;
    return reporter_.report(std::move(start), mesh_, program);
  }

 private:
  std::unique_ptr<LanguageModel> model_;
  Mesh mesh_;
  KernelList kernels_;
  const ProgramReporter& reporter_;
  std::vector<std::string> names_;
  std::vector<TensorType> types_;
  std::vector<PartitionSpec> specs_;
};

}  // namespace

std::vector<StepReport> compile_generate(const Trainer::Config& config, std::string_view target,
                                         const GenerateShape& shape, const AotOptions& options) {
  const ProgramReporter reporter(target, options);
  const Reports reports(config, reporter);
  const bool reads = reports.reads_source();
  check_shape(shape, reads);
  const int64_t source = reads ? shape.prompt_tokens : 0, first = reads ? 1 : shape.prompt_tokens;
  return {reports.report("prefill", {shape.rows, first, shape.max_length, 0, false, source, reads}),
          reports.report("decode", {shape.rows, 1, shape.max_length, 0, false, source})};
}

}  // namespace tenon
