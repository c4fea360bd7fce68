#include "tenon/checkpoint/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "tenon/base/file.h"
#include "tenon/base/hash.h"
#include "tenon/base/text.h"
#include "tenon/checkpoint/manifest.h"
#include "tenon/checkpoint/safetensors.h"

namespace tenon {
namespace {

constexpr uint64_t kMaxTextFile = uint64_t{64} << 20;
constexpr size_t kChunk = size_t{1} << 20;

Error wrong_crc(const std::string& path, const std::string& what, uint32_t got, uint32_t expected) {
  return Error(ErrorCode::damaged, what + " is not what was written")
      .at(path)
      .got(fmt::format("crc32c {:08x}", got))
      .expected(fmt::format("{:08x}", expected));
}

Status check_size(const std::string& path, const FileRecord& record) {
  const Result<uint64_t> size = file_size(path);
  if (!size.ok()) return size.error();
  if (*size == record.bytes) return {};
  return Error(ErrorCode::damaged, "the file is of the wrong length")
      .at(path)
      .got(fmt::format("{} bytes", *size))
      .expected(fmt::format("{}", record.bytes));
}

Result<std::string> read_text(const std::string& path, const FileRecord& record) {
  Result<std::string> text = read_file(path, kMaxTextFile);
  if (text.ok() && crc32c(*text) != record.crc) return wrong_crc(path, "the file", crc32c(*text), record.crc);
  return text;
}

// Adds the bytes [begin, end) of a file to both checksums.
Status add_bytes(const InputFile& file, uint64_t begin, uint64_t end, uint32_t& part, uint32_t& whole) {
  std::vector<std::byte> buffer(std::min<uint64_t>(kChunk, end - begin));
  while (begin < end) {
    const std::span<std::byte> chunk(buffer.data(), std::min<uint64_t>(buffer.size(), end - begin));
    if (Status read = file.read(begin, chunk); !read.ok()) return read;
    part = crc32c(chunk, part);
    whole = crc32c(chunk, whole);
    begin += chunk.size();
  }
  return {};
}

// Reads a shard once, front to back: its tensors cover it without gaps.
Status verify_shard(const SafetensorsFile& shard, const Manifest& manifest, const FileRecord& record) {
  const Result<InputFile> file = InputFile::open(shard.path());
  if (!file.ok()) return file.error();
  const uint64_t data_begin = shard.tensors().empty() ? (*file).size() : shard.tensors().front().begin;
  uint32_t whole = 0, header = 0;
  if (Status read = add_bytes(*file, 0, data_begin, header, whole); !read.ok()) return read;
  for (const TensorInfo& tensor : shard.tensors()) {
    uint32_t crc = 0;
    if (Status read = add_bytes(*file, tensor.begin, tensor.end, crc, whole); !read.ok()) return read;
    const uint32_t expected = manifest.tensors.at(tensor.name).crc;
    if (crc == expected) continue;
    const std::string what =
        fmt::format("tensor {} at bytes {} to {}", quote_text(tensor.name), tensor.begin, tensor.end);
    return wrong_crc(shard.path(), what, crc, expected);
  }
  return whole == record.crc ? Status() : wrong_crc(shard.path(), "the file", whole, record.crc);
}

}  // namespace

struct OpenedCheckpoint::Parts {
  std::string path;
  Manifest manifest;
  std::map<std::string, SafetensorsFile> shards;  // by file name

  Status open_shards();
  Status check_tensors() const;
  Status check_files(Verify verify) const;
  Result<const SafetensorsFile*> shard_of(std::string_view name) const;
};

Status OpenedCheckpoint::Parts::open_shards() {
  for (const auto& [name, record] : manifest.files) {
    const std::string file = join_path(path, name);
    if (Status size = check_size(file, record); !size.ok()) return size;
    if (!name.ends_with(".safetensors")) continue;
    Result<SafetensorsFile> shard = SafetensorsFile::open(file);
    // Whatever it is that can't be read, it isn't what was written.
    if (!shard.ok()) return Error(ErrorCode::damaged, shard.error().message()).at(file);
    shards.emplace(name, std::move(*shard));
  }
  return {};
}

// Manifest and shards must tell of the same tensors.
Status OpenedCheckpoint::Parts::check_tensors() const {
  size_t count = 0;
  for (const auto& [name, shard] : shards) {
    for (const TensorInfo& tensor : shard.tensors()) {
      const auto record = manifest.tensors.find(tensor.name);
      if (record == manifest.tensors.end() || record->second.file != name) {
        return Error(ErrorCode::damaged, "tensor " + quote_text(tensor.name) + " is not in the manifest")
            .at(shard.path());
      }
      ++count;
    }
  }
  if (count == manifest.tensors.size()) return {};
  return Error(ErrorCode::damaged, "tensors of the manifest are in none of the files").at(path);
}

Status OpenedCheckpoint::Parts::check_files(Verify verify) const {
  if (verify == Verify::sizes) return {};
  for (const auto& [name, record] : manifest.files) {
    const auto shard = shards.find(name);
    if (shard == shards.end()) {
      const Result<std::string> text = read_text(join_path(path, name), record);
      if (!text.ok()) return text.error();
    } else if (Status verified = verify_shard(shard->second, manifest, record); !verified.ok()) {
      return verified;
    }
  }
  return {};
}

Result<const SafetensorsFile*> OpenedCheckpoint::Parts::shard_of(std::string_view name) const {
  const auto found = manifest.tensors.find(std::string(name));
  if (found != manifest.tensors.end()) return &shards.at(found->second.file);
  std::vector<std::string> names;
  for (const auto& [other, record] : manifest.tensors) names.push_back(other);
  return Error(ErrorCode::unknown_name, "no tensor " + quote_text(name)).at(path).hint(did_you_mean(name, names));
}

Result<OpenedCheckpoint> OpenedCheckpoint::open(const std::string& path, Verify verify) {
  const std::string manifest_path = join_path(path, kManifestName);
  const Result<std::string> text = read_file(manifest_path, kMaxManifestBytes);
  if (!text.ok()) return text.error();
  Result<Manifest> manifest = parse_manifest(*text);
  if (!manifest.ok()) return Error(manifest.error()).at(manifest_path);
  const std::string name = std::filesystem::path(path).filename().string();
  if (const auto step = parse_step_dir_name(name); step && *step != manifest->step) {
    return Error(ErrorCode::damaged, "the manifest is of another step")
        .at(manifest_path)
        .got(std::to_string(manifest->step))
        .expected(std::to_string(*step));
  }
  auto parts = std::make_shared<Parts>();
  parts->path = path;
  parts->manifest = std::move(*manifest);
  if (const Status opened = parts->open_shards(); !opened.ok()) return opened.error();
  if (const Status tensors = parts->check_tensors(); !tensors.ok()) return tensors.error();
  if (const Status files = parts->check_files(verify); !files.ok()) return files.error();
  OpenedCheckpoint checkpoint;
  checkpoint.parts_ = std::move(parts);
  return checkpoint;
}

int64_t OpenedCheckpoint::step() const { return parts_->manifest.step; }
const std::string& OpenedCheckpoint::path() const { return parts_->path; }
const std::map<std::string, std::string>& OpenedCheckpoint::metadata() const { return parts_->manifest.metadata; }

std::vector<std::string> OpenedCheckpoint::names() const {
  std::vector<std::string> names;
  for (const auto& [name, record] : parts_->manifest.tensors) names.push_back(name);
  return names;
}

Result<TensorType> OpenedCheckpoint::type(std::string_view name) const {
  const auto shard = parts_->shard_of(name);
  if (!shard.ok()) return shard.error();
  return (*shard)->find(name).value().type;
}

Result<uint32_t> OpenedCheckpoint::checksum(std::string_view name) const {
  const auto shard = parts_->shard_of(name);
  if (!shard.ok()) return shard.error();
  return parts_->manifest.tensors.at(std::string(name)).crc;
}

std::vector<std::string> OpenedCheckpoint::files() const {
  std::vector<std::string> names;
  for (const auto& [name, record] : parts_->manifest.files) {
    if (!parts_->shards.contains(name)) names.push_back(name);
  }
  return names;
}

uint64_t OpenedCheckpoint::bytes() const {
  uint64_t bytes = 0;
  for (const auto& [name, record] : parts_->manifest.files) bytes += record.bytes;
  return bytes;
}

Result<Literal> OpenedCheckpoint::read(std::string_view name) const {
  const Result<TensorType> tensor = type(name);
  if (!tensor.ok()) return tensor.error();
  return read_block(name, {Dims((*tensor).dims.size(), 0), (*tensor).dims});
}

Result<Literal> OpenedCheckpoint::read_block(std::string_view name, const ArraySlice& slice) const {
  const auto shard = parts_->shard_of(name);
  if (!shard.ok()) return shard.error();
  Result<Literal> literal = (*shard)->read_block(name, slice);
  if (!literal.ok() || slice.size != (*shard)->find(name).value().type.dims) return literal;
  const uint32_t crc = crc32c(literal->bytes()), expected = parts_->manifest.tensors.at(std::string(name)).crc;
  if (crc != expected) return wrong_crc((*shard)->path(), "tensor " + quote_text(name), crc, expected);
  return literal;
}

Result<std::string> OpenedCheckpoint::file(const std::string& name) const {
  const auto found = parts_->manifest.files.find(name);
  if (found == parts_->manifest.files.end()) {
    return Error(ErrorCode::not_found, "the checkpoint has no file " + quote_text(name)).at(parts_->path);
  }
  return read_text(join_path(parts_->path, name), found->second);
}

Result<OpenedCheckpoint> open_latest(const std::string& dir, Verify verify) {
  const Result<std::vector<int64_t>> steps = list_steps(dir);
  if (!steps.ok()) return steps.error();
  if ((*steps).empty()) return Error(ErrorCode::not_found, "no checkpoint in the directory").at(dir);
  std::vector<std::string> warnings;
  for (auto step = (*steps).rbegin(); step != (*steps).rend(); ++step) {
    Result<OpenedCheckpoint> opened = OpenedCheckpoint::open(join_path(dir, step_dir_name(*step)), verify);
    // A newer program's checkpoint is good: going back silently behind it would lose work.
    if (!opened.ok() && opened.error().code() == ErrorCode::unsupported) return opened.error();
    if (opened.ok()) {
      opened->warnings_ = std::move(warnings);
      return opened;
    }
    warnings.push_back(fmt::format("{} can't be used: {}", step_dir_name(*step), opened.error().what()));
  }
  return Error(ErrorCode::damaged, "no checkpoint in the directory is good: " + join(warnings, "; "))
      .at(dir)
      .hint("`tenon checkpoint verify` names every damaged file: bring these back, or begin in another directory");
}

Result<OpenedCheckpoint> open_checkpoint(const std::string& path, Verify verify) {
  if (exists(join_path(path, kManifestName))) return OpenedCheckpoint::open(path, verify);
  return open_latest(path, verify);
}

Result<std::vector<int64_t>> list_steps(const std::string& dir) {
  const Result<std::vector<std::string>> names = list_dir(dir);
  if (!names.ok()) return names.error();
  std::vector<int64_t> steps;
  for (const std::string& name : *names) {
    if (const auto step = parse_step_dir_name(name); step && is_dir(join_path(dir, name))) steps.push_back(*step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

std::string step_dir_name(int64_t step) { return fmt::format("step_{:08d}", step); }

std::optional<int64_t> parse_step_dir_name(std::string_view name) {
  constexpr std::string_view kPrefix = "step_";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const Result<int64_t> step = parse_int(name.substr(kPrefix.size()));
  if (!step.ok() || *step < 0 || step_dir_name(*step) != name) return std::nullopt;
  return *step;
}

}  // namespace tenon
