// Batches made ahead of time by a background thread.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "tenon/data/dataset.h"

namespace tenon {

// Gives the batches of a dataset from one step on, in order. For one consumer thread. The dataset must outlive it.
class Prefetcher {
 public:
  // At most `depth` batches wait at a time.
  Prefetcher(const Dataset& dataset, int64_t first_step, size_t depth = 2);
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;
  ~Prefetcher();

  // The next batch; none behind the last one. What the dataset threw is thrown here, once the batches before it are
  // taken, and again at every later call.
  std::optional<Batch> next();

 private:
  void run(int64_t step);
  Batch make(int64_t step) const;
  // Waits for room, then adds; false when the consumer is gone.
  bool push(Batch batch);

  const Dataset& dataset_;
  const size_t depth_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Batch> ready_;
  std::exception_ptr failure_;
  bool finished_ = false;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace tenon
