// Notices when a run stands still: in a step, while it starts, restores, evaluates or saves.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <thread>

#include "tenon/config/config.h"

namespace tenon {

// Seconds that one step, one batch of an evaluation, one start, restore or save may take. 0: as long as it likes.
struct WatchdogConfig {
  // From there on the log gets a warning and the stacks of all threads, once for each.
  double warn_after_s = 600;
  // From there on the process ends with the exit status of ErrorCode::stalled. What is saved stays.
  double stop_after_s = 0;
  void check(Checker& c) const;
  TENON_FIELDS(warn_after_s, stop_after_s)
  bool operator==(const WatchdogConfig&) const = default;
};

// Private to Watchdog.
struct WatchedThing {
  std::string what;
  double since = 0;
  bool warned = false;
};

class Watchdog {
 public:
  // Writes to `fd`. Starts a thread unless both limits are 0.
  Watchdog(const WatchdogConfig& config, int fd);
  // Everything that was watched must have ended.
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // While it lives, what it names is going on. From any thread.
  class Watch {
   public:
    Watch(Watchdog& dog, std::string what);
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    // It made progress: the limits count from now.
    void renew();

   private:
    Watchdog& dog_;
    std::list<WatchedThing>::iterator thing_;
  };

 private:
  void run();
  void look(double now);

  WatchdogConfig config_;
  int fd_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<WatchedThing> things_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace tenon
