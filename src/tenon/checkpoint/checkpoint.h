// Checkpoints on a local file system: reading.
//
//   <dir>/step_00000120/MANIFEST.json            sizes and checksums of all the others; written last
//                      /shard_00000.safetensors  whole tensors, unpadded
//                      /config.toml, …           texts
//   <dir>/step_00000140.tmp-<16 hex digits>/     being written, or left over
//   <dir>/LOCK                                   held by the one writer
//
// A checkpoint exists from the moment its directory has its final name, and is good when its manifest and every file
// fit.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/literal.h"
#include "tenon/base/mesh.h"
#include "tenon/base/result.h"

namespace tenon {

// Whether all bytes are read and compared with their checksums when a checkpoint is opened, or only sizes and headers.
enum class Verify { all, sizes };

class OpenedCheckpoint {
 public:
  // Opens one checkpoint's directory. `not_found`, `damaged` (naming file, tensor and byte) or `unsupported`.
  static Result<OpenedCheckpoint> open(const std::string& path, Verify verify = Verify::all);

  int64_t step() const;
  const std::string& path() const;
  // Tensor names, sorted.
  std::vector<std::string> names() const;
  // `unknown_name`, with the nearest names, when there is no such tensor.
  Result<TensorType> type(std::string_view name) const;
  // CRC-32C of its bytes, as the manifest has it.
  Result<uint32_t> checksum(std::string_view name) const;
  // The tensor, compared with its checksum.
  Result<Literal> read(std::string_view name) const;
  // Part of the tensor, reading only its bytes (see SafetensorsFile::read_block). These can't be compared with the
  // tensor's checksum: Verify::all has done so when the checkpoint was opened. A block that is the whole tensor is
  // compared again.
  Result<Literal> read_block(std::string_view name, const ArraySlice& slice) const;
  const std::map<std::string, std::string>& metadata() const;
  // The content of a text saved with it.
  Result<std::string> file(const std::string& name) const;
  // Names of the texts.
  std::vector<std::string> files() const;
  // Of all files but the manifest.
  uint64_t bytes() const;
  // What open_latest passed over to come here.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  friend Result<OpenedCheckpoint> open_latest(const std::string& dir, Verify verify);
  struct Parts;
  std::shared_ptr<const Parts> parts_;
  std::vector<std::string> warnings_;
};

// The newest good checkpoint in a directory; damaged ones are passed over with a warning. `not_found` when there is
// none at all, `damaged` when none is good.
Result<OpenedCheckpoint> open_latest(const std::string& dir, Verify verify = Verify::all);

// The checkpoint that a path is, or the newest good one of the directory that it is.
Result<OpenedCheckpoint> open_checkpoint(const std::string& path, Verify verify = Verify::all);

// The steps of all checkpoints in a directory, good or not, ascending.
Result<std::vector<int64_t>> list_steps(const std::string& dir);
// "step_00000120", and back: none for any other name.
std::string step_dir_name(int64_t step);
std::optional<int64_t> parse_step_dir_name(std::string_view name);

}  // namespace tenon
