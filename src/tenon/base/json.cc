#include "tenon/base/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace tenon {
namespace {

using Library = nlohmann::json;

constexpr size_t kMaxDepth = 1000;

// Builds a value from what the library reads.
class Builder final : public nlohmann::json_sax<Library> {
 public:
  Json root;

  bool null() override { return add(Json()); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return open(); }
  bool key(string_t& value) override {
    open_.back().key = std::move(value);
    return true;
  }
  bool end_object() override {
    Json::Object members = std::move(open_.back().members);
    return close(std::move(members));
  }
  bool start_array(size_t) override { return open(); }
  bool end_array() override {
    Json::List list;
    for (Json::Member& member : open_.back().members) list.push_back(std::move(member.value));
    return close(std::move(list));
  }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

 private:
  // An object or a list whose end is to come; a list's members have no key.
  struct Open {
    Json::Object members;
    std::string key;
  };

  bool add(Json value) {
    if (open_.empty()) {
      root = std::move(value);
    } else {
      open_.back().members.push_back({std::move(open_.back().key), std::move(value)});
    }
    return true;
  }
  bool open() {
    open_.emplace_back();
    return open_.size() <= kMaxDepth;
  }
  bool close(Json value) {
    open_.pop_back();
    return add(std::move(value));
  }

  std::vector<Open> open_;
};

Library to_library(const Json& json) {
  if (const auto* value = json.as<bool>()) return *value;
  if (const auto* value = json.as<int64_t>()) return *value;
  if (const auto* value = json.as<uint64_t>()) return *value;
  if (const auto* value = json.as<double>()) return *value;
  if (const auto* value = json.as<std::string>()) return *value;
  if (const auto* list = json.as<Json::List>()) {
    Library out = Library::array();
    for (const Json& value : *list) out.push_back(to_library(value));
    return out;
  }
  if (const auto* members = json.as<Json::Object>()) {
    Library out = Library::object();
    for (const Json::Member& member : *members) out[member.key] = to_library(member.value);
    return out;
  }
  return nullptr;
}

bool key_less(const Json::Member& a, const Json::Member& b) { return a.key < b.key; }

Error damaged(const std::string& why) { return {ErrorCode::damaged, why}; }

}  // namespace

Json::Json() = default;
Json::Json(bool value) : data_(value) {}
Json::Json(int64_t value) {
  if (value < 0) {
    data_ = value;
  } else {
    data_ = static_cast<uint64_t>(value);
  }
}
Json::Json(uint64_t value) : data_(value) {}
Json::Json(double value) : data_(value) {}
Json::Json(std::string value) : data_(std::move(value)) {}
Json::Json(std::string_view value) : data_(std::string(value)) {}
Json::Json(const char* value) : data_(std::string(value)) {}
Json::Json(List list) : data_(std::move(list)) {}
Json::Json(Object members) {
  std::reverse(members.begin(), members.end());
  std::stable_sort(members.begin(), members.end(), key_less);
  const auto same = [](const Member& a, const Member& b) { return a.key == b.key; };
  members.erase(std::unique(members.begin(), members.end(), same), members.end());
  data_ = std::move(members);
}
Json::Json(const Json&) = default;
Json::Json(Json&&) noexcept = default;
Json& Json::operator=(const Json&) = default;
Json& Json::operator=(Json&&) noexcept = default;
Json::~Json() = default;

Result<Json> Json::parse(std::string_view text) {
  Builder builder;
  if (!Library::sax_parse(text, &builder)) return damaged("it isn't JSON");
  return std::move(builder.root);
}

std::string Json::text(const JsonStyle& style) const {
  const auto bad = style.replace_bad_utf8 ? Library::error_handler_t::replace : Library::error_handler_t::strict;
  try {
    return to_library(*this).dump(style.indent, ' ', style.ascii, bad);
  } catch (const Library::exception&) {
    throw Error(ErrorCode::invalid_argument, "text in JSON must be UTF-8");
  }
}

std::optional<double> Json::number() const {
  if (const auto* value = as<double>()) return *value;
  if (const auto* value = as<int64_t>()) return static_cast<double>(*value);
  if (const auto* value = as<uint64_t>()) return static_cast<double>(*value);
  return std::nullopt;
}

std::optional<int64_t> Json::integer() const {
  if (const auto* value = as<int64_t>()) return *value;
  const auto* value = as<uint64_t>();
  if (value == nullptr || !std::in_range<int64_t>(*value)) return std::nullopt;
  return static_cast<int64_t>(*value);
}

const Json* Json::find(std::string_view key) const {
  const Object* members = as<Object>();
  if (members == nullptr) return nullptr;
  const auto found =
      std::lower_bound(members->begin(), members->end(), key,
                       [](const Member& member, std::string_view wanted) { return member.key < wanted; });
  return found != members->end() && found->key == key ? &found->value : nullptr;
}

const Json& Json::member(std::string_view key) const {
  if (const Json* found = find(key)) return *found;
  throw damaged(fmt::format("no {}", key));
}

uint64_t Json::whole_number(std::string_view key, uint64_t max) const {
  const auto* value = member(key).as<uint64_t>();
  if (value == nullptr || *value > max) throw damaged(fmt::format("{} is out of range", key));
  return *value;
}

const std::string& Json::string(std::string_view key) const {
  if (const auto* value = member(key).as<std::string>()) return *value;
  throw damaged(fmt::format("{} is not text", key));
}

const Json::List& Json::list(std::string_view key) const {
  if (const auto* list = member(key).as<List>()) return *list;
  throw damaged(fmt::format("{} is not a list", key));
}

const Json::Object& Json::object(std::string_view key) const {
  if (const auto* members = member(key).as<Object>()) return *members;
  throw damaged(fmt::format("{} is not an object", key));
}

}  // namespace tenon
