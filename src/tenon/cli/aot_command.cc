#include "tenon/cli/aot_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "tenon/aot/generate_report.h"
#include "tenon/base/file.h"
#include "tenon/base/text.h"
#include "tenon/cli/command_line.h"
#include "tenon/cli/options.h"

namespace tenon {
namespace {

struct AotCommand {
  ExperimentOptions experiment;
  TargetOptions target;
  std::string program = "train";
  std::optional<std::string> save;
  std::optional<int64_t> rows, prompt_tokens, max_length;
  bool json = false, analytic = false, allow_replication = false;
};

AotOptions options_of(const AotCommand& command) {
  AotOptions options;
  options.chips = chips_for(command.target);
  options.save = command.save.has_value();
  options.allow_replication = command.allow_replication;
  options.analytic = command.analytic;
  return options;
}

GenerateShape shape_of(const AotCommand& command) {
  GenerateShape shape;
  shape.rows = command.rows.value_or(shape.rows);
  shape.prompt_tokens = command.prompt_tokens.value_or(shape.prompt_tokens);
  shape.max_length = command.max_length.value_or(shape.max_length);
  return shape;
}

void require_no_shape(const AotCommand& command) {
  for (const auto& [option, given] : {std::pair("--rows", command.rows.has_value()),
                                      {"--prompt_tokens", command.prompt_tokens.has_value()},
                                      {"--max_length", command.max_length.has_value()}}) {
    if (!given) continue;
    throw Error(ErrorCode::invalid_argument, "a training step has no such size")
        .at(option)
        .hint("add --program generate, or set data.batch_size and data.sequence_length");
  }
}

std::vector<StepReport> compile_all(const AotCommand& command) {
  if (command.program == "train") require_no_shape(command);
  const AotOptions options = options_of(command);
  const std::string& target = command.target.target;
  const Trainer::Config config = resolve_config(command.experiment, target, options.chips);
  if (command.program == "train") return {compile_train_step(config, target, options)};
  if (command.program != "generate") {
    throw Error(ErrorCode::unknown_name, "no program is called so")
        .at("--program")
        .got(quote_text(command.program))
        .expected("train or generate");
  }
  return compile_generate(config, target, shape_of(command), options);
}

// Before compiling, which may take minutes.
void require_place(const std::string& file) {
  const std::filesystem::path path(file), folder = path.has_parent_path() ? path.parent_path() : ".";
  const char* wrong = file.empty()                                 ? "it has no name"
                      : !is_dir(folder.string())                   ? "its folder isn't there"
                      : is_dir(file)                               ? "it is a folder"
                      : std::filesystem::is_other(path)            ? "it is a device or a pipe"
                      : ::access(folder.c_str(), W_OK | X_OK) != 0 ? "its folder can't be written"
                                                                   : nullptr;
  if (wrong == nullptr) return;
  throw Error(ErrorCode::io, std::string("the file can't be written: ") + wrong).at("--save").got(quote_text(file));
}

// After all is printed, throws `out_of_memory` when a program doesn't fit.
void run_aot(const AotCommand& command) {
  if (command.save) require_place(*command.save);
  const std::vector<StepReport> reports = compile_all(command);
  if (command.json) {
    print_text(reports_json(reports) + "\n");
  } else {
    for (const StepReport& report : reports) print_text(format_report(report) + "\n");
  }
  for (const StepReport& report : reports) {
    if (!command.save || !report.compiled) continue;
    const std::string suffix = reports.size() > 1 ? "." + report.name : "";
    report.compiled->saved->write(*command.save + suffix).value();
  }
  for (const StepReport& report : reports) report.require_fit();
}

}  // namespace

void add_aot_command(Command& program) {
  const auto c = std::make_shared<AotCommand>();
  Command& command = program.add("aot", "compiles an experiment for a machine that isn't here, and says what it takes");
  add_experiment_options(command, c->experiment);
  add_target_options(command, c->target);
  command
      .option("--program", &c->program,
              "train: the training step; generate: what reads a prompt (prefill) and what writes each token (decode)")
      .with_default();
  const GenerateShape shape;
  command.option("--rows", &c->rows, fmt::format("of --program generate: texts at once (default: {})", shape.rows));
  command.option(
      "--prompt_tokens", &c->prompt_tokens,
      fmt::format("of --program generate: tokens of a prompt, or of a source (default: {})", shape.prompt_tokens));
  command.option("--max_length", &c->max_length,
                 fmt::format("of --program generate: tokens of prompt and text, or of a text that has a source "
                             "(default: {})",
                             shape.max_length));
  command.option("--json", &c->json, "prints JSON (docs/aot.md)");
  command
      .option("--save", &c->save,
              "keeps the compiled program in this file (of two programs, FILE.prefill and FILE.decode)")
      .type_name("FILE");
  command.option("--analytic", &c->analytic, "doesn't compile: what is known without, and a bound from that");
  command.option("--allow_replication", &c->allow_replication,
                 "takes a program for which the compiler gives up on keeping arrays split");
  command.action = [c] { run_aot(*c); };
}

}  // namespace tenon
