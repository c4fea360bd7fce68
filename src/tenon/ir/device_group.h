// Where the interpreters of several devices, each on a thread of its own, meet.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>

#include "tenon/ir/trace.h"

namespace tenon {

class DeviceGroup {
 public:
  explicit DeviceGroup(size_t num_devices) : num_devices_(num_devices), active_(num_devices) {}

  // Waits until every device calls it for the same op; returns what each brought. Throws `invalid_argument` when that
  // can't happen any more: a device waits at another op, or has ended.
  std::map<int64_t, Literal> exchange(int64_t device, OpId op, Literal mine);
  // The device runs no further.
  void leave();

 private:
  void settle();

  std::mutex mutex_;
  std::condition_variable changed_;
  size_t num_devices_, active_;
  std::map<int64_t, Literal> waiting_, met_;
  std::map<int64_t, OpId> ops_;
  uint64_t meetings_ = 0;
  bool stuck_ = false;
};

}  // namespace tenon
