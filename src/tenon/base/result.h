// A value or an `Error`, for what the world can refuse. `Result<void>` has no value.
#pragma once

#include <utility>
#include <variant>

#include "tenon/base/error.h"

namespace tenon {

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : data_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit by design
  Result(Error error) : data_(std::in_place_index<1>, std::move(error)) {}  // NOLINT

  bool ok() const { return data_.index() == 0; }
  explicit operator bool() const { return ok(); }
  const Error& error() const { return std::get<1>(data_); }
  // The value; throws the error when there is none. From a temporary by value, so that `for (x : f().value())` is safe.
  T& value() & { return raise_or_get(); }
  T value() && { return std::move(raise_or_get()); }
  const T& value() const& { return const_cast<Result*>(this)->raise_or_get(); }
  T& operator*() & { return std::get<0>(data_); }
  const T& operator*() const& { return std::get<0>(data_); }
  T* operator->() { return &std::get<0>(data_); }

 private:
  T& raise_or_get() {
    if (!ok()) throw error();
    return std::get<0>(data_);
  }
  std::variant<T, Error> data_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : data_(std::move(error)) {}  // NOLINT: implicit by design

  bool ok() const { return data_.index() == 0; }
  explicit operator bool() const { return ok(); }
  const Error& error() const { return std::get<1>(data_); }
  void value() const {
    if (!ok()) throw error();
  }

 private:
  std::variant<std::monostate, Error> data_;
};

using Status = Result<void>;

}  // namespace tenon
