#include "tenon/tune/processor_time.h"

#include <sched.h>
#include <sys/resource.h>

#include <algorithm>

namespace tenon {
namespace {

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

}  // namespace

double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

double processors_for(int64_t num_devices) {
  cpu_set_t set;
  const int64_t usable = sched_getaffinity(0, sizeof(set), &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
  return static_cast<double>(std::min(usable, num_devices));
}

}  // namespace tenon
