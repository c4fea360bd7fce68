// Registry: the classes and function structs that text may name.
//
// It is filled by explicit calls, `void register_nn(Registry& r) { r.add<Linear, GatedFeedForward, ScaledDim>(); }`,
// never by static objects; a plug-in adds to the same one. Fill it before threads start: it takes no lock.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

#include "tenon/config/any_config.h"
#include "tenon/config/fn.h"

namespace tenon {

class Registry {
 public:
  // Each T is a class with a Config, or a struct with TENON_FN. Adding one twice is fine; another under the same name
  // throws `invalid_argument`.
  template <class... T>
  void add() {
    (add_one<T>(), ...);
  }
  void add(const ConfigType& type);
  void add(const FnType& type);

  // By class name; throws `unknown_name` with the nearest names.
  const ConfigType& config_type(std::string_view name) const;
  const FnType& fn_type(std::string_view name) const;
  // The same, where interfaces that added types implement count too.
  const ConfigType& class_type(std::string_view name) const;
  // By class name; null when it isn't there.
  const ConfigType* find_config_type(std::string_view name) const;
  const FnType* find_fn_type(std::string_view name) const;

  // All that can be built and are an `interface`, by name.
  std::vector<const ConfigType*> implementations(const ConfigType& interface) const;
  // All that others implement and that can't be built, by name.
  std::vector<const ConfigType*> interfaces() const;
  // All functions, by name.
  std::vector<const FnType*> functions() const;
  // Those of this signature.
  std::vector<const FnType*> functions(const std::type_info& signature) const;

  // The one that the binary and its plug-ins fill.
  static Registry& global();

 private:
  template <class T>
  void add_one() {
    if constexpr (FnStruct<T>) {
      add(T::fn_type());
    } else {
      add(T::Config::static_type());
    }
  }
  std::map<std::string, const ConfigType*, std::less<>> configs_;
  std::map<std::string, const FnType*, std::less<>> functions_;
};

}  // namespace tenon
