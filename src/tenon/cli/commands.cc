#include "tenon/cli/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "tenon/base/text.h"
#include "tenon/base/utf8.h"
#include "tenon/cli/command_line.h"
#include "tenon/config/registry.h"
#include "tenon/config/text.h"
#include "tenon/data/text_dataset.h"
#include "tenon/data/token_store.h"
#include "tenon/experiments/overlay_file.h"
#include "tenon/experiments/resolve.h"
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

Result<ParameterSet> parse_parameters(const std::string& text) {
  if (text == "trained") return ParameterSet::trained;
  if (text == "means") return ParameterSet::means;
  return Error(ErrorCode::invalid_argument, "no parameters are called so")
      .got(quote_text(text))
      .expected("trained or means");
}

void check_utf8(const std::string& prompt) {
  if (!is_utf8(prompt)) throw Error(ErrorCode::invalid_argument, "the prompt isn't valid UTF-8").at("--prompt");
}

// Throws `invalid_argument` unless the experiment has an argument for prepared data.
void require_tokens_argument(ExperimentOptions options, const std::string& dir) {
  load_plugins(options.plugins);
  const Experiment& experiment = find_experiment(experiments(), options.experiment, options.overrides);
  const std::string arguments = "\n" + arguments_to_toml(experiment, options.overrides);
  if (arguments.find("\nargs.data = ") != std::string::npos) return;
  const bool text = resolve(experiment, options.overrides).config.data.is<TextDataset>();
  throw Error(ErrorCode::invalid_argument, text ? "this experiment takes text only, and trains on its bytes"
                                                : "this experiment takes no prepared data")
      .at("--data")
      .got("prepared tokens in " + dir)
      .hint(std::string(text ? "give the folder of text" : "give what it trains on") +
            ", or take an experiment that has args.data, as llama2_test");
}

// "args.data=DIR", or "args.data_path=PATH" for what isn't prepared.
std::string data_assignment(const ExperimentOptions& experiment, const std::string& data) {
  require_path("--data", data);
  if (!is_prepared_data(data)) return "args.data_path=" + data;
  require_tokens_argument(experiment, data);
  return "args.data=" + data;
}

// "my" for an experiment that is the file x/my.toml.
std::string run_name(const std::string& experiment) {
  return is_overlay_file(experiment) ? std::filesystem::path(experiment).stem().string() : experiment;
}

}  // namespace

void run_train(const TrainCommand& command) {
  ExperimentOptions experiment = command.experiment;
  if (command.data) {
    auto& assignments = experiment.overrides.assignments;
    assignments.insert(assignments.begin(), data_assignment(command.experiment, *command.data));
  }
  RunOptions options;
  options.platform = command.device.platform;
  if (command.device.device) options.backend = open_backend(command.device);
  const Trainer::Config config = resolve_config(experiment, options.backend.get());
  if (command.dir) require_path("--dir", *command.dir);
  options.dir = command.dir.value_or("runs/" + run_name(command.experiment.experiment));
  options.resume = option("--resume", parse_resume(command.resume));
  options.new_optimizer = command.new_optimizer;
  options.dry_run = command.dry_run;
  options.allow_replication = command.allow_replication;
  if (command.trap) options.trap_non_finite = option("--trap", parse_trap(*command.trap));
  if (command.profile) options.profile = option("--profile", parse_step_range(*command.profile));
  print_text(to_toml(config));
  train(config, options);
}

namespace {

void write_one(Generator& generator, const std::string& prompt, const GenerateOptions& options) {
  generator.check(prompt, options);  // before anything is on the screen
  if (!generator.reads_source()) print_text(prompt);
  const GenerateResult result = generator.generate(prompt, options, print_text);
  print_text("\n");
  const auto decoded = static_cast<double>(result.tokens.empty() ? 0 : result.tokens.size() - 1);
  fmt::print(stderr, "{} tokens from step {}: the first after {:.0f} ms, then {:.0f} a second\n", result.tokens.size(),
             generator.step(), 1000 * result.prefill_seconds, decoded / std::max(result.decode_seconds, 1e-9));
}

void write_all(Generator& generator, const std::vector<std::string>& prompts, size_t num_samples,
               const GenerateOptions& options) {
  std::vector<std::string> all;
  for (const std::string& prompt : prompts) all.insert(all.end(), num_samples, prompt);
  const std::vector<GenerateResult> results = generator.generate_all(all, options);
  for (size_t i = 0; i < results.size(); ++i) {
    print_text(fmt::format("=== prompt {}, sample {}: {} tokens\n{}{}\n", i / num_samples + 1, i % num_samples + 1,
                           results[i].tokens.size(), generator.reads_source() ? "" : all[i], results[i].text));
  }
}

// Texts on one command line.
constexpr int64_t kMaxSamples = 10000;

}  // namespace

void run_generate(const GenerateCommand& command) {
  command.options.check();
  if (command.num_samples < 1 || command.num_samples > kMaxSamples) {
    throw Error(ErrorCode::invalid_argument, "not a number of texts")
        .at("--num_samples")
        .got(std::to_string(command.num_samples))
        .expected(fmt::format("1 to {}", kMaxSamples));
  }
  if (command.options.num_beams > 1 && command.num_samples > 1) {
    throw Error(ErrorCode::unsupported, "beam search draws nothing: it finds one text").at("--num_samples");
  }
  for (const std::string& prompt : command.prompts) check_utf8(prompt);
  const ParameterSet parameters = option("--parameters", parse_parameters(command.parameters));
  load_plugins(command.plugins);
  Generator generator(command.dir, open_backend(command.device), parameters, command.assignments);
  for (const std::string& warning : generator.warnings()) fmt::print(stderr, "warning: {}\n", warning);
  const std::vector<std::string> prompts = command.prompts.empty() ? std::vector<std::string>{""} : command.prompts;
  if (prompts.size() == 1 && command.num_samples == 1) {
    write_one(generator, prompts[0], command.options);
  } else {
    write_all(generator, prompts, static_cast<size_t>(command.num_samples), command.options);
  }
}

}  // namespace tenon
