#include "tenon/cli/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "tenon/aot/step_report.h"
#include "tenon/base/text.h"
#include "tenon/base/utf8.h"
#include "tenon/config/registry.h"
#include "tenon/config/text.h"
#include "tenon/experiments/overlay_file.h"
#include "tenon/inference/generator.h"

namespace tenon {
namespace {

template <class T>
T option(const char* name, Result<T> value) {
  if (value.ok()) return *value;
  Error e = value.error();
  throw e.prefix(name);
}

Result<bool> parse_trap(const std::string& text) {
  if (text == "nonfinite") return true;
  return Error(ErrorCode::invalid_argument, "nothing to trap is called so").got(quote_text(text)).expected("nonfinite");
}

void check_utf8(const std::string& prompt) {
  if (!is_utf8(prompt)) throw Error(ErrorCode::invalid_argument, "the prompt isn't valid UTF-8").at("--prompt");
}

// "my" for an experiment that is the file x/my.toml.
std::string run_name(const std::string& experiment) {
  return is_overlay_file(experiment) ? std::filesystem::path(experiment).stem().string() : experiment;
}

}  // namespace

void run_train(const TrainCommand& command) {
  const Trainer::Config config = resolve_config(command.experiment);
  RunOptions options;
  options.dir = command.dir.empty() ? "runs/" + run_name(command.experiment.experiment) : command.dir;
  options.platform = command.platform;
  options.resume = option("--resume", parse_resume(command.resume));
  if (command.trap) options.trap_non_finite = option("--trap", parse_trap(*command.trap));
  if (command.profile) options.profile = option("--profile", parse_step_range(*command.profile));
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
  const StepReport report = compile_train_step(resolve_config(command.experiment), command.target);
  print_text(format_report(report) + "\n");
  report.require_fit();
}

}  // namespace tenon
