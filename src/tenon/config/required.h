// Required<T>: a field with no sensible default, which must be set before it is read.
#pragma once

#include <concepts>
#include <optional>
#include <type_traits>
#include <utility>

#include "tenon/config/any_config.h"

namespace tenon {

template <class T>
class Required;

namespace detail {
template <class T>
inline constexpr bool is_required = false;
template <class T>
inline constexpr bool is_required<Required<T>> = true;
}  // namespace detail

template <class T>
class Required {
 public:
  Required() = default;
  Required(T value) : value_(std::move(value)) {}  // NOLINT: implicit by design
  template <class U>
    requires std::convertible_to<U&&, T> && (!detail::is_required<std::remove_cvref_t<U>>) &&
             (!std::same_as<std::remove_cvref_t<U>, T>)
  Required(U&& value) : value_(T(std::forward<U>(value))) {}  // NOLINT: implicit by design

  bool is_set() const { return value_.has_value(); }
  void reset() { value_.reset(); }

  // The value; throws `missing_field` when it was never set.
  const T& value() const { return value_ ? *value_ : unset(); }
  operator const T&() const { return value(); }  // NOLINT: a required field reads like the value it holds
  const T& operator*() const { return value(); }
  const T* operator->() const { return &value(); }
  // The value to change in place; throws when there is none.
  T& mutable_value() { return value_ ? *value_ : const_cast<T&>(unset()); }

  // Two required fields are equal when both are unset or hold equal values; comparing with a plain value reads.
  friend bool operator==(const Required& a, const Required& b) { return a.value_ == b.value_; }
  template <class U>
    requires(!detail::is_required<U>) && std::equality_comparable_with<T, U>
  friend bool operator==(const Required& a, const U& b) {
    return a.value() == b;
  }

 private:
  [[noreturn]] const T& unset() const { detail::throw_unset(this); }
  std::optional<T> value_;
};

}  // namespace tenon
