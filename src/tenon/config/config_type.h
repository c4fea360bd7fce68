// ConfigType and FnType: the tables of a config class and of a function struct.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

#include "tenon/config/any_config.h"
#include "tenon/config/value_type.h"

namespace tenon {

// A line of documentation for one field.
struct FieldDoc {
  std::string_view field;
  std::string_view doc;
};

class ConfigType {
 public:
  struct Parts {
    std::string_view name, doc;
    const ConfigType* base = nullptr;
    std::vector<Field> own_fields;
    Layout layout;
    // Null for an interface.
    std::unique_ptr<AnyConfig> (*make)() = nullptr;
    std::unique_ptr<AnyConfig> (*clone)(const AnyConfig&) = nullptr;
    std::unique_ptr<Configurable> (*build)(const AnyConfig&) = nullptr;
    // Null when the class has no check of its own.
    void (*check)(const AnyConfig&, Checker&) = nullptr;
  };
  // Throws `internal` for a field named twice or `type`, or a doc of a field that isn't there.
  ConfigType(Parts parts, std::initializer_list<FieldDoc> docs);
  ConfigType(const ConfigType&) = delete;
  ConfigType& operator=(const ConfigType&) = delete;

  // The class's name, as in text: "GatedFeedForward".
  std::string_view name() const { return parts_.name; }
  std::string_view doc() const { return parts_.doc; }
  // The interface it derives from; null for AnyConfig's own.
  const ConfigType* base() const { return parts_.base; }
  // An interface: can't be made or built.
  bool is_abstract() const { return parts_.make == nullptr; }
  // Whether this is `other` or derives from it.
  bool is_a(const ConfigType& other) const;
  // All fields, the interface's first. Their owner is the AnyConfig*.
  std::span<const Field> fields() const { return fields_; }
  // How many of fields() come from the nearest interface (the type itself, when it is one).
  size_t num_interface_fields() const;
  const Layout& layout() const { return parts_.layout; }

  // A config with every field at its default. Throws `invalid_argument` for an interface.
  std::unique_ptr<AnyConfig> make() const;
  // A deep copy of `config`, which is of this type.
  std::unique_ptr<AnyConfig> clone(const AnyConfig& config) const;
  // Calls the constructor with no check before it: use tenon::build.
  std::unique_ptr<Configurable> construct(const AnyConfig& config) const;
  // Runs the `check` members, the interface's first, for the config's own fields.
  void check(const AnyConfig& config, Checker& checker) const;

 private:
  Parts parts_;
  std::vector<Field> fields_;
};

class FnType {
 public:
  struct Parts {
    std::string_view name, doc;
    const std::type_info* signature = nullptr;
    std::string_view signature_text;  // "int64_t(int64_t)"
    std::vector<Field> fields;
    Layout layout;
    std::unique_ptr<detail::FnHolder> (*make)() = nullptr;
    void (*check)(const void*, Checker&) = nullptr;  // may be null
  };
  FnType(Parts parts, std::initializer_list<FieldDoc> docs);
  FnType(const FnType&) = delete;
  FnType& operator=(const FnType&) = delete;

  std::string_view name() const { return parts_.name; }
  std::string_view doc() const { return parts_.doc; }
  const std::type_info& signature() const { return *parts_.signature; }
  std::string_view signature_text() const { return parts_.signature_text; }
  std::span<const Field> fields() const { return parts_.fields; }
  const Layout& layout() const { return parts_.layout; }
  // A holder of the struct with every field at its default.
  std::unique_ptr<detail::FnHolder> make() const { return parts_.make(); }
  void check(const void* function, Checker& checker) const;

 private:
  Parts parts_;
};

// The field called `name`; null when there is none.
const Field* find_field(std::span<const Field> fields, std::string_view name);
std::vector<std::string> field_names(std::span<const Field> fields);

}  // namespace tenon
