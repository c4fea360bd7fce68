#include "tenon/cli/app.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "tenon/base/plugin_library.h"
#include "tenon/base/text.h"
#include "tenon/cli/checkpoint_commands.h"
#include "tenon/cli/commands.h"
#include "tenon/cli/config_commands.h"
#include "tenon/cli/data_commands.h"
#include "tenon/cli/debug_commands.h"
#include "tenon/cli/run_commands.h"
#include "tenon/config/registry.h"

namespace tenon {
namespace {

constexpr const char* kExitCodes =
    "Exit status: 0 done; 2 wrong input (usage, config, shapes); 3 too little memory on a device;\n"
    "             4 plugin or compiler; 5 missing or damaged files; 6 the system refused (disk full, permissions);\n"
    "             7 training went non-finite; 8 a run stood still; 70 a bug of Tenon; 130 interrupted, after saving\n";

void add_train(CLI::App& app, TrainCommand& c) {
  CLI::App* train = app.add_subcommand("train", "trains an experiment");
  add_experiment_options(*train, c.experiment);
  train->add_option("--data", c.data, "what to train on: a text file, a folder of .txt files, or prepared data");
  train->add_option("--dir", c.dir, "where checkpoints and logs go (default: runs/EXPERIMENT)");
  train->add_option("--platform", c.platform, "cpu, cpu:N (N virtual devices), cuda or tpu")->capture_default_str();
  train->add_option("--resume", c.resume, "auto: go on from a checkpoint if there is one; never; must")
      ->capture_default_str();
  train->add_flag("--new_optimizer", c.new_optimizer,
                  "resume with the model alone: what the optimizer keeps starts anew");
  train->add_flag("--dry_run", c.dry_run, "compile and report; train and write nothing");
  train->add_option("--trap", c.trap,
                    "nonfinite: stop at the first step whose loss or gradients aren't finite, and say which op made "
                    "them so");
  train->add_option("--profile", c.profile, "record these steps, as 10:13 (both included), for ui.perfetto.dev")
      ->type_name("FIRST:LAST");
}

void repeated(CLI::Option* option, const char* type) {
  option->type_name(type)->expected(1)->take_all()->allow_extra_args(false);
}

void add_generate(CLI::App& app, GenerateCommand& c) {
  CLI::App* generate = app.add_subcommand("generate", "writes text with a trained model");
  generate->add_option("dir", c.dir, "directory of the run")->required();
  repeated(generate->add_option("--prompt", c.prompts, "text to go on from; may be given again"), "TEXT");
  generate->add_option("--num_samples", c.num_samples, "texts of each prompt; text i of all has the seed SEED + i")
      ->capture_default_str();
  generate->add_option("--max_tokens", c.options.max_tokens, "at most so many tokens")->capture_default_str();
  repeated(generate->add_option("--stop", c.options.stop, "a text that ends the text; may be given again"), "TEXT");
  repeated(generate->add_option("--stop_token", c.options.stop_tokens, "a token that ends it; may be given again"),
           "NUMBER");
  SamplingOptions& sampling = c.options.sampling;
  generate->add_option("--temperature", sampling.temperature, "0: always the most likely token")->capture_default_str();
  generate->add_option("--top_k", sampling.top_k, "only among the k most likely; 0: all")->capture_default_str();
  generate->add_option("--top_p", sampling.top_p, "only among the most likely that have this probability together")
      ->capture_default_str();
  generate->add_option("--min_p", sampling.min_p, "none less likely than this part of the most likely one")
      ->capture_default_str();
  generate
      ->add_option("--repetition_penalty", sampling.repetition_penalty,
                   "above 1: what is in prompt or text already becomes less likely")
      ->capture_default_str();
  generate->add_option("--seed", sampling.seed, "the same seed gives the same text")->capture_default_str();
  generate->add_option("--num_beams", c.options.num_beams, "above 1: beam search, which draws nothing")
      ->capture_default_str();
  generate
      ->add_option("--length_penalty", c.options.length_penalty,
                   "of beam search: texts compare by log-probability / length^PENALTY")
      ->capture_default_str();
  generate->add_option("--parameters", c.parameters, "trained, or means: the running means that learner.ema keeps")
      ->capture_default_str();
  generate->add_option("--platform", c.platform, "cpu, cuda or tpu")->capture_default_str();
  add_plugin_option(*generate, c.plugins);
}

void add_aot(CLI::App& app, AotCommand& c) {
  CLI::App* aot = app.add_subcommand("aot", "compiles an experiment's training step for a machine that isn't here");
  add_experiment_options(*aot, c.experiment);
  aot->add_option("--target", c.target, "TPU generation and chips, as v5p:2x2x1, or GPU kind and number, as h100:4")
      ->required();
}

// One line, whatever compilers and operating systems put into their words.
int report(const Error& e) {
  std::string text = e.what();
  std::replace(text.begin(), text.end(), '\n', ' ');
  fmt::print(stderr, "error: {}\n", text);
  return exit_status(e.code());
}

// The command as far as it was understood: "tenon config show".
std::string command_name(const CLI::App& app) {
  const auto inner = app.get_subcommands();
  return app.get_name() + (inner.empty() ? "" : " " + command_name(*inner.front()));
}

// Prints help or the version (0), or what is wrong with the command line, whose first word is `first`.
int report(const CLI::App& app, const CLI::ParseError& e, const std::string& first) {
  if (e.get_exit_code() == 0) return app.exit(e);
  if (app.get_subcommands().empty() && !first.empty() && first.front() != '-') {
    std::vector<std::string> commands;
    for (const CLI::App* command : app.get_subcommands({})) commands.push_back(command->get_name());
    return report(Error(ErrorCode::unknown_name, fmt::format("there is no command {}", quote_text(first)))
                      .expected(join(commands, ", "))
                      .hint(did_you_mean(first, commands)));
  }
  return report(Error(ErrorCode::invalid_argument, e.what())
                    .hint(fmt::format("`{} --help` shows what there is", command_name(app))));
}

}  // namespace

int run_app(int argc, char** argv) {
  CLI::App app("Tenon trains and serves large models on any accelerator.", "tenon");
  app.footer(kExitCodes);
  app.set_version_flag("--version", std::string(kPluginAbi), "Print the version and exit");
  app.require_subcommand(1);
  app.fallthrough(false);
  TrainCommand train;
  GenerateCommand generate;
  AotCommand aot;
  std::function<void()> action;
  add_train(app, train);
  add_generate(app, generate);
  add_aot(app, aot);
  add_config_commands(app, action);
  add_golden_commands(app, action);
  add_completion_command(app, action);
  add_data_commands(app, action);
  add_debug_commands(app, action);
  add_checkpoint_commands(app, action);
  add_run_commands(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return report(app, e, argc > 1 ? argv[1] : "");
  }
  try {
    register_everything(Registry::global());
    if (app.got_subcommand("train")) {
      run_train(train);
    } else if (app.got_subcommand("generate")) {
      run_generate(generate);
    } else if (app.got_subcommand("aot")) {
      run_aot(aot);
    } else {
      action();
    }
  } catch (const Error& e) {
    return report(e);
  } catch (const std::bad_alloc&) {
    return report(Error(ErrorCode::no_space, "out of memory"));
  } catch (const std::exception& e) {
    return report(Error(ErrorCode::internal, e.what()));
  }
  return 0;
}

}  // namespace tenon
