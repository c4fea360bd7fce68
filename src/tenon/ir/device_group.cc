#include "tenon/ir/device_group.h"

#include <algorithm>

namespace tenon {

// When all that run are waiting: they have met, or never will.
void DeviceGroup::settle() {
  if (stuck_ || waiting_.empty() || waiting_.size() < active_) return;
  const OpId op = ops_.begin()->second;
  const bool same = std::all_of(ops_.begin(), ops_.end(), [&](const auto& item) { return item.second == op; });
  if (same && waiting_.size() == num_devices_) {
    met_ = std::move(waiting_);
    waiting_.clear();
    ops_.clear();
    ++meetings_;
  } else {
    stuck_ = true;
  }
  changed_.notify_all();
}

std::map<int64_t, Literal> DeviceGroup::exchange(int64_t device, OpId op, Literal mine) {
  std::unique_lock lock(mutex_);
  waiting_.emplace(device, std::move(mine));
  ops_.emplace(device, op);
  const uint64_t before = meetings_;
  settle();
  changed_.wait(lock, [&] { return meetings_ != before || stuck_; });
  if (meetings_ == before) {
    throw Error(ErrorCode::invalid_argument, "the devices of a manual region don't all call the same collectives")
        .hint("collectives must not depend on values that differ between devices");
  }
  return met_;
}

void DeviceGroup::leave() {
  const std::scoped_lock lock(mutex_);
  --active_;
  settle();
}

}  // namespace tenon
