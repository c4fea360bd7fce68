// Files and directories of the local file system. Every failure is a `Result` with the path and the reason; interrupted
// and short system calls are continued.
//
// Fault points: "file.open", "file.read", "file.write", "file.fsync", "file.rename", "file.remove".
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/base/file_descriptor.h"
#include "tenon/base/result.h"

namespace tenon {

// A file open for reading at any offset, from any thread.
class InputFile {
 public:
  static Result<InputFile> open(const std::string& path);
  const std::string& path() const { return path_; }
  // Length in bytes when it was opened.
  uint64_t size() const { return size_; }
  // Fills `out` from `offset`; `damaged` when the file ends before that.
  Status read(uint64_t offset, std::span<std::byte> out) const;

 private:
  std::string path_;
  FileDescriptor fd_;
  uint64_t size_ = 0;
};

// A file written front to back.
class OutputFile {
 public:
  // Fails when the file exists.
  static Result<OutputFile> create(const std::string& path);
  // Goes on behind what the file has; creates it if need be.
  static Result<OutputFile> append(const std::string& path);
  const std::string& path() const { return path_; }
  Status write(std::span<const std::byte> bytes);
  Status write(std::string_view text);
  // Puts everything on the disk and closes.
  Status finish();

 private:
  static Result<OutputFile> open(const std::string& path, int flags);
  std::string path_;
  FileDescriptor fd_;
};

// The whole file; `damaged` when it is longer than `max_bytes`.
Result<std::string> read_file(const std::string& path, uint64_t max_bytes = std::numeric_limits<uint64_t>::max());
Status read_range(const std::string& path, uint64_t offset, std::span<std::byte> out);
// The file has either its old content or `content`, on disk, whatever happens: written aside, synced, renamed.
Status write_file_atomic(const std::string& path, std::string_view content);

// Creates a directory and its parents, on disk; fine when it is there.
Status make_dirs(const std::string& path);
// Creates one directory; fails when it exists.
Status make_new_dir(const std::string& path);
Status fsync_dir(const std::string& path);
// Renames a file within one parent directory, over one that is there, and puts that on disk.
Status rename_file(const std::string& from, const std::string& to);
// The same for a directory. Fails when `to` is a non-empty directory.
Status rename_dir(const std::string& from, const std::string& to);
// Swaps two directories of one parent and puts that on disk: at once where the file system can, else by three renames.
Status exchange_dirs(const std::string& a, const std::string& b);
// Removes a file or a directory with everything in it; fine when there is nothing. Never follows symbolic links.
Status remove_tree(const std::string& path);
// Removes a directory at the end of a scope, whatever happens; errors don't matter.
class [[nodiscard]] RemoveAtEnd {
 public:
  explicit RemoveAtEnd(std::string path) : path_(std::move(path)) {}
  ~RemoveAtEnd();
  RemoveAtEnd(const RemoveAtEnd&) = delete;
  RemoveAtEnd& operator=(const RemoveAtEnd&) = delete;

 private:
  std::string path_;
};
// A name that is safe inside a directory whoever wrote it: not empty, no leading dot, no slash, no control characters.
bool is_plain_file_name(std::string_view name);
// Names in a directory, sorted.
Result<std::vector<std::string>> list_dir(const std::string& path);
bool exists(const std::string& path);
bool is_dir(const std::string& path);
Result<uint64_t> file_size(const std::string& path);
// Bytes an ordinary user may still write on the disk that holds `path`.
Result<uint64_t> free_space(const std::string& path);

// "a" + "b" = "a/b"; "a/" + "b" = "a/b".
std::string join_path(std::string_view directory, std::string_view name);
// The directory a path is in: "a/b" gives "a", "a" gives ".", "/a" gives "/".
std::string parent_dir(std::string_view path);
// 16 hex digits that don't repeat, for the names of temporary files.
std::string random_suffix();

}  // namespace tenon
