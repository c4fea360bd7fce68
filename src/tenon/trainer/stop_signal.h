// Stopping a run from outside: Ctrl-C and SIGTERM.
#pragma once

#include <csignal>

namespace tenon {

// While it lives, the first SIGINT or SIGTERM is only noted; a second one ends the process at once, as it would without
// us. One at a time.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  bool requested() const;
  // "SIGINT" or "SIGTERM", the one that came.
  const char* name() const;

 private:
  struct sigaction before_int_{};
  struct sigaction before_term_{};
};

}  // namespace tenon
