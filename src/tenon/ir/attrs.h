// The static attributes of an op: a short list of named values, compared and printed without knowing the op.
#pragma once

#include <initializer_list>
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

// All of it is defined in attrs.cc: most files include this, and compiling the variant's members in each takes long.
class Attrs {
 public:
  using Item = std::pair<std::string_view, AttrValue>;

  Attrs();
  // Names, here and in `add`, must be string literals: they are kept by reference.
  Attrs(std::initializer_list<Item> items);
  explicit Attrs(std::vector<Item> items);
  Attrs(const Attrs&);
  Attrs(Attrs&&) noexcept;
  Attrs& operator=(const Attrs&);
  Attrs& operator=(Attrs&&) noexcept;
  ~Attrs();

  void add(std::string_view name, AttrValue value);

  bool flag(std::string_view name) const;
  int64_t integer(std::string_view name) const;
  double number(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  const Dims& dims(std::string_view name) const;
  DType dtype(std::string_view name) const;
  const PartitionSpec& spec(std::string_view name) const;
  const std::vector<PartitionSpec>& specs(std::string_view name) const;
  const std::vector<TensorType>& types(std::string_view name) const;
  const Literal& literal(std::string_view name) const;

  const std::vector<Item>& items() const { return items_; }
  // Literals compare by value.
  bool operator==(const Attrs& other) const;

 private:
  std::vector<Item> items_;
};

// The same for equal attributes.
size_t hash_value(const Attrs& attrs);

// "dims=[0, 1], dtype=f32".
std::string to_string(const Attrs& attrs);

}  // namespace tenon
