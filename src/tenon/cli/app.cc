#include "tenon/cli/app.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/base/plugin_library.h"
#include "tenon/cli/aot_command.h"
#include "tenon/cli/backend_command.h"
#include "tenon/cli/checkpoint_commands.h"
#include "tenon/cli/command_line.h"
#include "tenon/cli/commands.h"
#include "tenon/cli/config_commands.h"
#include "tenon/cli/data_commands.h"
#include "tenon/cli/debug_commands.h"
#include "tenon/cli/measure_command.h"
#include "tenon/cli/parity_command.h"
#include "tenon/cli/rules_command.h"
#include "tenon/cli/run_commands.h"
#include "tenon/cli/tune_command.h"
#include "tenon/config/registry.h"

namespace tenon {
namespace {

constexpr const char* kExitCodes =
    "Exit status: 0 done; 2 wrong input (usage, config, shapes); 3 too little memory on a device;\n"
    "             4 plugin or compiler; 5 missing or damaged files; 6 the system refused (disk full, permissions);\n"
    "             7 training went non-finite; 8 a run stood still; 70 a bug of Tenon; 130 interrupted, after saving\n";

void add_train(Command& program) {
  const auto c = std::make_shared<TrainCommand>();
  Command& command = program.add("train", "trains an experiment");
  add_experiment_options(command, c->experiment);
  command.option("--data", &c->data, "what to train on: a text file, a folder of .txt files, or prepared data");
  command.option("--dir", &c->dir, "where checkpoints and logs go (default: runs/EXPERIMENT)");
  add_device_options(command, c->device, "cpu, cpu:N (N virtual devices), cuda or tpu");
  command.option("--resume", &c->resume, "auto: go on from a checkpoint if there is one; never; must").with_default();
  command.option("--new_optimizer", &c->new_optimizer,
                 "resume with another learner: of its state what fits goes on, the rest starts anew");
  command.option("--dry_run", &c->dry_run, "compile and report; train and write nothing");
  command.option("--allow_replication", &c->allow_replication,
                 "takes a step for which the compiler gives up on keeping arrays split");
  command.option("--trap", &c->trap,
                 "nonfinite: stop at the first step whose loss or gradients aren't finite, and say which op made "
                 "them so");
  command.option("--profile", &c->profile, "record these steps, as 10:13 (both included), for ui.perfetto.dev")
      .type_name("FIRST:LAST");
  command.action = [c] { run_train(*c); };
}

// How the next token is chosen.
void add_sampling_options(Command& command, SamplingOptions& sampling) {
  command.option("--temperature", &sampling.temperature, "0: always the most likely token").with_default();
  command.option("--top_k", &sampling.top_k, "only among the k most likely; 0: all").with_default();
  command.option("--top_p", &sampling.top_p, "only among the most likely that have this probability together")
      .with_default();
  command.option("--min_p", &sampling.min_p, "none less likely than this part of the most likely one").with_default();
  command
      .option("--repetition_penalty", &sampling.repetition_penalty,
              "above 1: what is in prompt or text already becomes less likely")
      .with_default();
  command.option("--seed", &sampling.seed, "the same seed gives the same text").with_default();
}

void add_generate(Command& program) {
  const auto c = std::make_shared<GenerateCommand>();
  Command& command = program.add("generate", "writes text with a trained model");
  command.option("dir", &c->dir, "directory of the run").required();
  command
      .option("--prompt", &c->prompts,
              "text to go on from, or to read where the model reads one and writes another; may be given again")
      .type_name("TEXT");
  command.option("--num_samples", &c->num_samples, "texts of each prompt; text i of all has the seed SEED + i")
      .with_default();
  command.option("--max_tokens", &c->options.max_tokens, "at most so many tokens").with_default();
  command.option("--stop", &c->options.stop, "a text that ends the text; may be given again").type_name("TEXT");
  command.option("--stop_token", &c->options.stop_tokens, "a token that ends it; may be given again")
      .type_name("NUMBER");
  add_sampling_options(command, c->options.sampling);
  command.option("--set", &c->assignments, "sets one field of the model; may be given again").type_name("PATH=VALUE");
  command.option("--num_beams", &c->options.num_beams, "above 1: beam search, which draws nothing").with_default();
  command
      .option("--length_penalty", &c->options.length_penalty,
              "of beam search: texts compare by log-probability / length^PENALTY")
      .with_default();
  command.option("--parameters", &c->parameters, "trained, or means: the running means that learner.ema keeps")
      .with_default();
  add_device_options(command, c->device, "cpu, cuda or tpu");
  add_plugin_option(command, c->plugins);
  command.action = [c] { run_generate(*c); };
}

// One line, whatever compilers and operating systems put into their words.
int report(const Error& e) {
  std::string text = e.what();
  std::replace(text.begin(), text.end(), '\n', ' ');
  fmt::print(stderr, "error: {}\n", text);
  return exit_status(e.code());
}

}  // namespace

int run_app(int argc, char** argv) {
  Command program{.name = "tenon", .doc = "Tenon trains and serves large models on any accelerator."};
  program.footer = kExitCodes;
  program.version = kPluginAbi;
  add_train(program);
  add_generate(program);
  add_aot_command(program);
  add_tune_command(program);
  add_config_commands(program);
  add_rules_command(program);
  add_golden_commands(program);
  add_completion_command(program);
  add_data_commands(program);
  add_debug_commands(program);
  add_checkpoint_commands(program);
  add_run_commands(program);
  add_parity_command(program);
  add_measure_command(program);
  add_backend_command(program);
  try {
    const std::function<void()> action = parse_command_line(program, argc, argv);
    register_everything(Registry::global());
    action();
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
