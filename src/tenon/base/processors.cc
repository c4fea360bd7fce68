#include "tenon/base/processors.h"

#include <sched.h>

#include <algorithm>

namespace tenon {

int64_t num_processors() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

}  // namespace tenon
