// The macros that define, in a .cc, the tables that a class's TENON_FIELDS, TENON_CONFIG or TENON_FN declares.
//
//   TENON_MODULE(Linear, Module, "y = x W + b", {"bias", "whether b is added"})
//   TENON_INTERFACE(FeedForward, Module, "[B,T,D] -> [B,T,D], position by position")
//   TENON_FN_TYPE(ScaledDim, int64_t(int64_t), "scale * input_dim, rounded up")
//
// The second argument of the first two is the interface: the class derives from it, and its Config from the
// interface's. For a class with none it is Configurable. Docs of fields may follow. Write them in the namespace of the
// class, where the types of all fields are complete. TENON_FIELDS in a plain struct needs no definition.
#pragma once

#include <initializer_list>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "tenon/config/config.h"
#include "tenon/config/config_type.h"
#include "tenon/config/value_types.h"

namespace tenon::detail {

// A `check` declared by C itself: an inherited one is run by the interface's table.
template <class C>
concept HasOwnCheck = requires {
  { &C::check } -> std::same_as<void (C::*)(Checker&) const>;
};

template <class M, class I>
ConfigType::Parts common_parts(const char* name, const char* doc) {
  using C = typename M::Config;
  using B = typename I::Config;
  static_assert(std::is_base_of_v<I, M> && std::is_convertible_v<M*, I*>, "the class must derive from its interface");
  static_assert(std::is_base_of_v<B, C> && !std::is_same_v<B, C>,
                "the Config must derive from its interface's Config, with a TENON_ macro of its own");
  ConfigType::Parts parts;
  parts.name = name;
  parts.doc = doc;
  parts.base = &B::static_type();
  parts.own_fields = collect_fields<C>();
  if constexpr (HasOwnCheck<C>) {
    parts.check = [](const AnyConfig& c, Checker& checker) { static_cast<const C&>(c).check(checker); };
  }
  return parts;
}

template <class M, class I>
ConfigType::Parts module_parts(const char* name, const char* doc) {
  using C = typename M::Config;
  static_assert(std::is_default_constructible_v<C> && std::is_copy_constructible_v<C>, "a Config is a plain value");
  static_assert(std::is_constructible_v<M, const C&>, "the class needs a constructor from const Config&");
  ConfigType::Parts parts = common_parts<M, I>(name, doc);
  parts.make = []() -> std::unique_ptr<AnyConfig> { return std::make_unique<C>(); };
  parts.clone = [](const AnyConfig& c) -> std::unique_ptr<AnyConfig> {
    return std::make_unique<C>(static_cast<const C&>(c));
  };
  parts.build = [](const AnyConfig& c) -> std::unique_ptr<Configurable> {
    return std::make_unique<M>(static_cast<const C&>(c));
  };
  parts.layout = {sizeof(C), alignof(C), [](void* at) -> void* { return static_cast<AnyConfig*>(new (at) C); },
                  [](void* owner) { static_cast<C*>(static_cast<AnyConfig*>(owner))->~C(); }, sizeof(AnyConfig)};
  return parts;
}

template <class F, class Sig>
FnType::Parts fn_parts(const char* name, const char* signature, const char* doc) {
  static_assert(std::is_aggregate_v<F>, "a TENON_FN struct has fields with defaults, and no constructors");
  FnType::Parts parts;
  parts.name = name;
  parts.doc = doc;
  parts.signature = &typeid(Sig);
  parts.signature_text = signature;
  parts.fields = collect_fields<F>();
  parts.make = []() -> std::unique_ptr<FnHolder> { return std::make_unique<FnOf<F, Sig>>(F{}); };
  if constexpr (HasCheck<F>) {
    parts.check = [](const void* f, Checker& checker) { static_cast<const F*>(f)->check(checker); };
  }
  parts.layout = struct_layout<F>();
  return parts;
}

}  // namespace tenon::detail

#define TENON_DEFINE_CONFIG_TYPE(Type, Interface, parts, doc, ...)                                             \
  const ::tenon::ConfigType& Type::Config::static_type() {                                                     \
    static const ::tenon::ConfigType type(::tenon::detail::parts<Type, Interface>(#Type, doc), {__VA_ARGS__}); \
    return type;                                                                                               \
  }

#define TENON_MODULE(Type, Interface, doc, ...)                                           \
  TENON_DEFINE_CONFIG_TYPE(Type, Interface, module_parts, doc __VA_OPT__(, ) __VA_ARGS__) \
  const ::tenon::ConfigType& Type::Config::type() const { return static_type(); }

#define TENON_INTERFACE(Type, Interface, doc, ...) \
  TENON_DEFINE_CONFIG_TYPE(Type, Interface, common_parts, doc __VA_OPT__(, ) __VA_ARGS__)

#define TENON_FN_TYPE(Type, Signature, doc, ...)                                                          \
  const ::tenon::FnType& Type::fn_type() {                                                                \
    static const ::tenon::FnType type(::tenon::detail::fn_parts<Type, Signature>(#Type, #Signature, doc), \
                                      {__VA_ARGS__});                                                     \
    return type;                                                                                          \
  }
