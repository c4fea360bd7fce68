// What the loops of pipelines share.
#pragma once

#include <cstdint>
#include <vector>

#include "tenon/base/mesh.h"
#include "tenon/ir/trace.h"

namespace tenon {

struct PipelineConfig;

inline constexpr const char* kPipelineAxis = "pipeline";

// Throws `mesh_mismatch` when so many rows aren't microbatches that divide over the program's mesh, as batches do.
void check_microbatches(int64_t rows, int64_t microbatches);
// Throws `mesh_mismatch` when layers don't divide or microbatches are too few, `unsupported` inside a manual region.
void check_pipeline(const Mesh& mesh, const PipelineConfig& config, int64_t num_layers);

// `x` (i32) moved into 0 … last.
Tensor clamped(const Tensor& x, int64_t last);
// One of two arrays by a scalar i1.
Tensor choose(const Tensor& condition, const Tensor& yes, const Tensor& no);

// [L, …] -> [parts…, layers, …]: L layers in parts that follow one another, `parts` {stages} or {rounds, stages}.
Tensor split_layers(const Tensor& x, const Dims& parts);
// [parts…, M, layers, …], where the first `num_parts` dimensions are parts, -> [M, L, …].
Tensor by_microbatch(const Tensor& x, int64_t num_parts);

// `count` of `x`'s entries along its first dimension, from `start` (i32) on.
Tensor entries_from(const Tensor& x, const Tensor& start, int64_t count);

// Each of `to` in the place of the value beside it.
ValueMap mapped(const std::vector<ValueId>& from, const std::vector<Tensor>& to);

// A closed region of the trace, that it may use values from outside of; run again elsewhere on others in their place.
class Repeatable {
 public:
  Repeatable(Trace& trace, RegionId region) : trace_(trace), region_(region), outside_(captures(trace, region)) {}
  const std::vector<ValueId>& outside() const { return outside_; }
  size_t num_results() const { return trace_.region(region_).results.size(); }
  // Its results here, on `args`; values from outside are as `outside` maps them.
  std::vector<Tensor> operator()(const std::vector<Tensor>& args, const ValueMap& outside) const;

 private:
  Trace& trace_;
  RegionId region_;
  std::vector<ValueId> outside_;
};

}  // namespace tenon
