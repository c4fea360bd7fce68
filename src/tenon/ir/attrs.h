// The static attributes of an op: a short list of named values, compared and printed without knowing the op.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/base/literal.h"
#include "tenon/base/partition_spec.h"

namespace tenon {

using LiteralPtr = std::shared_ptr<const Literal>;
using AttrValue = std::variant<bool, int64_t, double, std::string, Dims, DType, PartitionSpec, LiteralPtr,
                               std::vector<PartitionSpec>, std::vector<TensorType>>;

class Attrs {
 public:
  Attrs() = default;
  // Names, here and in `add`, must be string literals: they are kept by reference.
  Attrs(std::initializer_list<std::pair<std::string_view, AttrValue>> items) : items_(items) {}
  explicit Attrs(std::vector<std::pair<std::string_view, AttrValue>> items) : items_(std::move(items)) {}

  void add(std::string_view name, AttrValue value) { items_.emplace_back(name, std::move(value)); }

  bool flag(std::string_view name) const { return get<bool>(name); }
  int64_t integer(std::string_view name) const { return get<int64_t>(name); }
  double number(std::string_view name) const { return get<double>(name); }
  const std::string& text(std::string_view name) const { return get<std::string>(name); }
  const Dims& dims(std::string_view name) const { return get<Dims>(name); }
  DType dtype(std::string_view name) const { return get<DType>(name); }
  const PartitionSpec& spec(std::string_view name) const { return get<PartitionSpec>(name); }
  const std::vector<PartitionSpec>& specs(std::string_view name) const { return get<std::vector<PartitionSpec>>(name); }
  const std::vector<TensorType>& types(std::string_view name) const { return get<std::vector<TensorType>>(name); }
  const Literal& literal(std::string_view name) const { return *get<LiteralPtr>(name); }

  const std::vector<std::pair<std::string_view, AttrValue>>& items() const { return items_; }
  // Literals compare by value.
  bool operator==(const Attrs& other) const;

 private:
  template <class T>
  const T& get(std::string_view name) const {
    for (const auto& [key, value] : items_) {
      if (key == name) return std::get<T>(value);
    }
    throw Error(ErrorCode::internal, "an op lacks attribute '" + std::string(name) + "'");
  }
  std::vector<std::pair<std::string_view, AttrValue>> items_;
};

// The same for equal attributes.
size_t hash_value(const Attrs& attrs);

// "dims=[0, 1], dtype=f32".
std::string to_string(const Attrs& attrs);

}  // namespace tenon
