// Saves in the background while training goes on.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "tenon/checkpoint/checkpoint_writer.h"

namespace tenon {

// Called in the background when a save begins, with its step; what it returns lives until the save ends.
using SaveGuard = std::function<std::shared_ptr<void>(int64_t step)>;

// One save at a time; for one calling thread. What went wrong with a save is thrown once, by the next call.
class AsyncSaver {
 public:
  // Locks the directory; throws what CheckpointWriter::open returns.
  explicit AsyncSaver(const std::string& dir, SaveOptions options = {}, SaveGuard guard = {});
  AsyncSaver(const AsyncSaver&) = delete;
  AsyncSaver& operator=(const AsyncSaver&) = delete;
  // Waits; an error nobody asked for is dropped, so call `wait` first.
  ~AsyncSaver();

  // Waits for the save before, then starts this one and returns. When the one before failed, throws and starts nothing.
  void save(SaveRequest request);
  // Never waits: throws when the save under way has already failed.
  void check();
  // Returns once everything is on disk; throws when it couldn't be.
  void wait();
  // The last save that ended well and that one of these calls has seen the end of.
  const std::optional<SaveReport>& last() const { return last_; }

 private:
  CheckpointWriter writer_;
  SaveGuard guard_;
  std::thread thread_;
  std::optional<SaveReport> last_;
  std::atomic<bool> done_ = false;  // the thread's last act
  // Written by the thread, read behind its join.
  std::optional<SaveReport> report_;
  std::exception_ptr failure_;
};

}  // namespace tenon
