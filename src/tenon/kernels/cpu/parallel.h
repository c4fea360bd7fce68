// Loops over independent tasks on threads that belong to someone else.
#pragma once

#include <cstdint>
#include <functional>

namespace tenon {

// Threads to borrow: `schedule` runs a function on one of them, some time.
struct Workers {
  int64_t count = 1;  // threads that can run at once, the caller's included
  std::function<void(std::function<void()>)> schedule;
};

// Calls task(0) … task(count - 1), each once, on the calling thread and on those of `workers` that come in time;
// returns when all are done. Never waits for a thread that hasn't started a task, so it can be called from a worker.
void parallel_for(const Workers& workers, int64_t count, const std::function<void(int64_t)>& task);

}  // namespace tenon
