// Value: a value as text can hold it, what a TOML file or `--set` gives before it is fitted to a field's type.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/base/error.h"

namespace tenon {

class Value {
 public:
  using List = std::vector<Value>;
  struct Entry;
  using Table = std::vector<Entry>;  // keys are unique

  Value();               // an empty table
  Value(bool value);     // NOLINT: implicit by design
  Value(int64_t value);  // NOLINT
  template <std::integral T>
    requires(!std::same_as<T, bool> && !std::same_as<T, int64_t>)
  Value(T value) : Value(static_cast<int64_t>(value)) {}  // NOLINT
  Value(double value);                                    // NOLINT
  Value(std::string value);                               // NOLINT
  Value(std::string_view value);                          // NOLINT
  Value(const char* value);                               // NOLINT
  Value(List list);                                       // NOLINT
  Value(Table table);                                     // NOLINT
  Value(const Value&);
  Value(Value&&) noexcept;
  Value& operator=(const Value&);
  Value& operator=(Value&&) noexcept;
  ~Value();

  // The alternative, or null when it is another.
  template <class T>
  const T* as() const {
    return std::get_if<T>(&data_);
  }
  template <class T>
  T* as() {
    return std::get_if<T>(&data_);
  }
  // The entry of a table under `key`; null when there is none or this is no table.
  const Value* find(std::string_view key) const;

  // As TOML on one line: `3`, `0.1`, `"text"`, `[1, 2]`, `{a = 1}`.
  std::string text() const;
  // For errors: `"abc" (string)`.
  std::string describe() const;

  // Where it was written ("file.toml:12"), and how, when it was given as bare text; both may be empty.
  std::string where;
  std::string raw;

 private:
  std::variant<bool, int64_t, double, std::string, List, Table> data_;
};

struct Value::Entry {
  std::string key;
  Value value;
};

// An error about `value`: its message begins with where the value was written.
Error value_error(ErrorCode code, const Value& value, std::string_view message);

// A string as a TOML basic string, quoted and escaped.
std::string quote(std::string_view text);

}  // namespace tenon
