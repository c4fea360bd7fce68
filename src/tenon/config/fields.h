// The macros a class uses to name its fields. They declare; the .cc defines (tenon/config/define.h).
//
//   TENON_FIELDS(a, b)   in an interface's Config, which stays abstract, and in a plain struct used as a field
//   TENON_CONFIG(a, b)   in the Config of a class that can be built
//   TENON_FN(a, b)       in a struct that is a function value; it stays an aggregate
//   TENON_ENUM(E, a, b)  after an enum, at namespace scope
//
// Each lists the class's own fields; inherited ones come first by themselves.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "tenon/config/any_config.h"
#include "tenon/config/fn.h"

namespace tenon {

// One enumerator and its name in text.
struct EnumName {
  std::string_view name;
  int64_t value;
};

namespace detail {
std::string_view enum_to_string(std::span<const EnumName> names, int64_t value);
}

// The name of an enumerator of an enum with TENON_ENUM.
template <class E>
  requires requires(E e) { tenon_enum_names(e); }
std::string_view to_string(E value) {
  return detail::enum_to_string(tenon_enum_names(value), static_cast<int64_t>(value));
}

}  // namespace tenon

// Applies `macro` to each of the other arguments (up to 300 of them).
#define TENON_PARENS ()
#define TENON_EXPAND(...) TENON_EXPAND4(TENON_EXPAND4(TENON_EXPAND4(TENON_EXPAND4(__VA_ARGS__))))
#define TENON_EXPAND4(...) TENON_EXPAND3(TENON_EXPAND3(TENON_EXPAND3(TENON_EXPAND3(__VA_ARGS__))))
#define TENON_EXPAND3(...) TENON_EXPAND2(TENON_EXPAND2(TENON_EXPAND2(TENON_EXPAND2(__VA_ARGS__))))
#define TENON_EXPAND2(...) TENON_EXPAND1(TENON_EXPAND1(TENON_EXPAND1(TENON_EXPAND1(__VA_ARGS__))))
#define TENON_EXPAND1(...) __VA_ARGS__
#define TENON_FOR_EACH(macro, ...) __VA_OPT__(TENON_EXPAND(TENON_FOR_EACH_STEP(macro, __VA_ARGS__)))
#define TENON_FOR_EACH_STEP(macro, first, ...) \
  macro(first) __VA_OPT__(TENON_FOR_EACH_AGAIN TENON_PARENS(macro, __VA_ARGS__))
#define TENON_FOR_EACH_AGAIN() TENON_FOR_EACH_STEP

#define TENON_FIELD_ENTRY(name) tenon_visitor.template field<&TenonSelf::name>(#name);
#define TENON_ENUM_ENTRY(name) {#name, static_cast<int64_t>(TenonSelf::name)},

#define TENON_FIELD_LIST(...)                                                        \
  template <class TenonSelf, class TenonVisitor>                                     \
  static constexpr void tenon_fields([[maybe_unused]] TenonVisitor& tenon_visitor) { \
    TENON_FOR_EACH(TENON_FIELD_ENTRY, __VA_ARGS__)                                   \
  }

#define TENON_FIELDS(...)                          \
  static const ::tenon::ConfigType& static_type(); \
  TENON_FIELD_LIST(__VA_ARGS__)

#define TENON_CONFIG(...)                           \
  const ::tenon::ConfigType& type() const override; \
  TENON_FIELDS(__VA_ARGS__)

#define TENON_FN(...)                      \
  static const ::tenon::FnType& fn_type(); \
  TENON_FIELD_LIST(__VA_ARGS__)

#define TENON_ENUM(Type, ...)                                                                      \
  inline std::span<const ::tenon::EnumName> tenon_enum_names(Type) {                               \
    using TenonSelf = Type;                                                                        \
    static constexpr ::tenon::EnumName kNames[] = {TENON_FOR_EACH(TENON_ENUM_ENTRY, __VA_ARGS__)}; \
    return kNames;                                                                                 \
  }
