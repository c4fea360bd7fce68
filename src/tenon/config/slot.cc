#include "tenon/config/slot.h"

#include <fmt/format.h>

#include "tenon/base/error.h"
#include "tenon/config/config_type.h"

namespace tenon {

AnySlot::AnySlot(const AnySlot& other) : config_(other.config_ ? clone(*other.config_) : nullptr) {}

AnySlot& AnySlot::operator=(const AnySlot& other) {
  // Cloned first: `other` may lie inside the config this slot owns.
  if (this != &other) config_ = other.config_ ? clone(*other.config_) : nullptr;
  return *this;
}

const AnyConfig& AnySlot::get() const {
  if (config_ == nullptr) detail::throw_unset(this);
  return *config_;
}

void AnySlot::assign(const AnyConfig& config, const ConfigType& interface) {
  if (!config.type().is_a(interface)) detail::throw_wrong_config(config, interface);
  config_ = clone(config);
}

bool operator==(const AnySlot& a, const AnySlot& b) {
  if (!a.config_ || !b.config_) return a.config_ == b.config_;
  return *a.config_ == *b.config_;
}

namespace detail {

void throw_wrong_config(const AnyConfig& got, const ConfigType& expected) {
  throw Error(ErrorCode::wrong_type, "a config of the wrong type")
      .got(std::string(got.type().name()))
      .expected(fmt::format("a {}", expected.name()));
}

std::string describe_slot(const ConfigType& interface) { return fmt::format("the config of a {}", interface.name()); }

}  // namespace detail
}  // namespace tenon
