#include "tenon/base/thread_stacks.h"

#include <execinfo.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <string_view>

namespace tenon {
namespace {

constexpr int kMaxFrames = 64;

// The thread that is asked; it fills the frames and then says how many there are.
std::atomic<pid_t> asked{0};
std::atomic<int> answered{0};
std::array<void*, kMaxFrames> frames;

int stacks_signal() { return SIGRTMAX; }

pid_t thread_id() { return static_cast<pid_t>(::syscall(SYS_gettid)); }

void answer(int) {
  const int before = errno;
  if (asked.load() == thread_id()) answered.store(::backtrace(frames.data(), kMaxFrames));
  errno = before;
}

void put(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    text.remove_prefix(static_cast<size_t>(count));
  }
}

using Buffer = std::array<char, 512>;

// The start of a small file of /proc about a thread.
std::string_view read_proc(pid_t thread, std::string_view file, Buffer& buffer) {
  std::array<char, 64> path;
  char* end = path.data();
  const auto append = [&](std::string_view text) { end = std::copy(text.begin(), text.end(), end); };
  append("/proc/self/task/");
  end = std::to_chars(end, path.data() + path.size(), thread).ptr;
  append("/");
  append(file);
  *end = '\0';
  const int fd = ::open(path.data(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  const ssize_t count = ::read(fd, buffer.data(), buffer.size());
  ::close(fd);
  std::string_view text(buffer.data(), count > 0 ? static_cast<size_t>(count) : 0);
  if (text.ends_with('\n')) text.remove_suffix(1);
  return text;
}

void write_title(int fd, pid_t thread) {
  Buffer name, stat, number;
  const auto digits = std::to_chars(number.data(), number.data() + number.size(), thread).ptr;
  put(fd, "thread ");
  put(fd, {number.data(), static_cast<size_t>(digits - number.data())});
  put(fd, " \"");
  put(fd, read_proc(thread, "comm", name));
  const std::string_view text = read_proc(thread, "stat", stat);
  const size_t at = text.rfind(") ");  // the letter behind the name
  put(fd, "\", state ");
  put(fd, at != std::string_view::npos && at + 2 < text.size() ? text.substr(at + 2, 1) : "?");
  put(fd, ":\n");
}

void write_stack(int fd, pid_t thread) {
  write_title(fd, thread);
  answered.store(0);
  asked.store(thread);
  if (::syscall(SYS_tgkill, ::getpid(), thread, stacks_signal()) != 0) return put(fd, "  it is gone\n");
  const timespec moment{0, 1'000'000};
  for (int i = 0; i < 500 && answered.load() == 0; ++i) ::nanosleep(&moment, nullptr);
  asked.store(0);
  const int count = answered.load();
  if (count == 0) return put(fd, "  it doesn't answer\n");
  constexpr int kOfTheHandler = 2;
  if (count > kOfTheHandler) ::backtrace_symbols_fd(frames.data() + kOfTheHandler, count - kOfTheHandler, fd);
}

// An entry as the system call has it.
struct DirEntry {
  uint64_t inode;
  int64_t next;
  uint16_t length;
  unsigned char type;
  char name[1];
};

}  // namespace

void prepare_thread_stacks() {
  std::array<void*, 1> one;
  ::backtrace(one.data(), 1);
}

void write_thread_stacks(int fd) {
  struct sigaction action{};
  action.sa_handler = answer;
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  ::sigaction(stacks_signal(), &action, nullptr);
  const int tasks = ::open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (tasks < 0) return put(fd, "the threads can't be listed\n");
  alignas(DirEntry) std::array<char, 4096> buffer;
  for (;;) {
    const long count = ::syscall(SYS_getdents64, tasks, buffer.data(), buffer.size());
    if (count <= 0) break;
    for (long at = 0; at < count;) {
      const char* entry = buffer.data() + at;
      uint16_t length = 0;
      std::memcpy(&length, entry + offsetof(DirEntry, length), sizeof(length));
      const char* name = entry + offsetof(DirEntry, name);
      pid_t thread = 0;
      std::from_chars(name, name + std::strlen(name), thread);
      if (thread > 0 && thread != thread_id()) write_stack(fd, thread);
      at += length;
    }
  }
  ::close(tasks);
}

}  // namespace tenon
