#include "tenon/config/value.h"

#include <fmt/format.h>

#include "tenon/base/text.h"
#include "tenon/base/utf8.h"
#include "tenon/config/path.h"

namespace tenon {

Value::Value() : data_(Table()) {}
Value::Value(bool value) : data_(value) {}
Value::Value(int64_t value) : data_(value) {}
Value::Value(double value) : data_(value) {}
Value::Value(std::string value) : data_(std::move(value)) {}
Value::Value(std::string_view value) : data_(std::string(value)) {}
Value::Value(const char* value) : data_(std::string(value)) {}
Value::Value(List list) : data_(std::move(list)) {}
Value::Value(Table table) : data_(std::move(table)) {}
Value::Value(const Value&) = default;
Value::Value(Value&&) noexcept = default;
Value& Value::operator=(const Value&) = default;
Value& Value::operator=(Value&&) noexcept = default;
Value::~Value() = default;

const Value* Value::find(std::string_view key) const {
  const Table* table = as<Table>();
  if (table == nullptr) return nullptr;
  for (const Entry& entry : *table) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

std::string Value::text() const {
  if (const auto* value = as<bool>()) return *value ? "true" : "false";
  if (const auto* value = as<int64_t>()) return fmt::format("{}", *value);
  if (const auto* value = as<double>()) return format_float(*value);
  if (const auto* value = as<std::string>()) return quote(*value);
  std::vector<std::string> pieces;
  if (const auto* list = as<List>()) {
    for (const Value& value : *list) pieces.push_back(value.text());
    return "[" + join(pieces, ", ") + "]";
  }
  for (const Entry& entry : *as<Table>()) {
    pieces.push_back(format_path({entry.key}) + " = " + entry.value.text());
  }
  return "{" + join(pieces, ", ") + "}";
}

std::string Value::describe() const {
  static constexpr std::string_view kNames[] = {"bool", "integer", "float", "string", "list", "table"};
  constexpr size_t kLongest = 60;
  std::string shown = text();
  if (shown.size() > kLongest) shown = shown.substr(0, utf8_prefix(shown.substr(0, kLongest))) + "…";
  return fmt::format("{} ({})", shown, kNames[data_.index()]);
}

Error value_error(ErrorCode code, const Value& value, std::string_view message) {
  return Error(code, value.where.empty() ? std::string(message) : fmt::format("{}: {}", value.where, message));
}

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\u{:04X}", byte);
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace tenon
