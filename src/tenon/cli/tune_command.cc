#include "tenon/cli/tune_command.h"

#include <fmt/format.h>

#include <memory>

#include "tenon/base/text.h"
#include "tenon/cli/command_line.h"
#include "tenon/cli/options.h"
#include "tenon/tune/tune.h"

namespace tenon {
namespace {

struct TuneCommand {
  ExperimentOptions experiment;
  TargetOptions target;
  TuneOptions options;
  std::optional<std::string> axes, remat, schedules, kernels, dir;
  bool json = false;
};

void run_tune(const TuneCommand& command) {
  TuneOptions options = command.options;
  if (command.axes) options.space.axes = split(*command.axes, ',');
  if (command.remat) options.space.remat = split(*command.remat, ',');
  if (command.schedules) options.space.schedules = split(*command.schedules, ',');
  if (command.kernels) options.space.kernels = split(*command.kernels, ',');
  options.target = command.target.target;
  options.aot.chips = chips_for(command.target);
  ExperimentOptions experiment = command.experiment;
  load_plugins(experiment.plugins);
  const Experiment& found = find_experiment(experiments(), experiment.experiment, experiment.overrides);
  if (command.dir) {
    require_path("--dir", *command.dir);
    options.dir = *command.dir;
  } else {
    std::string target = options.target;
    for (char& c : target) c = c == ':' || c == '*' || c == '/' ? '-' : c;
    options.dir = fmt::format("tuned/{}-{}", found.name, target);
  }
  const TuneReport report =
      tune(found, experiment.overrides, options, [](const std::string& line) { fmt::print(stderr, "{}\n", line); });
  print_text((command.json ? tuning_json(report) : format_tuning(report)) + "\n");
  report.require_winner();
}

void add_space_options(Command& command, TuneCommand& c) {
  command.option("--axes", &c.axes, "mesh axes to spread devices over, of pipeline, data, expert, fsdp, seq, model")
      .type_name("data,fsdp,model");
  command
      .option("--remat", &c.remat,
              "policies to try: as_is, nothing, dots, everything, attention, attention_offload, dots_offload")
      .type_name("NAME,NAME");
  command.option("--microbatches", &c.options.space.microbatches,
                 "how many to try; may be given again (default: powers of two)");
  command.option("--schedules", &c.schedules, "of pipelines: gpipe, one_f_one_b, or both")
      .type_name("gpipe,one_f_one_b");
  command.option("--kernels", &c.kernels, "on, off, or both").type_name("on,off");
  command.option("--also", &c.options.space.also, "a modifier to try with and without; may be given again")
      .type_name("NAME{FIELD = VALUE, ...}");
}

}  // namespace

void add_tune_command(Command& program) {
  const auto c = std::make_shared<TuneCommand>();
  Command& command = program.add("tune", "searches for the mesh rule that makes an experiment fast on a machine");
  add_experiment_options(command, c->experiment);
  add_target_options(command, c->target);
  command.option("--global_batch", &c->options.global_batch, "examples in a step, over all devices").required();
  add_space_options(command, *c);
  command.option("--max_candidates", &c->options.max_candidates, "compiled at most").with_default();
  command.option("--measure", &c->options.measure, "of a CPU target: runs so many of the best, and ranks them by that")
      .with_default();
  command.option("--dir", &c->dir,
                 "where journal.jsonl and rule.toml go (default: tuned/EXPERIMENT-TARGET); a search goes on there");
  command.option("--json", &c->json, "prints JSON (docs/tuning.md)");
  command.option("--allow_replication", &c->options.aot.allow_replication,
                 "takes programs for which the compiler gives up on keeping arrays split");
  command.action = [c] { run_tune(*c); };
}

}  // namespace tenon
