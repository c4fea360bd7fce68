// A process that answers requests for this one, so that whatever takes it down leaves this one standing.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>

#include "tenon/base/file_descriptor.h"

namespace tenon {

// Requests and answers are lines. What the process writes to its outputs is kept for the word on how it ended.
class ChildServer {
 public:
  using Handler = std::function<std::string(const std::string& request)>;
  struct Answer {
    std::optional<std::string> text;  // none: the process ended or was ended
    bool hung = false;                // it was ended, because it took too long
    std::string end;                  // "ended by signal 6 (Aborted): last line that it wrote"
  };

  // `make` is called in the process, which begins with the first request: a fork of this one, so threads must not have
  // been started here. An answer that takes longer than `timeout_s` is none.
  ChildServer(std::function<Handler()> make, double timeout_s);
  ~ChildServer();
  ChildServer(const ChildServer&) = delete;
  ChildServer& operator=(const ChildServer&) = delete;

  // Throws `io` when no process can be started.
  Answer ask(const std::string& request);
  // Whether there is a process: false before the first request and after one that ended.
  bool is_running() const { return process_ > 0; }

 private:
  void start();
  [[noreturn]] void serve(int requests, int answers);
  // Waits for its end, and says how that was.
  std::string reap();

  std::function<Handler()> make_;
  double timeout_s_;
  pid_t process_ = -1;
  FileDescriptor requests_, answers_, output_;
};

}  // namespace tenon
