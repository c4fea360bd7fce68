// Slot<I>: owns the config of a child that is an I.
//
// Through the slot a parent reaches the fields of the interface's config only: what a parent may fill in. What else the
// concrete config has is reached by the user, by name: `slot.as<GatedFeedForward>()`, or by path. `I` may be incomplete
// where the slot is declared, so a config needn't include its children's headers.
#pragma once

#include <concepts>
#include <memory>
#include <utility>

#include "tenon/config/any_config.h"

namespace tenon {

// What all slots share: a config or none, copied deeply.
class AnySlot {
 public:
  AnySlot() = default;
  AnySlot(const AnySlot& other);
  AnySlot(AnySlot&&) noexcept = default;
  AnySlot& operator=(const AnySlot& other);
  AnySlot& operator=(AnySlot&&) noexcept = default;
  ~AnySlot() = default;

  bool has_value() const { return config_ != nullptr; }
  explicit operator bool() const { return has_value(); }
  void reset() { config_.reset(); }

  // The config whatever its type, to copy, print, walk or build; throws `missing_field` when the slot is empty.
  const AnyConfig& operator*() const { return get(); }
  const AnyConfig& get() const;
  AnyConfig& mutable_get() { return const_cast<AnyConfig&>(get()); }

  friend bool operator==(const AnySlot& a, const AnySlot& b);

 protected:
  // Keeps a copy; throws `wrong_type` unless `config` is an `interface`.
  void assign(const AnyConfig& config, const ConfigType& interface);
  explicit AnySlot(std::unique_ptr<AnyConfig> config) : config_(std::move(config)) {}

 private:
  friend class SlotType;
  std::unique_ptr<AnyConfig> config_;
};

namespace detail {

[[noreturn]] void throw_wrong_config(const AnyConfig& got, const ConfigType& expected);

// The config that C is, or has.
template <class C>
struct ConfigOf {
  using type = typename C::Config;
};
template <std::derived_from<AnyConfig> C>
struct ConfigOf<C> {
  using type = C;
};

}  // namespace detail

template <class I>
class Slot : public AnySlot {
 public:
  Slot() = default;
  // A deep copy of `config`, which must be the config of an I: any other type doesn't compile.
  template <class C>
    requires ConfigFor<C, I>
  Slot(const C& config) : AnySlot(clone(config)) {}  // NOLINT: implicit by design

  // The same for a config whose type is known at run time only; throws `wrong_type` unless its module is an I.
  static Slot from(const AnyConfig& config) {
    Slot slot;
    slot.assign(config, I::Config::static_type());
    return slot;
  }

  // The interface's fields. Throws `missing_field` when the slot is empty.
  auto* operator->() { return static_cast<typename I::Config*>(&mutable_get()); }
  const auto* operator->() const { return static_cast<const typename I::Config*>(&get()); }

  // Whether the child is a C, named by its class (GatedFeedForward) or its config's class.
  template <class C>
  bool is() const {
    return has_value() && dynamic_cast<const typename detail::ConfigOf<C>::type*>(&get()) != nullptr;
  }
  // The config as the config of a C; throws `wrong_type` when it is another.
  template <class C>
  auto& as() {
    using Target = typename detail::ConfigOf<C>::type;
    if (auto* config = dynamic_cast<Target*>(&mutable_get())) return *config;
    detail::throw_wrong_config(get(), Target::static_type());
  }
  template <class C>
  const auto& as() const {
    return const_cast<Slot*>(this)->template as<C>();
  }

  // Builds the child. Errors carry paths relative to the child's config.
  std::unique_ptr<I> build() const { return std::unique_ptr<I>(static_cast<I*>(tenon::build(get()).release())); }
};

}  // namespace tenon
