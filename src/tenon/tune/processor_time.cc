#include "tenon/tune/processor_time.h"

#include <sys/resource.h>

#include <algorithm>

#include "tenon/base/processors.h"

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

double processors_for(int64_t num_devices) { return static_cast<double>(std::min(num_processors(), num_devices)); }

}  // namespace tenon
