#include "tenon/cli/commands.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/aot/step_report.h"
#include "tenon/base/plugin_library.h"
#include "tenon/base/utf8.h"
#include "tenon/config/registry.h"
#include "tenon/config/text.h"
#include "tenon/inference/generator.h"

namespace tenon {
namespace {

// A plug-in exports `extern "C" void tenon_plugin(tenon::Registry&)`.
void load_plugins(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    const auto add = reinterpret_cast<void (*)(Registry&)>(load_plugin_library(path, "tenon_plugin"));
    add(Registry::global());
  }
}

void print_text(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    throw Error(ErrorCode::io, "standard output can't be written");
  }
}

template <class T>
T option(const char* name, Result<T> value) {
  if (value.ok()) return *value;
  Error e = value.error();
  throw e.prefix(name);
}

void check_utf8(const std::string& prompt) {
  if (!is_utf8(prompt)) throw Error(ErrorCode::invalid_argument, "the prompt isn't valid UTF-8").at("--prompt");
}

const ExperimentRegistry& experiments() {
  static const ExperimentRegistry registry = [] {
    ExperimentRegistry r;
    register_experiments(r);
    return r;
  }();
  return registry;
}

// The experiment, once plug-ins are loaded.
const Experiment& find(const ExperimentOptions& options) {
  load_plugins(options.plugins);
  return experiments().find(options.experiment);
}

}  // namespace

void run_train(const TrainCommand& command) {
  const Trainer::Config config = resolve(find(command.experiment), command.experiment.overrides);
  RunOptions options;
  options.dir = command.dir.empty() ? "runs/" + command.experiment.experiment : command.dir;
  options.platform = command.platform;
  options.resume = option("--resume", parse_resume(command.resume));
  print_text(to_toml(config));
  train(config, options);
}

void run_generate(const GenerateCommand& command) {
  const SamplingOptions sampling{command.temperature, command.top_k, command.seed};
  sampling.check();
  check_utf8(command.prompt);
  load_plugins(command.plugins);
  Generator generator(command.dir, Backend::open(command.platform));
  for (const std::string& warning : generator.warnings()) fmt::print(stderr, "warning: {}\n", warning);
  print_text(command.prompt);
  const GenerateResult result = generator.generate(command.prompt, command.max_tokens, sampling, print_text);
  print_text("\n");
  const auto decoded = static_cast<double>(result.tokens.empty() ? 0 : result.tokens.size() - 1);
  fmt::print(stderr, "{} tokens from step {}: the first after {:.0f} ms, then {:.0f} a second\n", result.tokens.size(),
             generator.step(), 1000 * result.prefill_seconds, decoded / std::max(result.decode_seconds, 1e-9));
}

void run_aot(const AotCommand& command) {
  const StepReport report =
      compile_train_step(resolve(find(command.experiment), command.experiment.overrides), command.target);
  print_text(format_report(report) + "\n");
  report.require_fit();
}

void run_config_list() {
  for (const Experiment* e : experiments().all()) fmt::print("{:<16} {}\n", e->name, e->description);
}

void run_config_args(const ExperimentOptions& options) {
  print_text(arguments_to_toml(find(options), options.overrides));
}

void run_config_show(const ExperimentOptions& options) {
  print_text(to_toml(resolve(find(options), options.overrides)));
}

}  // namespace tenon
