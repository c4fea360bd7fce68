#include "tenon/pjrt/compiler_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <csignal>

#include "tenon/base/text.h"
#include "tenon/pjrt/environment.h"

// Of the sanitizers, where there are any.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*)());

namespace tenon::pjrt {
namespace {

// "W0000 00:00:1795996753.89 14354 spmd_partitioner.cc:661] words": the severity; 0 for other lines.
char severity_of(std::string_view line) {
  if (line.size() < 6 || std::string_view("IWEF").find(line[0]) == std::string_view::npos) return 0;
  const bool digits = std::all_of(line.begin() + 1, line.begin() + 5, [](char c) { return std::isdigit(c) != 0; });
  return digits && line[5] == ' ' && line.find("] ") != std::string_view::npos ? line[0] : '\0';
}

// What stands between `before` and the next `after`, from `at` on; moves `at` behind it, or to npos.
std::string_view between(std::string_view text, std::string_view before, std::string_view after, size_t& at) {
  const size_t found = text.find(before, at);
  if (found == std::string_view::npos) {
    at = found;
    return {};
  }
  const size_t begin = found + before.size(), end = text.find(after, begin);
  at = end == std::string_view::npos ? end : end + after.size();
  return end == std::string_view::npos ? std::string_view() : text.substr(begin, end - begin);
}
std::string_view between(std::string_view text, std::string_view before, std::string_view after) {
  size_t at = 0;
  return between(text, before, after, at);
}

using Kind = CompilerWarning::Kind;

Kind kind_of(std::string_view words) {
  if (words.find("Involuntary full rematerialization") != std::string_view::npos) return Kind::replicates;
  if (words.find("Can't reduce memory use below") != std::string_view::npos) return Kind::cannot_fit;
  return Kind::other;
}

// In short, what XLA says at length when it gives up on keeping an array split.
std::string explain(std::string_view words) {
  if (kind_of(words) != Kind::replicates) return std::string(words);
  const std::string_view type = between(words, " = ", "{");
  return fmt::format("every device gets the whole of {} on its way from one sharding to another (from {} to {})",
                     type.empty() ? "an array" : type, between(words, "from sharding ", " to "),
                     between(words, " to ", " efficiently"));
}

void add_once(std::vector<std::string>& all, std::string_view one) {
  if (!one.empty() && std::find(all.begin(), all.end(), one) == all.end()) all.emplace_back(one);
}

void add_between(std::string_view words, std::string_view before, std::vector<std::string>& out) {
  for (size_t at = 0; at != std::string_view::npos;) add_once(out, between(words, before, "\"", at));
}

// By "-:LINE:COLUMN", as parsers say where.
void add_lines(std::string_view words, std::string_view program, std::vector<std::string>& out) {
  const std::vector<std::string> lines = split(program, '\n');
  for (size_t at = 0; at != std::string_view::npos;) {
    const Result<int64_t> number = parse_int(between(words, "-:", ":", at));
    if (!number || *number < 1 || *number > static_cast<int64_t>(lines.size())) continue;
    add_between(lines[static_cast<size_t>(*number) - 1], "loc(\"", out);
  }
}

void add_call_targets(std::string_view words, std::string_view program, std::vector<std::string>& out) {
  constexpr std::string_view kCall = "custom_call @";
  for (size_t at = program.find(kCall); at != std::string_view::npos; at = program.find(kCall, at + 1)) {
    const std::string_view line = program.substr(at, program.find('\n', at) - at);
    const std::string_view target = between(line, "@", "(");
    if (!target.empty() && words.find(target) != std::string_view::npos) add_between(line, "loc(\"", out);
  }
}

// ── standard error ──

constexpr std::array kDeadly = {SIGABRT, SIGSEGV, SIGILL, SIGBUS, SIGFPE, SIGTRAP};
std::atomic<int> kept_fd = -1, real_stderr = -1;
std::atomic_flag taken = ATOMIC_FLAG_INIT;
struct sigaction before[kDeadly.size()];

// Only calls that a signal handler may make, here and in let_out.
void write_all(int fd, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t wrote = ::write(fd, data, size);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return;
    data += wrote;
    size -= static_cast<size_t>(wrote);
  }
}

void let_out() {
  const int from = kept_fd.exchange(-1), to = real_stderr.load();
  if (from < 0) return;
  char buffer[4096];
  off_t at = 0;
  for (ssize_t n = 0; (n = ::pread(from, buffer, sizeof(buffer), at)) > 0; at += n) {
    write_all(to, buffer, static_cast<size_t>(n));
  }
}

void on_deadly_signal(int number) {
  let_out();
  for (size_t i = 0; i < kDeadly.size(); ++i) {
    if (kDeadly[i] == number) ::sigaction(number, &before[i], nullptr);
  }
  ::raise(number);
}

void watch_for_death() {
  struct sigaction action{};
  action.sa_handler = on_deadly_signal;
  action.sa_flags = SA_ONSTACK;
  for (size_t i = 0; i < kDeadly.size(); ++i) ::sigaction(kDeadly[i], &action, &before[i]);
  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(let_out);
}

// A plugin may have put its own in.
void stop_watching() {
  for (size_t i = 0; i < kDeadly.size(); ++i) {
    struct sigaction now{};
    if (::sigaction(kDeadly[i], nullptr, &now) == 0 && now.sa_handler == on_deadly_signal) {
      ::sigaction(kDeadly[i], &before[i], nullptr);
    }
  }
}

}  // namespace

std::vector<CompilerWarning> sort_log(std::string_view log, bool everything, std::string& rest) {
  std::vector<CompilerWarning> out;
  for (const std::string& line : split(log, '\n')) {
    if (line.empty()) continue;
    const char severity = severity_of(line);
    std::vector<std::string> ops;
    if (severity == 'W' || severity == 'E') ops = ops_named(line, {});
    const Kind kind = severity == 'W' || severity == 'E' ? kind_of(line) : Kind::other;
    if (ops.empty() && kind != Kind::other) ops.emplace_back();
    for (const std::string& op : ops) {
      CompilerWarning warning{op, explain(std::string_view(line).substr(line.find("] ") + 2)), kind};
      if (std::find(out.begin(), out.end(), warning) == out.end()) out.push_back(std::move(warning));
    }
    const bool preamble = line.starts_with("WARNING: All log messages before absl::InitializeLog()");
    const bool shown = severity == 'E' || severity == 'F' || (severity == 0 && !preamble);
    if (ops.empty() && (everything || shown)) rest += line + "\n";
  }
  return out;
}

std::vector<std::string> ops_named(std::string_view words, std::string_view program) {
  std::vector<std::string> out;
  add_between(words, "loc(\"", out);
  add_between(words, "op_name=\"", out);
  if (out.empty()) add_lines(words, program, out);
  if (out.empty()) add_call_targets(words, program, out);
  return out;
}

LogCapture::LogCapture() {
  if (taken.test_and_set()) return;
  const int file = ::memfd_create("tenon_log", MFD_CLOEXEC);
  const int copy = file < 0 ? -1 : ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
  if (copy < 0 || ::dup2(file, STDERR_FILENO) < 0) {
    if (file >= 0) ::close(file);
    if (copy >= 0) ::close(copy);
    taken.clear();
    return;
  }
  active_ = true;
  real_stderr = copy;
  kept_fd = file;
  watch_for_death();
}

LogCapture::~LogCapture() {
  const std::string all = end();
  write_all(STDERR_FILENO, all.data(), all.size());
}

std::vector<CompilerWarning> LogCapture::finish() {
  std::string rest;
  std::vector<CompilerWarning> warnings = sort_log(end(), user_set_log_level(), rest);
  write_all(STDERR_FILENO, rest.data(), rest.size());
  return warnings;
}

std::string LogCapture::end() {
  if (!active_) return {};
  active_ = false;
  stop_watching();
  const int file = kept_fd.exchange(-1), copy = real_stderr.exchange(-1);
  while (::dup2(copy, STDERR_FILENO) < 0 && (errno == EINTR || errno == EBUSY)) {
  }
  std::string all;
  char buffer[4096];
  for (ssize_t n = 0; (n = ::pread(file, buffer, sizeof(buffer), static_cast<off_t>(all.size()))) > 0;) {
    all.append(buffer, static_cast<size_t>(n));
  }
  ::close(file);
  ::close(copy);
  taken.clear();
  return all;
}

}  // namespace tenon::pjrt
