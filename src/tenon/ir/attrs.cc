#include "tenon/ir/attrs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>

#include "tenon/base/text.h"

namespace tenon {
namespace {

struct Printer {
  std::string operator()(bool v) const { return v ? "true" : "false"; }
  std::string operator()(int64_t v) const { return fmt::format("{}", v); }
  std::string operator()(double v) const { return format_float(v); }
  std::string operator()(const std::string& v) const { return fmt::format("\"{}\"", v); }
  std::string operator()(const Dims& v) const { return fmt::format("[{}]", fmt::join(v, ", ")); }
  std::string operator()(DType v) const { return std::string(to_string(v)); }
  std::string operator()(const PartitionSpec& v) const { return fmt::format("<{}>", to_string(v)); }
  std::string operator()(const std::vector<PartitionSpec>& v) const {
    std::vector<std::string> out;
    for (const PartitionSpec& spec : v) out.push_back((*this)(spec));
    return fmt::format("[{}]", fmt::join(out, ", "));
  }
  std::string operator()(const std::vector<TensorType>& v) const {
    std::vector<std::string> out;
    for (const TensorType& type : v) out.push_back(to_string(type));
    return fmt::format("[{}]", fmt::join(out, ", "));
  }
  std::string operator()(const LiteralPtr& v) const {
    std::string out = to_string(v->type()) + "{";
    for (int64_t i = 0; i < v->size(); ++i) {
      if (i > 0) out += ", ";
      if (i == 8) return out + "…}";
      out += is_float(v->dtype()) ? format_float(v->as_double(i)) : fmt::format("{}", v->as_int(i));
    }
    return out + "}";
  }
};

size_t mix(size_t h, size_t v) { return h * 1000003 ^ v; }

struct Hasher {
  size_t operator()(bool v) const { return v; }
  size_t operator()(int64_t v) const { return static_cast<size_t>(v); }
  size_t operator()(double v) const { return std::hash<double>{}(v); }
  size_t operator()(const std::string& v) const { return std::hash<std::string>{}(v); }
  size_t operator()(const Dims& v) const {
    size_t h = v.size();
    for (const int64_t d : v) h = mix(h, static_cast<size_t>(d));
    return h;
  }
  size_t operator()(DType v) const { return static_cast<size_t>(v); }
  size_t operator()(const PartitionSpec& v) const { return (*this)(to_string(v)); }
  size_t operator()(const std::vector<PartitionSpec>& v) const {
    size_t h = v.size();
    for (const PartitionSpec& spec : v) h = mix(h, (*this)(spec));
    return h;
  }
  size_t operator()(const std::vector<TensorType>& v) const {
    size_t h = v.size();
    for (const TensorType& type : v) h = mix(mix(h, (*this)(type.dtype)), (*this)(type.dims));
    return h;
  }
  size_t operator()(const LiteralPtr& v) const {
    const std::span<const std::byte> bytes = v->bytes();
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return mix(mix((*this)(v->dtype()), (*this)(v->dims())), std::hash<std::string_view>{}(text));
  }
};

bool equal(const AttrValue& a, const AttrValue& b) {
  if (a.index() == b.index() && std::holds_alternative<LiteralPtr>(a)) {
    return *std::get<LiteralPtr>(a) == *std::get<LiteralPtr>(b);
  }
  return a == b;
}

template <class T>
const T& get(const Attrs& attrs, std::string_view name) {
  for (const auto& [key, value] : attrs.items()) {
    if (key == name) return std::get<T>(value);
  }
  throw Error(ErrorCode::internal, "an op lacks attribute '" + std::string(name) + "'");
}

}  // namespace

Attrs::Attrs() = default;
Attrs::Attrs(std::initializer_list<Item> items) : items_(items) {}
Attrs::Attrs(std::vector<Item> items) : items_(std::move(items)) {}
Attrs::Attrs(const Attrs&) = default;
Attrs::Attrs(Attrs&&) noexcept = default;
Attrs& Attrs::operator=(const Attrs&) = default;
Attrs& Attrs::operator=(Attrs&&) noexcept = default;
Attrs::~Attrs() = default;

void Attrs::add(std::string_view name, AttrValue value) { items_.emplace_back(name, std::move(value)); }

bool Attrs::flag(std::string_view name) const { return get<bool>(*this, name); }
int64_t Attrs::integer(std::string_view name) const { return get<int64_t>(*this, name); }
double Attrs::number(std::string_view name) const { return get<double>(*this, name); }
const std::string& Attrs::text(std::string_view name) const { return get<std::string>(*this, name); }
const Dims& Attrs::dims(std::string_view name) const { return get<Dims>(*this, name); }
DType Attrs::dtype(std::string_view name) const { return get<DType>(*this, name); }
const PartitionSpec& Attrs::spec(std::string_view name) const { return get<PartitionSpec>(*this, name); }
const std::vector<PartitionSpec>& Attrs::specs(std::string_view name) const {
  return get<std::vector<PartitionSpec>>(*this, name);
}
const std::vector<TensorType>& Attrs::types(std::string_view name) const {
  return get<std::vector<TensorType>>(*this, name);
}
const Literal& Attrs::literal(std::string_view name) const { return *get<LiteralPtr>(*this, name); }

bool Attrs::operator==(const Attrs& other) const {
  if (items_.size() != other.items_.size()) return false;
  for (size_t i = 0; i < items_.size(); ++i) {
    if (items_[i].first != other.items_[i].first || !equal(items_[i].second, other.items_[i].second)) return false;
  }
  return true;
}

size_t hash_value(const Attrs& attrs) {
  size_t h = 0;
  for (const auto& [name, value] : attrs.items()) {
    h = mix(mix(h, std::hash<std::string_view>{}(name)), std::visit(Hasher{}, value));
  }
  return h;
}

std::string to_string(const Attrs& attrs) {
  std::vector<std::string> out;
  for (const auto& [name, value] : attrs.items())
    out.push_back(fmt::format("{}={}", name, std::visit(Printer{}, value)));
  return fmt::format("{}", fmt::join(out, ", "));
}

}  // namespace tenon
