// JSON values: read, built and written. The one file that knows the library for it is json.cc.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "tenon/base/result.h"

namespace tenon {

// How JSON is written.
struct JsonStyle {
  int indent = -1;                // spaces a level; -1: all on one line
  bool ascii = false;             // escapes everything else
  bool replace_bad_utf8 = false;  // by U+FFFD, in place of throwing
};

class Json {
 public:
  struct Member;
  using List = std::vector<Json>;
  using Object = std::vector<Member>;  // by key, each once

  Json();                        // null
  Json(bool value);              // NOLINT: implicit by design
  Json(int64_t value);           // NOLINT
  Json(uint64_t value);          // NOLINT
  Json(double value);            // NOLINT
  Json(std::string value);       // NOLINT
  Json(std::string_view value);  // NOLINT
  Json(const char* value);       // NOLINT
  Json(List list);               // NOLINT
  Json(Object members);          // NOLINT: in any order; of one key the last counts
  template <std::integral T>
    requires(!std::same_as<T, bool> && !std::same_as<T, int64_t> && !std::same_as<T, uint64_t>)
  Json(T value) : Json(std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>(value)) {}  // NOLINT
  Json(const Json&);
  Json(Json&&) noexcept;
  Json& operator=(const Json&);
  Json& operator=(Json&&) noexcept;
  ~Json();

  // Fails with `damaged` for what isn't JSON, or is nested deeper than a thousand levels.
  static Result<Json> parse(std::string_view text);
  // Throws `invalid_argument` for text that isn't UTF-8.
  std::string text(const JsonStyle& style = {}) const;

  // The alternative, or null when it is another. A whole number is a uint64_t, if it isn't negative, else an int64_t.
  template <class T>
  const T* as() const {
    return std::get_if<T>(&data_);
  }
  // A number of any kind.
  std::optional<double> number() const;
  // A whole number that fits.
  std::optional<int64_t> integer() const;
  // The member of an object under `key`; null when there is none or this is no object.
  const Json* find(std::string_view key) const;

  // Members that must be there. They throw `damaged` with the reason alone: "no step", "step is out of range", "name is
  // not text", "shards is not a list", "files is not an object".
  const Json& member(std::string_view key) const;
  uint64_t whole_number(std::string_view key, uint64_t max) const;
  const std::string& string(std::string_view key) const;
  const List& list(std::string_view key) const;
  const Object& object(std::string_view key) const;

 private:
  std::variant<std::monostate, bool, int64_t, uint64_t, double, std::string, List, Object> data_;
};

struct Json::Member {
  std::string key;
  Json value;
};

}  // namespace tenon
