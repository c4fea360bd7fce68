#include "tenon/base/partition_spec.h"

#include <set>

#include "tenon/base/text.h"

namespace tenon {
namespace {

bool is_axis_name(std::string_view name) {
  for (const char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    if (!letter && !(c >= '0' && c <= '9')) return false;
  }
  return !name.empty() && !(name.front() >= '0' && name.front() <= '9');
}

Error bad_spec(std::string_view text, const std::string& why) {
  return Error(ErrorCode::invalid_argument, "not a partition spec: " + why)
      .got("\"" + std::string(text) + "\"")
      .expected("dimensions by comma, axes of one dimension by plus, - for none, as in \"data+fsdp,-,model\"");
}

}  // namespace

PartitionSpec PartitionSpec::stacked(int count) const {
  check(count >= 0, "a stack of layers has a count of at least 0");
  std::vector<Axis> dims(static_cast<size_t>(count));
  dims.insert(dims.end(), dims_.begin(), dims_.end());
  return PartitionSpec(std::move(dims));
}

PartitionSpec axis_of(const PartitionSpec& spec, size_t d) {
  return d < spec.dims().size() ? PartitionSpec{spec.dims()[d]} : PartitionSpec();
}

std::string to_string(const PartitionSpec& spec) {
  std::vector<std::string> dims;
  for (const Axis& axis : spec.dims()) dims.push_back(axis.names.empty() ? "-" : join(axis.names, "+"));
  return join(dims, ",");
}

Result<PartitionSpec> parse_partition_spec(std::string_view text) {
  if (text.empty()) return PartitionSpec();
  std::vector<Axis> dims;
  std::set<std::string> seen;
  for (const std::string& dim : split(text, ',')) {
    Axis axis;
    if (dim != "-") axis.names = split(dim, '+');
    for (const std::string& name : axis.names) {
      if (!is_axis_name(name)) return bad_spec(text, "\"" + name + "\" is not an axis name");
      if (!seen.insert(name).second) return bad_spec(text, "the axis \"" + name + "\" is used twice");
    }
    dims.push_back(std::move(axis));
  }
  return PartitionSpec(std::move(dims));
}

}  // namespace tenon
