// AnyConfig: the root of every config. Configurable: the root of everything that is built from one.
//
// A config is a plain C++ value: fields with defaults, copyable, comparable. What can be known about its fields at run
// time (names, docs, text conversion) is in its ConfigType, built once in the .cc that says TENON_MODULE.
#pragma once

#include <concepts>
#include <memory>

namespace tenon {

class ConfigType;

class AnyConfig {
 public:
  virtual ~AnyConfig() = default;
  // The table of the config's own class: fields, docs, and how to make, copy and build it.
  virtual const ConfigType& type() const = 0;
  // The table of AnyConfig itself: no fields, the end of every chain of bases.
  static const ConfigType& static_type();

  // Same type and equal fields, through all children.
  friend bool operator==(const AnyConfig& a, const AnyConfig& b) { return equal(a, b); }

 protected:
  AnyConfig() = default;
  AnyConfig(const AnyConfig&) = default;
  AnyConfig& operator=(const AnyConfig&) = default;

 private:
  static bool equal(const AnyConfig& a, const AnyConfig& b);
};

// What a config builds. `nn::Module` derives from it, and so may datasets, learners and trainers.
class Configurable {
 public:
  using Config = AnyConfig;
  virtual ~Configurable() = default;
  Configurable(const Configurable&) = delete;
  Configurable& operator=(const Configurable&) = delete;

 protected:
  Configurable() = default;
};

// C is a config whose module is an I (or I itself).
template <class C, class I>
concept ConfigFor = std::derived_from<C, AnyConfig> && std::derived_from<C, typename I::Config>;

// A deep copy.
std::unique_ptr<AnyConfig> clone(const AnyConfig& config);

// Builds the object `config` describes. Throws `missing_field` naming all own required fields that were never set,
// `invalid_argument` when its checks fail; paths in errors are relative to `config` (prefix them with the child's
// name).
std::unique_ptr<Configurable> build(const AnyConfig& config);

// build(), as the type the config's module has.
template <class I>
std::unique_ptr<I> build_as(const std::derived_from<typename I::Config> auto& config) {
  return std::unique_ptr<I>(static_cast<I*>(build(config).release()));
}

namespace detail {

// Throws `missing_field`, at the field's path when it lies in a config that is being built or checked.
[[noreturn]] void throw_unset(const void* field);

// While one is alive on this thread, a required field or slot inside `config` that is read before it is set is named in
// the error.
class ConfigScope {
 public:
  explicit ConfigScope(const AnyConfig& config);
  ~ConfigScope();
  ConfigScope(const ConfigScope&) = delete;
  ConfigScope& operator=(const ConfigScope&) = delete;

 private:
  friend void throw_unset(const void* field);
  const AnyConfig& config_;
  const ConfigScope* outer_;
};

}  // namespace detail
}  // namespace tenon
