#include "tenon/config/leaf_types.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/base/error.h"
#include "tenon/base/mesh.h"
#include "tenon/base/text.h"

namespace tenon {
namespace detail {
namespace {

template <class T>
const T& expect(const Value& from, std::string_view expected) {
  if (const T* value = from.as<T>()) return *value;
  throw value_error(ErrorCode::wrong_type, from, "a value of the wrong type")
      .got(from.describe())
      .expected(std::string(expected));
}

// What was written for a name: a string, or the bare word given on a command line.
std::string name_of(const Value& from, std::string_view expected) {
  if (!from.raw.empty() && from.as<std::string>() == nullptr) return from.raw;
  return expect<std::string>(from, expected);
}

// Whether it was written as an integer on a command line, but is none that fits.
bool is_large_integer(const Value& from) {
  const bool sign = from.raw.starts_with('-') || from.raw.starts_with('+');
  return from.as<int64_t>() == nullptr && from.raw.size() > 18 &&
         from.raw.find_first_not_of("0123456789", sign ? 1 : 0) == std::string::npos;
}

}  // namespace

Value write_leaf(bool value) { return value; }
Value write_leaf(int64_t value) { return value; }
Value write_leaf(double value) { return value; }
Value write_leaf(const std::string& value) { return value; }
Value write_leaf(DType value) { return to_string(value); }
Value write_leaf(const PartitionSpec& value) { return to_string(value); }
Value write_leaf(const Value& value) { return value; }

void read_leaf(bool& to, const Value& from) { to = expect<bool>(from, "bool"); }
void read_leaf(int64_t& to, const Value& from) {
  if (is_large_integer(from)) {
    throw value_error(ErrorCode::invalid_argument, from, "an integer out of range").got(from.raw).expected("64 bits");
  }
  to = expect<int64_t>(from, "integer");
}

void read_leaf(double& to, const Value& from) {
  constexpr int64_t kExact = int64_t{1} << 53;
  if (const auto* integer = from.as<int64_t>(); integer != nullptr && *integer <= kExact && *integer >= -kExact) {
    to = static_cast<double>(*integer);
  } else {
    to = expect<double>(from, "float");
  }
}

void read_leaf(std::string& to, const Value& from) { to = name_of(from, "string"); }

void read_leaf(DType& to, const Value& from) {
  const std::string expected = describe_leaf(typeid(DType));
  const std::string name = name_of(from, expected);
  const auto dtype = parse_dtype(name);
  if (!dtype) throw value_error(ErrorCode::invalid_argument, from, "no such dtype").got(quote(name)).expected(expected);
  to = *dtype;
}

void read_leaf(PartitionSpec& to, const Value& from) {
  const std::string expected = describe_leaf(typeid(PartitionSpec));
  const std::string text = name_of(from, expected);
  Result<PartitionSpec> spec = parse_partition_spec(text);
  if (!spec) {
    throw value_error(ErrorCode::invalid_argument, from, spec.error().message()).got(quote(text)).expected(expected);
  }
  const std::vector<std::string> axes(kMeshAxes.begin(), kMeshAxes.end());
  for (const Axis& dim : spec->dims()) {
    for (const std::string& name : dim.names) {
      if (std::find(axes.begin(), axes.end(), name) != axes.end()) continue;
      throw value_error(ErrorCode::unknown_name, from, "no mesh axis is called " + quote(name))
          .expected(join(axes, ", "))
          .hint(did_you_mean(name, axes));
    }
  }
  to = *spec;
}

void read_leaf(Value& to, const Value& from) { to = from; }

std::string describe_leaf(const std::type_info& type) {
  if (type == typeid(bool)) return "bool";
  if (type == typeid(int64_t)) return "integer";
  if (type == typeid(double)) return "float";
  if (type == typeid(std::string)) return "string";
  if (type == typeid(Value)) return "any value";
  if (type == typeid(PartitionSpec)) return "partition spec, like \"fsdp,model\"";
  std::vector<std::string> names;
  for (const DType dtype : kAllDTypes) names.emplace_back(to_string(dtype));
  return "dtype: one of " + join(names, ", ");
}

int64_t read_enum(std::span<const EnumName> names, const Value& from) {
  const std::string expected = describe_enum(names);
  const std::string name = name_of(from, expected);
  std::vector<std::string> known;
  for (const EnumName& row : names) {
    if (row.name == name) return row.value;
    known.emplace_back(row.name);
  }
  throw value_error(ErrorCode::invalid_argument, from, "no such value")
      .got(quote(name))
      .expected(expected)
      .hint(did_you_mean(name, known));
}

std::string describe_enum(std::span<const EnumName> names) {
  std::vector<std::string> known;
  for (const EnumName& row : names) known.emplace_back(row.name);
  return "one of " + join(known, ", ");
}

std::string_view enum_to_string(std::span<const EnumName> names, int64_t value) {
  for (const EnumName& row : names) {
    if (row.value == value) return row.name;
  }
  throw Error(ErrorCode::internal, fmt::format("an enum has the value {}, which TENON_ENUM doesn't list", value));
}

}  // namespace detail
}  // namespace tenon
