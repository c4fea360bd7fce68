// Stopping a run from outside: Ctrl-C, SIGTERM, a terminal that is gone, and a reader of its output that is.
#pragma once

#include <array>
#include <csignal>

namespace tenon {

// While it lives, the first of SIGINT, SIGTERM, SIGHUP (unless it was ignored before, as under nohup) and SIGPIPE is
// only noted; another SIGINT or SIGTERM ends the process at once, as it would without us. One at a time.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  bool requested() const;
  // "SIGTERM", the one that came.
  const char* name() const;

 private:
  static constexpr std::array<int, 4> kSignals{SIGINT, SIGTERM, SIGHUP, SIGPIPE};

  std::array<struct sigaction, kSignals.size()> before_{};
};

}  // namespace tenon
