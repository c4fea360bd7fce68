#include "tenon/checkpoint/checkpoint_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/base/fault.h"
#include "tenon/base/file.h"
#include "tenon/base/hash.h"
#include "tenon/base/span.h"
#include "tenon/base/text.h"
#include "tenon/checkpoint/checkpoint.h"
#include "tenon/checkpoint/safetensors.h"

namespace tenon {
namespace {

constexpr std::string_view kAside = ".tmp-";
constexpr size_t kSuffixLength = 16;

// "step_00000120.tmp-0123456789abcdef" and nothing else.
bool is_aside_name(std::string_view name) {
  if (name.size() < kAside.size() + kSuffixLength) return false;
  const std::string_view suffix = name.substr(name.size() - kSuffixLength);
  const std::string_view front = name.substr(0, name.size() - kSuffixLength);
  const bool hex = suffix.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  return hex && front.ends_with(kAside) && parse_step_dir_name(front.substr(0, front.size() - kAside.size()));
}

void check_request(const SaveRequest& request) {
  if (request.step < 0)
    throw Error(ErrorCode::invalid_argument, "a step is negative").got(std::to_string(request.step));
  for (const auto& [name, text] : request.files) {
    if (!is_plain_file_name(name) || name == kManifestName || name.ends_with(".safetensors")) {
      throw Error(ErrorCode::invalid_argument, "not a name for a file in a checkpoint").got(quote_text(name));
    }
  }
}

using Shard = std::vector<const std::pair<std::string, Literal>*>;

// Largest first, each into the emptiest shard. Depends on names and sizes only.
std::vector<Shard> assign_shards(const SaveRequest& request, uint64_t max_bytes) {
  Shard tensors;
  uint64_t total = 0;
  for (const auto& tensor : request.tensors) {
    tensors.push_back(&tensor);
    total += tensor.second.bytes().size();
  }
  std::sort(tensors.begin(), tensors.end(), [](const auto* a, const auto* b) {
    const size_t a_size = a->second.bytes().size(), b_size = b->second.bytes().size();
    return a_size != b_size ? a_size > b_size : a->first < b->first;
  });
  const uint64_t wanted = total / std::max<uint64_t>(max_bytes, 1) + 1;
  std::vector<Shard> shards(std::min<uint64_t>(wanted, std::max<size_t>(tensors.size(), 1)));
  std::vector<uint64_t> sizes(shards.size(), 0);
  for (const auto* tensor : tensors) {
    const auto emptiest = static_cast<size_t>(std::min_element(sizes.begin(), sizes.end()) - sizes.begin());
    shards[emptiest].push_back(tensor);
    sizes[emptiest] += tensor->second.bytes().size();
  }
  return shards;
}

Status write_shard(const Shard& shard, const std::string& aside, const std::string& name, Manifest& manifest) {
  std::vector<std::pair<std::string, TensorType>> types;
  std::map<std::string_view, const Literal*> values;
  for (const auto* tensor : shard) {
    types.emplace_back(tensor->first, tensor->second.type());
    values[tensor->first] = &tensor->second;
  }
  Result<SafetensorsWriter> writer = SafetensorsWriter::create(join_path(aside, name), std::move(types));
  if (!writer.ok()) return writer.error();
  for (const TensorInfo& tensor : writer->tensors()) {
    const Span span("write", tensor.name);
    const auto bytes = values.at(tensor.name)->bytes();
    if (Status written = writer->write(bytes); !written.ok()) return written;
    const bool fresh = manifest.tensors.insert({tensor.name, {name, crc32c(bytes)}}).second;
    if (!fresh) throw Error(ErrorCode::invalid_argument, "two tensors of one name").got(quote_text(tensor.name));
  }
  const Span span("sync", name);
  if (Status finished = writer->finish(); !finished.ok()) return finished;
  manifest.files[name] = {writer->bytes_written(), writer->crc()};
  return {};
}

Status write_synced(const std::string& path, std::string_view text) {
  Result<OutputFile> file = OutputFile::create(path);
  if (!file.ok()) return file.error();
  if (Status written = file->write(text); !written.ok()) return written;
  return file->finish();
}

}  // namespace

Result<CheckpointWriter> CheckpointWriter::open(const std::string& dir, SaveOptions options) {
  if (options.keep.last_n < 1) {
    throw Error(ErrorCode::invalid_argument, "at least one checkpoint must be kept")
        .at("keep.last_n")
        .got(std::to_string(options.keep.last_n));
  }
  if (const Status made = make_dirs(dir); !made.ok()) return made.error();
  Result<LockFile> lock = LockFile::acquire(join_path(dir, "LOCK"));
  if (!lock.ok()) return lock.error();
  const Result<std::vector<std::string>> names = list_dir(dir);
  if (!names.ok()) return names.error();
  for (const std::string& name : *names) {
    if (!is_aside_name(name)) continue;
    if (const Status removed = remove_tree(join_path(dir, name)); !removed.ok()) return removed.error();
  }
  CheckpointWriter writer;
  writer.dir_ = dir;
  writer.options_ = options;
  writer.lock_ = std::move(*lock);
  return writer;
}

Result<SaveReport> CheckpointWriter::save(const SaveRequest& request) {
  check_request(request);
  fault_point("checkpoint.begin");
  const std::string aside = aside_name(request.step);
  if (const Status made = make_new_dir(aside); !made.ok()) return made.error();
  const RemoveAtEnd cleanup(aside);
  fault_point("checkpoint.after_make_dir");
  const Result<uint64_t> bytes = write_contents(request, aside);
  if (!bytes.ok()) return bytes.error();
  if (const Status committed = commit(aside, request.step); !committed.ok()) return committed.error();
  SaveReport report{join_path(dir_, step_dir_name(request.step)), *bytes, {}};
  collect_garbage(request, report);
  return report;
}

Result<uint64_t> CheckpointWriter::write_contents(const SaveRequest& request, const std::string& aside) const {
  Manifest manifest;
  manifest.step = request.step;
  manifest.metadata = request.metadata;
  if (const Status shards = write_shards(request, aside, manifest); !shards.ok()) return shards.error();
  for (const auto& [name, text] : request.files) {
    if (const Status written = write_synced(join_path(aside, name), text); !written.ok()) return written.error();
    manifest.files[name] = {text.size(), crc32c(text)};
  }
  fault_point("checkpoint.after_files");
  uint64_t bytes = 0;
  for (const auto& [name, record] : manifest.files) bytes += record.bytes;
  const Status written = write_synced(join_path(aside, kManifestName), format_manifest(manifest));
  if (!written.ok()) return written.error();
  fault_point("checkpoint.after_manifest");
  if (const Status synced = fsync_dir(aside); !synced.ok()) return synced.error();
  fault_point("checkpoint.after_dir_fsync");
  return bytes;
}

Status CheckpointWriter::write_shards(const SaveRequest& request, const std::string& aside, Manifest& manifest) const {
  const std::vector<Shard> shards = assign_shards(request, options_.max_shard_bytes);
  for (size_t i = 0; i < shards.size(); ++i) {
    const std::string name = fmt::format("shard_{:05d}.safetensors", i);
    if (Status written = write_shard(shards[i], aside, name, manifest); !written.ok()) return written;
    fault_point("checkpoint.after_shard_fsync");
  }
  return {};
}

// Behind an exchange, the directory aside holds the replaced checkpoint, and goes at the end of the save.
Status CheckpointWriter::commit(const std::string& aside, int64_t step) const {
  const Span span("commit", step_dir_name(step));
  const std::string final_path = join_path(dir_, step_dir_name(step));
  Status moved = exists(final_path) ? exchange_dirs(aside, final_path) : rename_dir(aside, final_path);
  if (moved.ok()) fault_point("checkpoint.after_commit");
  return moved;
}

// Only directories with a sound manifest, of earlier steps, are looked at: what can't be read wasn't proved to be ours,
// and later steps are not this run's. The one just saved is the newest and stays.
void CheckpointWriter::collect_garbage(const SaveRequest& request, SaveReport& report) const {
  const Result<std::vector<int64_t>> steps = list_steps(dir_);
  if (!steps.ok()) {
    report.warnings.push_back(steps.error().what());
    return;
  }
  const std::string& metric = options_.keep.best_metric;
  std::vector<KeepCandidate> candidates{{request.step, get_metric(request.metadata, metric)}};
  for (const int64_t old : *steps) {
    if (old >= request.step) continue;
    const Result<OpenedCheckpoint> good = OpenedCheckpoint::open(join_path(dir_, step_dir_name(old)), Verify::sizes);
    if (good.ok()) candidates.push_back({old, get_metric((*good).metadata(), metric)});
  }
  for (const int64_t old : steps_to_remove(options_.keep, std::move(candidates))) {
    const std::string aside = aside_name(old);
    Status removed = rename_dir(join_path(dir_, step_dir_name(old)), aside);
    fault_point("checkpoint.after_gc_rename");
    if (removed.ok()) removed = remove_tree(aside);
    if (!removed.ok()) report.warnings.push_back(removed.error().what());
  }
  fault_point("checkpoint.after_gc");
}

std::string CheckpointWriter::aside_name(int64_t step) const {
  return join_path(dir_, step_dir_name(step) + std::string(kAside) + random_suffix());
}

}  // namespace tenon
