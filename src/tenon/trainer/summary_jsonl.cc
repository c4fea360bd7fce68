#include "tenon/trainer/summary_jsonl.h"

#include <cmath>

#include "tenon/base/clock.h"
#include "tenon/base/json.h"
#include "tenon/base/text.h"
#include "tenon/config/define.h"

namespace tenon {

TENON_MODULE(JsonlWriter, SummaryWriter, "a line of JSON for each step that is logged",
             {"file", "in the directory of the run"})

namespace {

// Whether a line of an earlier run stays.
bool is_before(const std::string& line, int64_t first_step) {
  const Result<Json> json = Json::parse(line);
  const Json* at = json.ok() ? (*json).find("step") : nullptr;
  const std::optional<int64_t> step = at == nullptr ? std::nullopt : at->integer();
  return step && *step < first_step;
}

std::string to_json(double value) {
  const std::string text = format_float(value);
  return std::isfinite(value) ? text : "\"" + text + "\"";
}

}  // namespace

void JsonlWriter::Config::check(Checker& c) const {
  // Lines that aren't of this run are dropped from it: no other file may come under that.
  c.require(file.ends_with(".jsonl") && file.find('/') == std::string::npos, "file",
            "must name a file ending in .jsonl, in the directory of the run");
}

Status JsonlWriter::open(const std::string& dir, int64_t first_step) {
  const std::string path = join_path(dir, name_);
  std::string kept;
  if (exists(path)) {
    const Result<std::string> old = read_file(path);
    if (!old.ok()) return old.error();
    for (const std::string& line : split(*old, '\n')) {
      if (is_before(line, first_step)) kept += line + "\n";
    }
    if (kept != *old) {
      if (Status written = write_file_atomic(path, kept); !written.ok()) return written;
    }
  }
  Result<OutputFile> file = OutputFile::append(path);
  if (!file.ok()) return file.error();
  file_ = std::move(*file);
  return {};
}

Status JsonlWriter::write(int64_t step, const Scalars& scalars) {
  std::string line =
      (torn_ ? "\n{\"step\":" : "{\"step\":") + std::to_string(step) + ",\"time\":" + format_float(unix_seconds());
  for (const auto& [name, value] : scalars) {
    line += "," + Json(name).text({.replace_bad_utf8 = true}) + ":" + to_json(value);
  }
  Status written = file_.write(line + "}\n");
  torn_ = !written.ok();
  return written;
}

}  // namespace tenon
