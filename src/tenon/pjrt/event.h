// Something the plugin will have finished later.
#pragma once

#include <memory>

#include "tenon/base/result.h"

struct PJRT_Event;

namespace tenon::pjrt {

class Client;

// Move-only owner of a plugin's event. Thread-safe to wait on from several threads.
class Event {
 public:
  Event() = default;
  // Takes `event`, which may be null: then there is nothing to wait for.
  Event(std::shared_ptr<const Client> client, PJRT_Event* event);
  ~Event();
  Event(Event&& other) noexcept;
  Event& operator=(Event&& other) noexcept;

  // Blocks until it happened; the error of the work behind it, if it failed.
  Status wait() const;
  // Whether it happened already (also when it failed).
  Result<bool> is_ready() const;

 private:
  void destroy();
  std::shared_ptr<const Client> client_;
  PJRT_Event* event_ = nullptr;
};

}  // namespace tenon::pjrt
