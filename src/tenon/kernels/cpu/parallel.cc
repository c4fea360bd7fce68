#include "tenon/kernels/cpu/parallel.h"

#include <algorithm>
#include <atomic>
#include <memory>

namespace tenon {
namespace {

struct Loop {
  int64_t count;
  const std::function<void(int64_t)>* task;  // outlives every task that is claimed
  std::atomic<int64_t> next{0}, done{0};

  void work() {
    for (int64_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) {
      (*task)(i);
      if (done.fetch_add(1) + 1 == count) done.notify_all();
    }
  }
  void wait() {
    for (int64_t seen = done.load(); seen < count; seen = done.load()) done.wait(seen);
  }
};

}  // namespace

void parallel_for(const Workers& workers, int64_t count, const std::function<void(int64_t)>& task) {
  const int64_t helpers = std::min(workers.count, count) - 1;
  if (helpers < 1) {
    for (int64_t i = 0; i < count; ++i) task(i);
    return;
  }
  const auto loop = std::make_shared<Loop>();
  loop->count = count;
  loop->task = &task;
  for (int64_t i = 0; i < helpers; ++i) workers.schedule([loop] { loop->work(); });
  loop->work();
  loop->wait();
}

}  // namespace tenon
