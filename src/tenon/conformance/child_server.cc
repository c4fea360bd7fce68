#include "tenon/conformance/child_server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "tenon/base/clock.h"
#include "tenon/base/text.h"

namespace tenon {
namespace {

constexpr size_t kShown = 300;  // of the last line of a process that ended

std::pair<FileDescriptor, FileDescriptor> make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw system_error(errno, "make", "a pipe");
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

bool write_line(int fd, std::string line) {
  line += '\n';
  size_t done = 0;
  while (done < line.size()) {
    const ssize_t count = write(fd, line.data() + done, line.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    done += static_cast<size_t>(count);
  }
  return true;
}

// A line without its end, waited for until `deadline`; none at the end of the file or when it is too late.
std::optional<std::string> read_line(int fd, std::optional<double> deadline) {
  std::string line;
  while (true) {
    if (deadline) {
      const double left = *deadline - steady_seconds();
      pollfd waiting{fd, POLLIN, 0};
      const int ready = left > 0 ? poll(&waiting, 1, static_cast<int>(std::min(left * 1000 + 1, 1e9))) : 0;
      if (ready < 0 && errno == EINTR) continue;
      if (ready <= 0) return std::nullopt;
    }
    char c = 0;
    const ssize_t count = read(fd, &c, 1);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return std::nullopt;
    if (c == '\n') return line;
    line += c;
  }
}

// The last line of a file that isn't empty.
std::string last_line(int fd) {
  constexpr off_t kTail = 4096;
  const off_t size = lseek(fd, 0, SEEK_END);
  std::string tail(static_cast<size_t>(std::max<off_t>(0, std::min(size, kTail))), '\0');
  const ssize_t count = pread(fd, tail.data(), tail.size(), size - static_cast<off_t>(tail.size()));
  tail.resize(static_cast<size_t>(std::max<ssize_t>(0, count)));
  std::string last;
  for (const std::string& line : split(tail, '\n')) {
    if (!line.empty()) last = line;
  }
  return last.substr(0, kShown);
}

}  // namespace

ChildServer::ChildServer(std::function<Handler()> make, double timeout_s)
    : make_(std::move(make)), timeout_s_(timeout_s) {}

ChildServer::~ChildServer() {
  if (!is_running()) return;
  kill(process_, SIGKILL);
  reap();
}

void ChildServer::start() {
  auto [their_requests, our_requests] = make_pipe();
  auto [our_answers, their_answers] = make_pipe();
  FileDescriptor output(memfd_create("tenon_child", MFD_CLOEXEC));
  if (!output.is_open()) throw system_error(errno, "make", "a file in memory");
  std::fflush(nullptr);
  const pid_t parent = getpid();
  process_ = fork();
  if (process_ < 0) throw system_error(errno, "start", "a process");
  if (process_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0);
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);  // it is expected to crash
    dup2(output.get(), STDOUT_FILENO);
    dup2(output.get(), STDERR_FILENO);
    our_requests = FileDescriptor();
    our_answers = FileDescriptor();
    serve(their_requests.get(), their_answers.get());
  }
  requests_ = std::move(our_requests);
  answers_ = std::move(our_answers);
  output_ = std::move(output);
}

// Leaves without the end of a process: plugins' threads may still run.
void ChildServer::serve(int requests, int answers) {
  try {
    const Handler handle = make_();
    while (const std::optional<std::string> request = read_line(requests, std::nullopt)) {
      if (!write_line(answers, handle(*request))) break;
    }
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}\n", e.what());
    std::fflush(stderr);
    _exit(1);
  }
  _exit(0);
}

std::string ChildServer::reap() {
  int status = 0;
  while (waitpid(process_, &status, 0) < 0 && errno == EINTR) continue;
  process_ = -1;
  const std::string how = WIFSIGNALED(status)
                              ? fmt::format("ended by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)))
                              : fmt::format("ended with status {}", WEXITSTATUS(status));
  const std::string line = last_line(output_.get());
  return line.empty() ? how : how + ": " + line;
}

ChildServer::Answer ChildServer::ask(const std::string& request) {
  if (!is_running()) start();
  const double deadline = steady_seconds() + timeout_s_;
  Answer answer;
  // A process that is gone is found out by its answer, which doesn't come.
  struct sigaction ignore{}, before{};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, &before);
  (void)write_line(requests_.get(), request);
  sigaction(SIGPIPE, &before, nullptr);
  answer.text = read_line(answers_.get(), deadline);
  if (answer.text) return answer;
  answer.hung = steady_seconds() >= deadline;
  if (answer.hung) kill(process_, SIGKILL);
  answer.end = reap();
  if (answer.hung) answer.end = fmt::format("didn't answer within {} s ({})", timeout_s_, answer.end);
  return answer;
}

}  // namespace tenon
