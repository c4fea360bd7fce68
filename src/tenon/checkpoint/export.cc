#include "tenon/checkpoint/export.h"

#include <cmath>

#include "tenon/base/dtype.h"
#include "tenon/base/file.h"
#include "tenon/base/regex.h"
#include "tenon/base/text.h"
#include "tenon/checkpoint/safetensors.h"
#include "tenon/checkpoint/state_io.h"

namespace tenon {
namespace {

std::vector<std::string> chosen(const OpenedCheckpoint& checkpoint, const std::string& pattern) {
  if (!pattern.empty()) return names_matching(checkpoint, pattern);
  std::vector<std::string> names = checkpoint.names();
  std::erase_if(names, [](const std::string& name) { return name.starts_with(kLearnerPrefix); });
  if (!names.empty()) return names;
  throw Error(ErrorCode::invalid_argument, "no tensor but the learner's").at(checkpoint.path());
}

Literal converted(const Literal& value, DType dtype, const std::string& name) {
  Literal out(TensorType{dtype, value.dims()});
  for (int64_t i = 0; i < value.size(); ++i) {
    const double x = value.as_double(i);
    out.set(i, x);
    if (std::isfinite(x) && !std::isfinite(out.as_double(i))) {
      throw Error(ErrorCode::invalid_argument, "a value that " + std::string(to_string(dtype)) + " can't hold")
          .at(name)
          .got(format_float(x))
          .hint("export another dtype");
    }
  }
  return out;
}

// Removes the file unless it was renamed away.
class Aside {
 public:
  explicit Aside(const std::string& path) : path_(path + ".tmp-" + random_suffix()) {}
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;
  ~Aside() {
    const Status removed = remove_tree(path_);
    static_cast<void>(removed);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

std::vector<std::string> names_matching(const OpenedCheckpoint& checkpoint, const std::string& pattern) {
  const Result<Regex> compiled = Regex::compile(pattern);
  if (!compiled.ok()) throw Error(compiled.error()).at("tensors").got(quote_text(pattern));
  const Regex& regex = *compiled;
  std::vector<std::string> names = checkpoint.names();
  std::erase_if(names, [&](const std::string& name) { return !regex.matches(name); });
  if (!names.empty()) return names;
  throw Error(ErrorCode::invalid_argument, "no tensor has such a name").at(checkpoint.path()).got(quote_text(pattern));
}

ExportReport export_tensors(const OpenedCheckpoint& checkpoint, const std::string& path, const ExportOptions& options) {
  if (exists(path)) throw Error(ErrorCode::io, "the file exists").at(path).hint("choose another name");
  if (options.dtype && !is_float(*options.dtype)) {
    throw Error(ErrorCode::invalid_argument, "not a floating-point dtype")
        .at("dtype")
        .got(std::string(to_string(*options.dtype)));
  }
  std::vector<std::pair<std::string, TensorType>> types;
  for (const std::string& name : chosen(checkpoint, options.tensors)) {
    TensorType type = checkpoint.type(name).value();
    if (options.dtype && is_float(type.dtype)) type.dtype = *options.dtype;
    types.emplace_back(name, type);
  }
  ExportReport report{static_cast<int64_t>(types.size()), 0};
  const Aside aside(path);
  SafetensorsWriter writer =
      SafetensorsWriter::create(aside.path(), std::move(types), {{"tenon.step", std::to_string(checkpoint.step())}})
          .value();
  const std::vector<TensorInfo> tensors = writer.tensors();
  for (const TensorInfo& tensor : tensors) {
    Literal value = checkpoint.read(tensor.name).value();
    if (value.dtype() != tensor.type.dtype) value = converted(value, tensor.type.dtype, tensor.name);
    writer.write(std::as_const(value).bytes()).value();
  }
  writer.finish().value();
  report.bytes = writer.bytes_written();
  rename_file(aside.path(), path).value();
  return report;
}

}  // namespace tenon
