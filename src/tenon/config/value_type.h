// ValueType: what can be done at run time with the values of one C++ type that a field may have.
//
// Values are handled as `void*` here; the templates that know the C++ types are in value_types.h, for .cc files only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

#include "tenon/config/fn.h"
#include "tenon/config/slot.h"
#include "tenon/config/value.h"

namespace tenon {

class Checker;
class ValueType;

// A table is reached through a function, since types may contain themselves (a slot within a layer).
using ValueTypeGetter = const ValueType& (*)();

// How an object lies in memory, for the test that no field was forgotten.
struct Layout {
  size_t size = 0, align = 0;
  void* (*construct)(void* at) = nullptr;  // default-constructs; returns the `owner` that Field::get takes
  void (*destroy)(void* owner) = nullptr;
  size_t header = 0;  // bytes in front of the fields: the vtable pointer
};

// One named field of a config, a nested struct or a function struct.
struct Field {
  std::string_view name;
  std::string_view doc;
  ValueTypeGetter type;
  void* (*get)(void* owner);  // owner: an AnyConfig*, or the struct
};

class ValueType {
 public:
  enum class Kind : uint8_t { leaf, holder, list, map, record, slot, function };

  virtual ~ValueType() = default;
  Kind kind() const { return kind_; }
  const std::type_info& cpp_type() const { return cpp_type_; }
  size_t size() const { return size_; }
  size_t align() const { return align_; }
  // For errors and docs: "integer", "list of float", "one of scan, unroll", "a FeedForward".
  virtual std::string describe() const = 0;
  // *to = *from.
  virtual void assign(void* to, const void* from) const = 0;

 protected:
  ValueType(Kind kind, size_t size, size_t align, const std::type_info& cpp_type)
      : kind_(kind), size_(size), align_(align), cpp_type_(cpp_type) {}

 private:
  Kind kind_;
  size_t size_, align_;
  const std::type_info& cpp_type_;
};

// Written as one TOML value: bool, integer, float, string, enum, dtype, partition spec.
class LeafType : public ValueType {
 public:
  virtual Value write(const void* leaf) const = 0;
  // Throws `wrong_type` or `invalid_argument`, with no path.
  virtual void read(void* leaf, const Value& value) const = 0;
  virtual bool equal(const void* a, const void* b) const = 0;

 protected:
  using ValueType::ValueType;
};

// Required<T> and std::optional<T>: a value or none.
class HolderType : public ValueType {
 public:
  virtual bool is_required() const = 0;
  virtual const ValueType& inner() const = 0;
  // The value inside; null when there is none.
  virtual void* get(void* holder) const = 0;
  // The value inside, a default one put there when there was none.
  virtual void* engage(void* holder) const = 0;
  virtual void clear(void* holder) const = 0;

 protected:
  using ValueType::ValueType;
};

class ListType : public ValueType {
 public:
  virtual const ValueType& element() const = 0;
  virtual size_t length(const void* list) const = 0;
  virtual void* at(void* list, size_t index) const = 0;
  virtual void* append(void* list) const = 0;  // a default element
  virtual void clear(void* list) const = 0;

 protected:
  using ValueType::ValueType;
};

class MapType : public ValueType {
 public:
  virtual const ValueType& element() const = 0;
  virtual std::vector<std::string> keys(const void* map) const = 0;
  virtual void* find(void* map, const std::string& key) const = 0;    // null when there is none
  virtual void* insert(void* map, const std::string& key) const = 0;  // a default element when there was none
  virtual void clear(void* map) const = 0;

 protected:
  using ValueType::ValueType;
};

// A plain struct with TENON_FIELDS.
class RecordType : public ValueType {
 public:
  virtual std::span<const Field> fields() const = 0;
  virtual void check(const void* record, Checker& checker) const = 0;
  virtual Layout layout() const = 0;

 protected:
  using ValueType::ValueType;
};

class SlotType : public ValueType {
 public:
  // What the child must be.
  virtual const ConfigType& interface() const = 0;
  virtual AnySlot& slot(void* slot) const = 0;
  // The child's config; null when the slot is empty.
  AnyConfig* get(void* slot) const { return this->slot(slot).config_.get(); }
  // Puts `config` into the slot; it must be an interface().
  void set(void* slot, std::unique_ptr<AnyConfig> config) const { this->slot(slot).config_ = std::move(config); }

 protected:
  using ValueType::ValueType;
};

class FunctionType : public ValueType {
 public:
  virtual const std::type_info& signature() const = 0;
  virtual AnyFn& fn(void* fn) const = 0;
  // The type of the constants it may hold; null when it may hold none.
  virtual const LeafType* constants() const = 0;
  // Makes it the constant `value`; only where there are constants.
  virtual void set_constant(void* fn, const Value& value) const = 0;
  // The struct or the constant inside; null when empty.
  void* get(void* fn) const {
    const auto& holder = this->fn(fn).holder_;
    return holder ? holder->object() : nullptr;
  }
  void set(void* fn, std::unique_ptr<detail::FnHolder> holder) const { this->fn(fn).holder_ = std::move(holder); }

 protected:
  using ValueType::ValueType;
};

}  // namespace tenon
