// Fn<R(A...)>: a function that is a value: a registered struct with fields and operator(), or a constant of type R.
//
// Because it is a struct with named fields and not a closure, it prints, compares and loads from text; lambdas don't
// compile. Default-constructed it is empty.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>

namespace tenon {

class FnType;

// A struct with TENON_FN.
template <class F>
concept FnStruct = requires {
  { F::fn_type() } -> std::same_as<const FnType&>;
};

namespace detail {

// What a Fn holds, whatever its signature.
class FnHolder {
 public:
  virtual ~FnHolder() = default;
  virtual std::unique_ptr<FnHolder> clone() const = 0;
  // The struct's table; null for a constant.
  virtual const FnType* type() const = 0;
  // The struct, or the constant.
  virtual void* object() = 0;
  virtual bool equal(const FnHolder& other) const = 0;
};

template <class Sig>
class FnCall;
template <class R, class... A>
class FnCall<R(A...)> : public FnHolder {
 public:
  virtual R call(A... arguments) const = 0;
};

bool equal_fn_structs(const FnHolder& a, const FnHolder& b);
// Throws `wrong_type` unless `type` is registered with this signature.
void check_signature(const FnType& type, const std::type_info& signature);
[[noreturn]] void throw_empty_fn();

template <class F, class Sig>
class FnOf;
template <class F, class R, class... A>
class FnOf<F, R(A...)> final : public FnCall<R(A...)> {
 public:
  explicit FnOf(F function) : function_(std::move(function)) {}
  R call(A... arguments) const override { return function_(std::forward<A>(arguments)...); }
  std::unique_ptr<FnHolder> clone() const override { return std::make_unique<FnOf>(function_); }
  const FnType* type() const override { return &F::fn_type(); }
  void* object() override { return &function_; }
  bool equal(const FnHolder& other) const override { return equal_fn_structs(*this, other); }

 private:
  F function_;
};

template <class Sig>
class FnConstant;
template <class R, class... A>
class FnConstant<R(A...)> final : public FnCall<R(A...)> {
 public:
  explicit FnConstant(R value) : value_(std::move(value)) {}
  R call(A...) const override { return value_; }
  std::unique_ptr<FnHolder> clone() const override { return std::make_unique<FnConstant>(value_); }
  const FnType* type() const override { return nullptr; }
  void* object() override { return &value_; }
  bool equal(const FnHolder& other) const override {
    const auto* constant = dynamic_cast<const FnConstant*>(&other);
    return constant != nullptr && constant->value_ == value_;
  }

 private:
  R value_;
};

// Which result types may be constants, and what may be written for one: no narrowing, no bool from a lambda's pointer.
template <class R>
inline constexpr bool has_constants = std::is_same_v<R, bool> || std::is_same_v<R, int64_t> ||
                                      std::is_same_v<R, double> || std::is_same_v<R, std::string> || std::is_enum_v<R>;
template <class R, class T>
concept ConstantFor = has_constants<R> &&
                      (std::same_as<R, T> || (std::same_as<R, int64_t> && std::integral<T> && !std::same_as<T, bool>) ||
                       (std::same_as<R, double> && std::is_arithmetic_v<T> && !std::same_as<T, bool>) ||
                       (std::same_as<R, std::string> && std::convertible_to<T, std::string>));

}  // namespace detail

// What all Fns share: a function or none, copied deeply.
class AnyFn {
 public:
  AnyFn() = default;
  AnyFn(const AnyFn& other) : holder_(other.holder_ ? other.holder_->clone() : nullptr) {}
  AnyFn(AnyFn&&) noexcept = default;
  AnyFn& operator=(const AnyFn& other) { return *this = AnyFn(other); }
  AnyFn& operator=(AnyFn&&) noexcept = default;
  ~AnyFn() = default;

  bool has_value() const { return holder_ != nullptr; }
  explicit operator bool() const { return has_value(); }
  void reset() { holder_.reset(); }
  // Whether it is a constant, the same whatever the arguments.
  bool is_constant() const { return holder_ != nullptr && holder_->type() == nullptr; }
  // The struct's table; null when empty or a constant.
  const FnType* type() const { return holder_ ? holder_->type() : nullptr; }

  friend bool operator==(const AnyFn& a, const AnyFn& b) {
    if (!a.holder_ || !b.holder_) return a.holder_ == b.holder_;
    return a.holder_->equal(*b.holder_);
  }

 protected:
  explicit AnyFn(std::unique_ptr<detail::FnHolder> holder) : holder_(std::move(holder)) {}
  friend class FunctionType;
  std::unique_ptr<detail::FnHolder> holder_;
};

template <class Sig>
class Fn;

template <class R, class... A>
class Fn<R(A...)> : public AnyFn {
 public:
  Fn() = default;
  // A struct with TENON_FN that is callable as R(A...) and declared so by its TENON_FN_TYPE.
  template <FnStruct F>
    requires std::same_as<std::invoke_result_t<const F&, A...>, R>
  Fn(F function) : AnyFn(std::make_unique<detail::FnOf<F, R(A...)>>(std::move(function))) {  // NOLINT: implicit
    detail::check_signature(F::fn_type(), typeid(R(A...)));
  }
  // A constant.
  template <class T>
    requires detail::ConstantFor<R, std::remove_cvref_t<T>>
  Fn(T&& value)  // NOLINT: implicit by design
      : AnyFn(std::make_unique<detail::FnConstant<R(A...)>>(static_cast<R>(std::forward<T>(value)))) {}

  // Calls the function; throws `missing_field` when there is none.
  R operator()(A... arguments) const {
    if (!holder_) detail::throw_empty_fn();
    return static_cast<const detail::FnCall<R(A...)>&>(*holder_).call(std::forward<A>(arguments)...);
  }

  // The struct, when the function is an F; null otherwise.
  template <FnStruct F>
  const F* as() const {
    return type() == &F::fn_type() ? static_cast<const F*>(holder_->object()) : nullptr;
  }
};

}  // namespace tenon
