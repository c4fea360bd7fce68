// Checkpoints on a local file system: writing. A crash at any moment leaves the checkpoints that were there, and the
// new one either whole or not at all.
//
// Everything is written and put on disk under a temporary name, the manifest last; one rename makes it a checkpoint;
// only then are old ones removed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/base/literal.h"
#include "tenon/base/lock_file.h"
#include "tenon/base/result.h"
#include "tenon/checkpoint/keep_policy.h"
#include "tenon/checkpoint/manifest.h"

namespace tenon {

struct SaveRequest {
  int64_t step = 0;
  std::vector<std::pair<std::string, Literal>> tensors;
  // Texts beside the tensors, by file name: "config.toml".
  std::map<std::string, std::string> files;
  // Small values kept in the manifest: hashes, the place in the data.
  std::map<std::string, std::string> metadata;
};

struct SaveOptions {
  KeepPolicy keep;
  // Tensors are spread over as many files as this asks for; a larger tensor has a file to itself.
  uint64_t max_shard_bytes = uint64_t{4} << 30;
};

struct SaveReport {
  std::string path;
  uint64_t bytes = 0;
  // Old or left-over directories that couldn't be removed.
  std::vector<std::string> warnings;
};

// The fault points of one save, in their order.
inline constexpr std::string_view kSaveFaultPoints[] = {
    "checkpoint.begin",        "checkpoint.after_make_dir",  "checkpoint.after_shard_fsync",
    "checkpoint.after_files",  "checkpoint.after_manifest",  "checkpoint.after_dir_fsync",
    "checkpoint.after_commit", "checkpoint.after_gc_rename", "checkpoint.after_gc"};

// The one writer of a directory, as long as it lives. For one thread at a time.
class CheckpointWriter {
 public:
  // Creates the directory if need be, locks it (`io` when another writer has it) and removes what dead writers left:
  // only directories whose names say that a writer made them.
  static Result<CheckpointWriter> open(const std::string& dir, SaveOptions options = {});

  // Replaces a checkpoint of the same step. On any error everything from before is still there, and nothing else.
  Result<SaveReport> save(const SaveRequest& request);

 private:
  Result<uint64_t> write_contents(const SaveRequest& request, const std::string& aside) const;
  Status write_shards(const SaveRequest& request, const std::string& aside, Manifest& manifest) const;
  Status commit(const std::string& aside, int64_t step) const;
  void collect_garbage(const SaveRequest& request, SaveReport& report) const;
  std::string aside_name(int64_t step) const;

  std::string dir_;
  SaveOptions options_;
  LockFile lock_;
};

}  // namespace tenon
