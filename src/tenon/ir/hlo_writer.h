// Writes StableHLO text op by op: names, types, lines. Module-level emission is in tenon/stablehlo.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "tenon/base/mesh.h"
#include "tenon/ir/trace.h"

namespace tenon {

// "tensor<2x3xf32>".
std::string hlo_type(const TensorType& type);
// "dense<…> : tensor<…>", every element exactly.
std::string hlo_dense(const Literal& value);
// "[1, 2]".
std::string hlo_list(const Dims& values);
// `[{"fsdp"}, {}]`: the axes of `spec` that have more than one device in `mesh`, for an array of `rank` dimensions.
std::string hlo_spec(const PartitionSpec& spec, int64_t rank, const Mesh& mesh);

class HloWriter {
 public:
  // `mesh` is null on one device: sharding annotations are then left out.
  HloWriter(const Trace& trace, const Mesh* mesh, bool locations) : trace_(trace), mesh_(mesh), locations_(locations) {}

  const Trace& trace() const { return trace_; }
  const Mesh* mesh() const { return mesh_; }
  const TensorType& type(ValueId v) const { return trace_.value(v).type; }
  // "tensor<…>" of a value.
  std::string type_text(ValueId v) const { return hlo_type(type(v)); }
  // "%7", or "%7#1" for one of several results.
  const std::string& name(ValueId v) const;
  // "%1, %2".
  std::string names(const std::vector<ValueId>& values) const;
  // "tensor<…>, tensor<…>".
  std::string types(const std::vector<ValueId>& values) const;
  // "(tensor<…>, tensor<…>) -> tensor<…>" of an op.
  std::string signature(const OpInfo& op) const;
  // "%1: tensor<…>, %2: tensor<…>" as region arguments.
  std::string typed_names(const std::vector<ValueId>& values) const;

  // A name nothing else has.
  std::string fresh();
  // A number no other collective of the program has.
  int64_t fresh_channel() { return ++channels_; }
  void bind(ValueId v, std::string name) { names_[v] = std::move(name); }
  // Names the results of `op` and writes "%n = text loc(…)".
  void define(const OpInfo& op, const std::string& text);
  // One line at the current depth.
  void line(const std::string& text);
  void indent(int by) { depth_ += by; }
  // The ops of a region, without its terminator.
  void body(RegionId region);
  // The same where `op` stands: the region's parameters are its operands, the results its results.
  void body_in_place(const OpInfo& op, RegionId region);
  std::string take() { return std::move(text_); }
  // ` loc("path")`, or nothing.
  std::string location(const OpInfo& op) const;

 private:
  const Trace& trace_;
  const Mesh* mesh_;
  bool locations_;
  int depth_ = 1;
  int64_t next_ = 0, channels_ = 0;
  std::string text_;
  std::unordered_map<ValueId, std::string> names_;
};

}  // namespace tenon
