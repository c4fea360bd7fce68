// value_type<T>(): the ValueType of any C++ type a field may have. Included by define.h, for .cc files only.
#pragma once

#include <map>
#include <new>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "tenon/config/checker.h"
#include "tenon/config/config_type.h"
#include "tenon/config/leaf_types.h"
#include "tenon/config/required.h"

namespace tenon {

template <class T>
const ValueType& value_type();

namespace detail {

struct NullVisitor {
  template <auto Member>
  constexpr void field(const char*) {}
};
template <class T>
concept RecordValue = std::is_class_v<T> && !std::derived_from<T, AnyConfig> && !FnStruct<T> &&
                      requires(NullVisitor& v) { T::template tenon_fields<T>(v); };

template <class M>
struct MemberOf;
template <class T, class C>
struct MemberOf<T C::*> {
  using type = T;
};

// Whether a T prints at least one line, whatever its values: else a list of them would lose its length in text.
template <class T>
constexpr bool always_prints();
struct PrintsVisitor {
  bool prints = false;
  template <auto Member>
  constexpr void field(const char*) {
    prints = prints || always_prints<typename MemberOf<decltype(Member)>::type>();
  }
};
template <class T>
constexpr bool always_prints() {
  if constexpr (RecordValue<T>) {
    PrintsVisitor visitor;
    T::template tenon_fields<T>(visitor);
    return visitor.prints;
  }
  return !is_required<T>;
}

template <class T>
inline constexpr bool can_be_optional = !std::derived_from<T, AnyFn> && !is_required<T>;
template <class T>
inline constexpr bool can_be_optional<std::optional<T>> = false;
template <class T>
inline constexpr bool can_be_optional<std::map<std::string, T>> = false;

// Collects a Field per named member. Config fields are reached from the AnyConfig, others from the struct itself.
template <class Self>
struct FieldCollector {
  std::vector<Field> fields;
  template <auto Member>
  void field(const char* name) {
    using T = typename MemberOf<decltype(Member)>::type;
    fields.push_back({name, {}, &value_type<T>, [](void* owner) -> void* {
                        if constexpr (std::derived_from<Self, AnyConfig>) {
                          return &(static_cast<Self*>(static_cast<AnyConfig*>(owner))->*Member);
                        } else {
                          return &(static_cast<Self*>(owner)->*Member);
                        }
                      }});
  }
};
template <class Self>
std::vector<Field> collect_fields() {
  FieldCollector<Self> collector;
  Self::template tenon_fields<Self>(collector);
  return std::move(collector.fields);
}

template <class T>
Layout struct_layout() {
  return {sizeof(T), alignof(T), [](void* at) -> void* { return new (at) T; },
          [](void* owner) { static_cast<T*>(owner)->~T(); }, 0};
}

template <class T>
concept HasCheck = requires(const T& t, Checker& c) { t.check(c); };

template <class T, class Base>
class TypeOf : public Base {
 public:
  explicit TypeOf(ValueType::Kind kind) : Base(kind, sizeof(T), alignof(T), typeid(T)) {}
  void assign(void* to, const void* from) const override { *static_cast<T*>(to) = *static_cast<const T*>(from); }

 protected:
  static T& self(void* p) { return *static_cast<T*>(p); }
  static const T& self(const void* p) { return *static_cast<const T*>(p); }
};

template <class T>
class RequiredTypeOf final : public TypeOf<Required<T>, HolderType> {
  static_assert(!is_required<T>, "Required<Required<T>>");

 public:
  RequiredTypeOf() : TypeOf<Required<T>, HolderType>(ValueType::Kind::holder) {}
  std::string describe() const override { return inner().describe(); }
  bool is_required() const override { return true; }
  const ValueType& inner() const override { return value_type<T>(); }
  void* get(void* p) const override { return this->self(p).is_set() ? &this->self(p).mutable_value() : nullptr; }
  void* engage(void* p) const override {
    if (!this->self(p).is_set()) this->self(p) = T{};
    return &this->self(p).mutable_value();
  }
  void clear(void* p) const override { this->self(p).reset(); }
};

template <class T>
class OptionalTypeOf final : public TypeOf<std::optional<T>, HolderType> {
  static_assert(can_be_optional<T>,
                "an optional of Fn, optional, Required or map can't be told from an empty one in text");
  static_assert(always_prints<T>(), "an optional struct needs a field that isn't Required, or it wouldn't print");

 public:
  OptionalTypeOf() : TypeOf<std::optional<T>, HolderType>(ValueType::Kind::holder) {}
  std::string describe() const override { return inner().describe() + ", or {} for none"; }
  bool is_required() const override { return false; }
  const ValueType& inner() const override { return value_type<T>(); }
  void* get(void* p) const override {
    std::optional<T>& value = this->self(p);
    if constexpr (std::derived_from<T, AnySlot>) {
      if (value && !value->has_value()) return nullptr;
    }
    return value ? &*value : nullptr;
  }
  void* engage(void* p) const override {
    if (!this->self(p)) this->self(p).emplace();
    return &*this->self(p);
  }
  void clear(void* p) const override { this->self(p).reset(); }
};

template <class T>
class ListTypeOf final : public TypeOf<std::vector<T>, ListType> {
  static_assert(!std::is_same_v<T, bool>, "std::vector<bool> has no elements to point to: use an enum");
  static_assert(always_prints<T>(), "a list's struct needs a field that isn't Required, or it wouldn't print");

 public:
  ListTypeOf() : TypeOf<std::vector<T>, ListType>(ValueType::Kind::list) {}
  std::string describe() const override { return "list of " + element().describe(); }
  const ValueType& element() const override { return value_type<T>(); }
  size_t length(const void* p) const override { return this->self(p).size(); }
  void* at(void* p, size_t index) const override { return &this->self(p).at(index); }
  void* append(void* p) const override { return &this->self(p).emplace_back(); }
  void clear(void* p) const override { this->self(p).clear(); }
};

template <class T>
class MapTypeOf final : public TypeOf<std::map<std::string, T>, MapType> {
  static_assert(always_prints<T>(), "a map's struct needs a field that isn't Required, or it wouldn't print");

 public:
  MapTypeOf() : TypeOf<std::map<std::string, T>, MapType>(ValueType::Kind::map) {}
  std::string describe() const override { return "map of " + element().describe(); }
  const ValueType& element() const override { return value_type<T>(); }
  std::vector<std::string> keys(const void* p) const override {
    std::vector<std::string> keys;
    for (const auto& [key, value] : this->self(p)) keys.push_back(key);
    return keys;
  }
  void* find(void* p, const std::string& key) const override {
    const auto it = this->self(p).find(key);
    return it == this->self(p).end() ? nullptr : &it->second;
  }
  void* insert(void* p, const std::string& key) const override { return &this->self(p)[key]; }
  void clear(void* p) const override { this->self(p).clear(); }
};

template <RecordValue T>
class RecordTypeOf final : public TypeOf<T, RecordType> {
 public:
  RecordTypeOf() : TypeOf<T, RecordType>(ValueType::Kind::record), fields_(collect_fields<T>()) {}
  std::string describe() const override { return "a table"; }
  std::span<const Field> fields() const override { return fields_; }
  void check(const void* p, [[maybe_unused]] Checker& checker) const override {
    if constexpr (HasCheck<T>) this->self(p).check(checker);
  }
  Layout layout() const override { return struct_layout<T>(); }

 private:
  std::vector<Field> fields_;
};

std::string describe_slot(const ConfigType& interface);
std::string describe_fn(const LeafType* constants);

template <class I>
class SlotTypeOf final : public TypeOf<Slot<I>, SlotType> {
 public:
  SlotTypeOf() : TypeOf<Slot<I>, SlotType>(ValueType::Kind::slot) {}
  std::string describe() const override { return describe_slot(interface()); }
  const ConfigType& interface() const override { return I::Config::static_type(); }
  AnySlot& slot(void* p) const override { return this->self(p); }
};

template <class Sig>
class FunctionTypeOf;
template <class R, class... A>
class FunctionTypeOf<R(A...)> final : public TypeOf<Fn<R(A...)>, FunctionType> {
 public:
  FunctionTypeOf() : TypeOf<Fn<R(A...)>, FunctionType>(ValueType::Kind::function) {}
  std::string describe() const override { return describe_fn(constants()); }
  const std::type_info& signature() const override { return typeid(R(A...)); }
  AnyFn& fn(void* p) const override { return this->self(p); }
  const LeafType* constants() const override {
    if constexpr (has_constants<R>) {
      return &static_cast<const LeafType&>(value_type<R>());
    } else {
      return nullptr;
    }
  }
  void set_constant([[maybe_unused]] void* p, [[maybe_unused]] const Value& value) const override {
    if constexpr (has_constants<R>) {
      R constant{};
      constants()->read(&constant, value);
      this->self(p) = Fn<R(A...)>(std::move(constant));
    }
  }
};

template <class T>
struct TypeFor {
  static_assert(
      LeafValue<T> || RecordValue<T>,
      "not a type a config field may have: bool, int64_t, double, std::string, DType, PartitionSpec, Value, an "
      "enum with TENON_ENUM, a struct with TENON_FIELDS, Slot, Fn, or Required, optional, vector, map of those");
};
template <LeafValue T>
struct TypeFor<T> {
  using type = LeafTypeOf<T>;
};
template <RecordValue T>
struct TypeFor<T> {
  using type = RecordTypeOf<T>;
};
template <class T>
struct TypeFor<Required<T>> {
  using type = RequiredTypeOf<T>;
};
template <class T>
struct TypeFor<std::optional<T>> {
  using type = OptionalTypeOf<T>;
};
template <class T>
struct TypeFor<std::vector<T>> {
  using type = ListTypeOf<T>;
};
template <class T>
struct TypeFor<std::map<std::string, T>> {
  using type = MapTypeOf<T>;
};
template <class I>
struct TypeFor<Slot<I>> {
  using type = SlotTypeOf<I>;
};
template <class Sig>
struct TypeFor<Fn<Sig>> {
  using type = FunctionTypeOf<Sig>;
};

}  // namespace detail

template <class T>
const ValueType& value_type() {
  static const typename detail::TypeFor<T>::type type;
  return type;
}

}  // namespace tenon
