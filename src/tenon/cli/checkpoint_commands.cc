#include "tenon/cli/checkpoint_commands.h"

#include <fmt/format.h>

#include <memory>
#include <set>
#include <vector>

#include "tenon/base/file.h"
#include "tenon/base/text.h"
#include "tenon/checkpoint/compare.h"
#include "tenon/checkpoint/export.h"
#include "tenon/checkpoint/keep_policy.h"
#include "tenon/checkpoint/manifest.h"
#include "tenon/checkpoint/state_io.h"
#include "tenon/cli/command_line.h"

namespace tenon {
namespace {

struct CheckpointCommand {
  std::string path, other, file, tensors;
  std::optional<std::string> dtype;
  bool values = false;
};

// The checkpoint that a path is, or all of the directory of a run.
std::vector<std::string> checkpoints_at(const std::string& path) {
  if (exists(join_path(path, kManifestName))) return {path};
  std::vector<std::string> out;
  for (const int64_t step : list_steps(path).value()) out.push_back(join_path(path, step_dir_name(step)));
  if (out.empty()) throw Error(ErrorCode::not_found, "no checkpoint in the directory").at(path);
  return out;
}

OpenedCheckpoint open(const std::string& path, Verify verify) {
  OpenedCheckpoint checkpoint = open_checkpoint(path, verify).value();
  for (const std::string& warning : checkpoint.warnings()) fmt::print(stderr, "warning: {}\n", warning);
  return checkpoint;
}

void list(const CheckpointCommand& command) {
  std::string text = fmt::format("{:>10}  {:>10}  {}\n", "step", "size", "metrics");
  for (const std::string& path : checkpoints_at(command.path)) {
    const size_t at = path.rfind("step_");
    const std::string name = at == std::string::npos ? path : path.substr(at + 5);
    const Result<OpenedCheckpoint> opened = OpenedCheckpoint::open(path, Verify::sizes);
    if (!opened.ok()) {
      text += fmt::format("{:>10}  {:>10}  {}\n", name, "-", opened.error().what());
      continue;
    }
    std::string metrics;
    for (const auto& [metric, value] : get_metrics((*opened).metadata())) {
      metrics += fmt::format("{}{}={:.5g}", metrics.empty() ? "" : "  ", metric, value);
    }
    text += fmt::format("{:>10}  {:>10}  {}\n", (*opened).step(), format_bytes((*opened).bytes()), metrics);
  }
  print_text(text);
}

struct Sum {
  int64_t tensors = 0, elements = 0;
  uint64_t bytes = 0;
};

void show(const CheckpointCommand& command) {
  const OpenedCheckpoint checkpoint = open(command.path, Verify::sizes);
  const std::vector<std::string> names =
      command.tensors.empty() ? checkpoint.names() : names_matching(checkpoint, command.tensors);
  const std::set<std::string> wanted(names.begin(), names.end());
  std::string text =
      fmt::format("{}: step {}, {}\n", checkpoint.path(), checkpoint.step(), format_bytes(checkpoint.bytes()));
  for (const auto& [key, value] : checkpoint.metadata()) text += fmt::format("{} = {}\n", key, value);
  for (const std::string& file : checkpoint.files()) text += fmt::format("with {}\n", file);
  Sum model, learner;
  for (const std::string& name : checkpoint.names()) {
    const TensorType type = checkpoint.type(name).value();
    const uint64_t bytes = static_cast<uint64_t>(num_elements(type.dims)) * byte_size(type.dtype);
    Sum& sum = name.starts_with(kLearnerPrefix) ? learner : model;
    ++sum.tensors;
    sum.elements += num_elements(type.dims);
    sum.bytes += bytes;
    if (wanted.contains(name)) {
      text += fmt::format("{:<20}  {:>10}  {}\n", to_string(type), format_bytes(bytes), name);
    }
  }
  const auto total = [&](const char* what, const Sum& sum) {
    text += fmt::format("{}: {} tensors, {} elements ({}), {}\n", what, sum.tensors, sum.elements,
                        format_count(static_cast<uint64_t>(sum.elements)), format_bytes(sum.bytes));
  };
  total("model", model);
  total("learner", learner);
  print_text(text);
}

void diff(const CheckpointCommand& command) {
  // Tensors are compared by their checksums, which say nothing of bytes that changed since.
  const OpenedCheckpoint before = open(command.path, Verify::all), after = open(command.other, Verify::all);
  const CheckpointDifference d = compare(before, after, command.values);
  std::string text;
  for (const std::string& name : d.only_before) {
    text += fmt::format("- {}: {}\n", name, to_string(before.type(name).value()));
  }
  for (const std::string& name : d.only_after) {
    text += fmt::format("+ {}: {}\n", name, to_string(after.type(name).value()));
  }
  for (const ChangedTensor& t : d.types) {
    text += fmt::format("{}: {} -> {}\n", t.name, to_string(t.before), to_string(t.after));
  }
  for (const ChangedTensor& t : d.values) {
    if (t.max_difference) text += fmt::format("{}: differs by up to {:.6g}\n", t.name, *t.max_difference);
  }
  text += fmt::format(
      "{} and {}: {} tensors only in the first, {} only in the second, {} of another type, {} with other "
      "values, {} equal\n",
      before.path(), after.path(), d.only_before.size(), d.only_after.size(), d.types.size(), d.values.size(), d.equal);
  print_text(text);
}

void verify(const CheckpointCommand& command) {
  std::vector<std::string> damaged;
  for (const std::string& path : checkpoints_at(command.path)) {
    const Result<OpenedCheckpoint> opened = OpenedCheckpoint::open(path, Verify::all);
    if (!opened.ok()) damaged.push_back(path);
    print_text(fmt::format("{}: {}\n", path,
                           opened.ok() ? fmt::format("good, {} read", format_bytes((*opened).bytes()))
                                       : std::string(opened.error().what())));
  }
  if (damaged.empty()) return;
  throw Error(ErrorCode::damaged, "not what was written: " + join(damaged, ", "))
      .at(command.path)
      .hint("training and generating pass over them; remove them once you don't need to look into them");
}

void export_weights(const CheckpointCommand& command) {
  ExportOptions options;
  options.tensors = command.tensors;
  if (command.dtype) {
    options.dtype = parse_dtype(*command.dtype);
    if (!options.dtype) {
      throw Error(ErrorCode::unknown_name, "no such dtype").at("--dtype").got(*command.dtype).expected("f32, bf16, …");
    }
  }
  const ExportReport report = export_tensors(open(command.path, Verify::all), command.file, options);
  print_text(fmt::format("{}: {} tensors, {}\n", command.file, report.tensors, format_bytes(report.bytes)));
}

using Body = void (*)(const CheckpointCommand&);

Command& add(Command& parent, const char* name, const char* doc, const std::shared_ptr<CheckpointCommand>& c,
             Body body) {
  Command& command = parent.add(name, doc);
  command.option("path", &c->path, "directory of a run, or one of its checkpoints").required();
  command.action = [c, body] { body(*c); };
  return command;
}

}  // namespace

void add_checkpoint_commands(Command& program) {
  const auto c = std::make_shared<CheckpointCommand>();
  Command& checkpoint = program.add("checkpoint", "lists, shows, compares, verifies and exports checkpoints");
  add(checkpoint, "list", "steps, sizes and metrics", c, list);
  add(checkpoint, "show", "tensors with their types; of a run, its newest good checkpoint's", c, show)
      .option("--tensors", &c->tensors, "only those whose names match this regular expression");
  Command& difference = add(checkpoint, "diff", "what differs between two checkpoints", c, diff);
  difference.option("other", &c->other, "another run or checkpoint").required();
  difference.option("--values", &c->values, "reads tensors that differ, and says by how much");
  add(checkpoint, "verify", "compares every byte with its checksum", c, verify);
  Command& exported =
      add(checkpoint, "export", "writes the model's weights as one safetensors file", c, export_weights);
  exported.option("file", &c->file, "the new file").required();
  exported.option("--tensors", &c->tensors, "those whose names match this regular expression, in place of the model's");
  exported.option("--dtype", &c->dtype, "converts floating-point tensors: bf16, f32, …");
}

}  // namespace tenon
