// How the dimensions of an array map to mesh axes: {"fsdp", "model"}, {{"data", "fsdp"}, {}}.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/result.h"

namespace tenon {

// The axes one dimension is split over, major to minor; none means not split.
struct Axis {
  Axis() = default;
  Axis(const char* name) : names{name} {}  // NOLINT: implicit by design
  Axis(std::initializer_list<const char*> list) : names(list.begin(), list.end()) {}
  explicit Axis(std::vector<std::string> list) : names(std::move(list)) {}
  std::vector<std::string> names;
  bool operator==(const Axis&) const = default;
};

// One Axis per dimension; dimensions past the end are not split. Empty: replicated.
class PartitionSpec {
 public:
  PartitionSpec() = default;
  PartitionSpec(std::initializer_list<Axis> dims) : dims_(dims) {}
  explicit PartitionSpec(std::vector<Axis> dims) : dims_(std::move(dims)) {}

  const std::vector<Axis>& dims() const { return dims_; }
  bool empty() const { return dims_.empty(); }
  // This spec with `count` unsplit dimensions put in front (a stack of layers).
  PartitionSpec stacked(int count = 1) const;
  bool operator==(const PartitionSpec&) const = default;

 private:
  std::vector<Axis> dims_;
};

// Of an array whose one dimension is dimension `d` of an array that is split as `spec`.
PartitionSpec axis_of(const PartitionSpec& spec, size_t d);

// "fsdp,model", "data+fsdp,-": dimensions by comma, axes of one dimension by plus, "-" for none.
std::string to_string(const PartitionSpec& spec);
Result<PartitionSpec> parse_partition_spec(std::string_view text);

}  // namespace tenon
