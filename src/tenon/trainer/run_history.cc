#include "tenon/trainer/run_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "tenon/base/file.h"
#include "tenon/base/json.h"
#include "tenon/base/lock_file.h"
#include "tenon/base/text.h"
#include "tenon/checkpoint/checkpoint.h"
#include "tenon/config/toml.h"

namespace tenon {
namespace {

std::string metrics_path(const std::string& dir) { return join_path(dir, "metrics.jsonl"); }
bool is_run(const std::string& dir) { return exists(metrics_path(dir)) || exists(join_path(dir, "LOCK")); }

std::optional<double> number(const Json& value) {
  if (const std::optional<double> plain = value.number()) return plain;
  const auto* text = value.as<std::string>();
  if (text == nullptr) return std::nullopt;
  const Result<double> parsed = parse_double(*text);
  return parsed.ok() ? std::optional(*parsed) : std::nullopt;
}

// Calls `see(step, line)` for every whole line; a run may be writing the last one.
template <class F>
Status each_line(const std::string& dir, F see) {
  const Result<std::string> text = read_file(metrics_path(dir));
  if (!text.ok()) return text.error();
  for (const std::string& line : split(*text, '\n')) {
    const Result<Json> json = Json::parse(line);
    const Json* at = json.ok() ? (*json).find("step") : nullptr;
    const std::optional<int64_t> step = at == nullptr ? std::nullopt : at->integer();
    if (step) see(*step, *json);
  }
  return {};
}

std::optional<int64_t> max_steps(const std::string& dir) {
  const std::string path = join_path(dir, "config.toml");
  const Result<std::string> text = read_file(path);
  if (!text.ok()) return std::nullopt;
  const Result<Value> parsed = parse_toml(*text, path);
  if (!parsed.ok()) return std::nullopt;
  const auto* table = (*parsed).as<Value::Table>();
  if (table == nullptr) return std::nullopt;
  for (const Value::Entry& entry : *table) {
    const auto* steps = entry.value.as<int64_t>();
    if (entry.key == "max_steps" && steps != nullptr) return *steps;
  }
  return std::nullopt;
}

RunStatus read_run(const std::string& dir) {
  RunStatus run;
  run.dir = dir;
  run.max_steps = max_steps(dir);
  const auto see = [&](int64_t step, const Json& json) {
    run.step = std::max(run.step, step);
    for (const auto& [name, to] :
         {std::pair("train/loss", &run.train_loss), std::pair("eval/loss", &run.eval_loss),
          std::pair("eval/loss.accuracy", &run.accuracy), std::pair("eval/bits_per_byte", &run.bits_per_byte)}) {
      if (const Json* value = json.find(name)) *to = number(*value);
    }
  };
  const Status read = each_line(dir, see);
  static_cast<void>(read);  // a run that has logged nothing yet
  const Result<std::vector<int64_t>> saved = list_steps(dir);
  if (saved.ok() && !(*saved).empty()) run.saved_step = (*saved).back();
  run.step = std::max(run.step, run.saved_step.value_or(0));
  const bool finished = run.max_steps && run.step >= *run.max_steps;
  run.state = LockFile::is_held(join_path(dir, "LOCK")) ? "running" : finished ? "finished" : "stopped";
  return run;
}

void collect(const std::string& dir, int depth, std::vector<RunStatus>& runs) {
  if (is_run(dir)) {
    runs.push_back(read_run(dir));
    return;
  }
  if (depth == 0) return;
  const Result<std::vector<std::string>> names = list_dir(dir);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    if (is_dir(join_path(dir, name))) collect(join_path(dir, name), depth - 1, runs);
  }
}

}  // namespace

Result<std::vector<RunStatus>> find_runs(const std::string& dir) {
  if (!is_dir(dir)) return Error(ErrorCode::not_found, "no such directory").at(dir);
  std::vector<RunStatus> runs;
  collect(dir, 2, runs);
  if (runs.empty()) return Error(ErrorCode::not_found, "no run in the directory, or two levels below").at(dir);
  return runs;
}

std::string format_runs(const std::vector<RunStatus>& runs) {
  const auto whole = [](const std::optional<int64_t>& value) { return value ? std::to_string(*value) : "-"; };
  const auto real = [](const std::optional<double>& value) { return value ? fmt::format("{:.4f}", *value) : "-"; };
  std::vector<std::array<std::string, 8>> rows = {
      {"run", "state", "step", "saved", "train_loss", "eval_loss", "accuracy", "bits_per_byte"}};
  for (const RunStatus& r : runs) {
    rows.push_back({r.dir, r.state, fmt::format("{}/{}", r.step, whole(r.max_steps)), whole(r.saved_step),
                    real(r.train_loss), real(r.eval_loss), real(r.accuracy), real(r.bits_per_byte)});
  }
  std::array<size_t, 8> width{};
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], row[i].size());
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) line += fmt::format("{:<{}}  ", row[i], width[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

Result<std::vector<std::pair<double, double>>> read_metric(const std::string& dir, const std::string& name) {
  std::map<int64_t, double> values;
  std::map<std::string, bool> names;
  const Status read = each_line(dir, [&](int64_t step, const Json& json) {
    for (const auto& [key, value] : *json.as<Json::Object>()) {
      if (key != "step" && key != "time") names[key] = true;
    }
    const Json* found = json.find(name);
    if (found == nullptr) return;
    if (const std::optional<double> value = number(*found)) values[step] = *value;
  });
  if (!read.ok()) return read.error();
  if (values.empty()) {
    std::vector<std::string> all;
    for (const auto& [key, there] : names) all.push_back(key);
    return Error(ErrorCode::unknown_name, "the run has no metric " + quote_text(name))
        .at(metrics_path(dir))
        .expected(join(all, ", "))
        .hint(did_you_mean(name, all));
  }
  std::vector<std::pair<double, double>> out;
  for (const auto& [step, value] : values) out.emplace_back(static_cast<double>(step), value);
  return out;
}

}  // namespace tenon
