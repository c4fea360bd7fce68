#include "tenon/data/prefetch.h"

#include <algorithm>

#include "tenon/base/span.h"

namespace tenon {

Prefetcher::Prefetcher(const Dataset& dataset, int64_t first_step, size_t depth)
    : dataset_(dataset), depth_(std::max<size_t>(depth, 1)), thread_([this, first_step] { run(first_step); }) {}

Prefetcher::~Prefetcher() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::optional<Batch> Prefetcher::next() {
  const Span span("wait for a batch");
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !ready_.empty() || finished_; });
  if (ready_.empty()) {
    if (failure_) std::rethrow_exception(failure_);
    return std::nullopt;
  }
  Batch batch = std::move(ready_.front());
  ready_.pop_front();
  lock.unlock();
  changed_.notify_all();
  return batch;
}

void Prefetcher::run(int64_t step) {
  name_thread("data");
  std::exception_ptr failure;
  try {
    const std::optional<int64_t> end = dataset_.num_batches();
    while (!(end && step >= *end) && push(make(step))) ++step;
  } catch (...) {
    failure = std::current_exception();
  }
  {
    const std::lock_guard lock(mutex_);
    failure_ = failure;
    finished_ = true;
  }
  changed_.notify_all();
}

Batch Prefetcher::make(int64_t step) const {
  const Span span("make batch of step", step + 1);
  return dataset_.batch(step);
}

bool Prefetcher::push(Batch batch) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ready_.size() < depth_ || stop_; });
    if (stop_) return false;
    ready_.push_back(std::move(batch));
  }
  changed_.notify_all();
  return true;
}

}  // namespace tenon
