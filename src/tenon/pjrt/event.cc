#include "tenon/pjrt/event.h"

#include <utility>

#include "tenon/pjrt/c_api.h"
#include "tenon/pjrt/client.h"

namespace tenon::pjrt {

Event::Event(std::shared_ptr<const Client> client, PJRT_Event* event) : client_(std::move(client)), event_(event) {}

Event::~Event() { destroy(); }

Event::Event(Event&& other) noexcept
    : client_(std::move(other.client_)), event_(std::exchange(other.event_, nullptr)) {}

Event& Event::operator=(Event&& other) noexcept {
  if (this == &other) return *this;
  destroy();
  client_ = std::move(other.client_);
  event_ = std::exchange(other.event_, nullptr);
  return *this;
}

void Event::destroy() {
  if (event_ == nullptr) return;
  const PJRT_Api* api = client_->plugin()->api();
  TENON_PJRT_ARGS(Event_Destroy, args);
  args.event = std::exchange(event_, nullptr);
  ignore(api, api->PJRT_Event_Destroy(&args));
}

Status Event::wait() const {
  if (event_ == nullptr) return {};
  const PJRT_Api* api = client_->plugin()->api();
  TENON_PJRT_ARGS(Event_Await, args);
  args.event = event_;
  return to_status(api, api->PJRT_Event_Await(&args), "finish the work that was waited for");
}

Result<bool> Event::is_ready() const {
  if (event_ == nullptr) return true;
  const PJRT_Api* api = client_->plugin()->api();
  TENON_PJRT_ARGS(Event_IsReady, args);
  args.event = event_;
  if (Status s = to_status(api, api->PJRT_Event_IsReady(&args), "say whether work is done"); !s) return s.error();
  return args.is_ready;
}

}  // namespace tenon::pjrt
