#include "tenon/base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <random>

#include "tenon/base/fault.h"
#include "tenon/base/file_observer.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

// More than this in one call isn't portable.
constexpr size_t kMaxTransfer = size_t{1} << 30;

// Runs a system call behind a fault point until it isn't interrupted: its result, with errno set when negative.
template <class Call>
auto call_system(std::string_view point, Call call) -> decltype(call()) {
  for (;;) {
    errno = fault_point(point);
    const auto result = errno != 0 ? -1 : call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

std::atomic<bool> observed{false};
std::mutex observer_mutex;
FileObserver observer;

void tell(const FileOp& op) {
  const std::lock_guard lock(observer_mutex);
  if (observer) observer(op);
}
// Makes the op only where somebody listens.
template <class Make>
void tell_if_observed(Make make) {
  if (observed.load(std::memory_order_relaxed)) tell(make());
}

Status sync(int fd, const std::string& path, FileOp::Kind kind) {
  if (call_system("file.fsync", [&] { return ::fsync(fd); }) != 0) return system_error(errno, "put on disk", path);
  tell_if_observed([&] { return FileOp{kind, path}; });
  return {};
}

Status rename_path(const std::string& from, const std::string& to) {
  if (call_system("file.rename", [&] { return ::rename(from.c_str(), to.c_str()); }) != 0) {
    return system_error(errno, "rename to " + to, from);
  }
  tell_if_observed([&] { return FileOp{FileOp::Kind::rename, from, to}; });
  return {};
}

Status to_status(const std::error_code& code, const std::string& action, const std::string& path) {
  if (!code) return {};
  return system_error(code.value(), action, path);
}

}  // namespace

void set_file_observer(FileObserver next) {
  const std::lock_guard lock(observer_mutex);
  observed = static_cast<bool>(next);
  observer = std::move(next);
}

Result<InputFile> InputFile::open(const std::string& path) {
  Result<FileDescriptor> fd = FileDescriptor::open(path, O_RDONLY | O_NONBLOCK);  // a FIFO must not block
  if (!fd.ok()) return fd.error();
  struct stat info{};
  if (::fstat(fd->get(), &info) != 0) return system_error(errno, "look at", path);
  if (!S_ISREG(info.st_mode)) return Error(ErrorCode::io, "not a regular file").at(path);
  InputFile file;
  file.path_ = path;
  file.fd_ = std::move(*fd);
  file.size_ = static_cast<uint64_t>(info.st_size);
  return file;
}

Status InputFile::read(uint64_t offset, std::span<std::byte> out) const {
  if (offset > size_ || out.size() > size_ - offset) {
    return Error(ErrorCode::damaged, fmt::format("the file ends before byte {} + {}", offset, out.size()))
        .at(path_)
        .got(fmt::format("{} bytes", size_));
  }
  while (!out.empty()) {
    const ssize_t count = call_system("file.read", [&] {
      return ::pread(fd_.get(), out.data(), std::min(out.size(), kMaxTransfer), static_cast<off_t>(offset));
    });
    if (count < 0) return system_error(errno, "read", path_);
    if (count == 0) return Error(ErrorCode::damaged, fmt::format("the file was cut at byte {}", offset)).at(path_);
    out = out.subspan(static_cast<size_t>(count));
    offset += static_cast<uint64_t>(count);
  }
  return {};
}

Result<OutputFile> OutputFile::create(const std::string& path) { return open(path, O_CREAT | O_EXCL); }
Result<OutputFile> OutputFile::append(const std::string& path) { return open(path, O_CREAT | O_APPEND); }

Result<OutputFile> OutputFile::open(const std::string& path, int flags) {
  Result<FileDescriptor> fd = FileDescriptor::open(path, O_WRONLY | flags);
  if (!fd.ok()) return fd.error();
  OutputFile file;
  file.path_ = path;
  file.fd_ = std::move(*fd);
  tell_if_observed([&] { return FileOp{FileOp::Kind::create, path}; });
  return file;
}

Status OutputFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = call_system(
        "file.write", [&] { return ::write(fd_.get(), bytes.data(), std::min(bytes.size(), kMaxTransfer)); });
    if (count < 0) return system_error(errno, "write", path_);
    tell_if_observed([&] {
      const auto* text = reinterpret_cast<const char*>(bytes.data());
      return FileOp{FileOp::Kind::write, path_, {}, std::string(text, static_cast<size_t>(count))};
    });
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return {};
}

Status OutputFile::write(std::string_view text) { return write(std::as_bytes(std::span(text.data(), text.size()))); }

Status OutputFile::finish() {
  if (Status synced = sync(fd_.get(), path_, FileOp::Kind::sync_file); !synced.ok()) return synced;
  return fd_.close(path_);
}

Result<std::string> read_file(const std::string& path, uint64_t max_bytes) {
  Result<InputFile> file = InputFile::open(path);
  if (!file.ok()) return file.error();
  if (file->size() > max_bytes) {
    return Error(ErrorCode::damaged, "the file is too large")
        .at(path)
        .got(fmt::format("{} bytes", file->size()))
        .expected(fmt::format("at most {}", max_bytes));
  }
  std::string content(file->size(), '\0');
  const Status done = file->read(0, std::as_writable_bytes(std::span(content.data(), content.size())));
  if (!done.ok()) return done.error();
  return content;
}

Status read_range(const std::string& path, uint64_t offset, std::span<std::byte> out) {
  const Result<InputFile> file = InputFile::open(path);
  if (!file.ok()) return file.error();
  return (*file).read(offset, out);
}

Status write_file_atomic(const std::string& path, std::string_view content) {
  // The new file would take the place of a device or a pipe.
  struct stat there{};
  if (::stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode)) {
    return Error(ErrorCode::io, "not a regular file").at(path);
  }
  const std::string aside = path + ".tmp-" + random_suffix();
  Result<OutputFile> file = OutputFile::create(aside);
  if (!file.ok()) return file.error();
  Status status = file->write(content);
  if (status.ok()) status = file->finish();
  if (status.ok()) status = rename_file(aside, path);
  if (!status.ok()) ::unlink(aside.c_str());
  return status;
}

Status make_dirs(const std::string& path) {
  if (is_dir(path)) return {};
  const std::string parent = parent_dir(path);
  // A path ending in a slash is its own child.
  if (parent != path) {
    if (Status made = make_dirs(parent); !made.ok()) return made;
  }
  if (::mkdir(path.c_str(), 0777) != 0 && !(errno == EEXIST && is_dir(path))) {
    return system_error(errno, "create the directory", path);
  }
  return fsync_dir(parent);
}

Status make_new_dir(const std::string& path) {
  if (::mkdir(path.c_str(), 0777) != 0) return system_error(errno, "create the directory", path);
  tell_if_observed([&] { return FileOp{FileOp::Kind::make_dir, path}; });
  return {};
}

Status fsync_dir(const std::string& path) {
  const Result<FileDescriptor> fd = FileDescriptor::open(path, O_RDONLY | O_DIRECTORY);
  if (!fd.ok()) return fd.error();
  return sync((*fd).get(), path, FileOp::Kind::sync_dir);
}

Status rename_file(const std::string& from, const std::string& to) {
  if (Status renamed = rename_path(from, to); !renamed.ok()) return renamed;
  return fsync_dir(parent_dir(to));
}

Status rename_dir(const std::string& from, const std::string& to) { return rename_file(from, to); }

Status exchange_dirs(const std::string& a, const std::string& b) {
  const int swapped = call_system(
      "file.rename", [&] { return ::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE); });
  if (swapped == 0) {
    tell_if_observed([&] { return FileOp{FileOp::Kind::exchange, a, b}; });
    return fsync_dir(parent_dir(b));
  }
  if (errno != EINVAL && errno != ENOSYS) return system_error(errno, "swap with " + b, a);
  const std::string aside = a + "." + random_suffix();
  if (Status first = rename_path(a, aside); !first.ok()) return first;
  if (Status second = rename_path(b, a); !second.ok()) return second;
  return rename_dir(aside, b);
}

Status remove_tree(const std::string& path) {
  if (const int injected = fault_point("file.remove")) return system_error(injected, "remove", path);
  std::error_code code;
  fs::remove_all(path, code);
  if (!code) tell_if_observed([&] { return FileOp{FileOp::Kind::remove, path}; });
  return to_status(code, "remove", path);
}

Result<std::vector<std::string>> list_dir(const std::string& path) {
  std::error_code code;
  std::vector<std::string> names;
  fs::directory_iterator entry(path, code);
  while (!code && entry != fs::directory_iterator()) {
    names.push_back(entry->path().filename().string());
    entry.increment(code);
  }
  if (code) return system_error(code.value(), "list the directory", path);
  std::sort(names.begin(), names.end());
  return names;
}

bool exists(const std::string& path) {
  std::error_code code;
  return fs::exists(path, code);
}

bool is_dir(const std::string& path) {
  std::error_code code;
  return fs::is_directory(path, code);
}

Result<uint64_t> file_size(const std::string& path) {
  const Result<InputFile> file = InputFile::open(path);
  if (!file.ok()) return file.error();
  return (*file).size();
}

Result<uint64_t> free_space(const std::string& path) {
  struct statvfs info{};
  if (::statvfs(path.c_str(), &info) != 0) return system_error(errno, "look at the disk of", path);
  return static_cast<uint64_t>(info.f_bavail) * info.f_frsize;
}

std::string join_path(std::string_view directory, std::string_view name) {
  return (fs::path(directory) / fs::path(name)).string();
}

std::string parent_dir(std::string_view path) {
  const std::string parent = fs::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

std::string random_suffix() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}", device(), device());
}

bool is_plain_file_name(std::string_view name) {
  const auto fits = [](char c) { return c != '/' && c != '\\' && static_cast<unsigned char>(c) >= ' ' && c != '\x7f'; };
  return !name.empty() && name.size() <= 255 && name.front() != '.' && std::all_of(name.begin(), name.end(), fits);
}

RemoveAtEnd::~RemoveAtEnd() {
  try {
    static_cast<void>(remove_tree(path_).ok());
  } catch (...) {
  }
}

}  // namespace tenon
