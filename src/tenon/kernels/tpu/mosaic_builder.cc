#include "tenon/kernels/tpu/mosaic_builder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

namespace tenon {
namespace {

constexpr int kVersion = 11;  // of stable_mosaic

MosaicMemory memory(const std::string& element, const Dims& dims, const char* space) {
  const std::string type = fmt::format("memref<{}x{}, #tpu.memory_space<{}>>", fmt::join(dims, "x"), element, space);
  return {{"", {type}}, element, dims};
}

// The dimensions as blocks have them.
Dims block_dims(const Dims& dims) {
  size_t skip = 0;
  while (dims.size() - skip > 2 && dims[skip] == 1) ++skip;
  return {dims.begin() + static_cast<std::ptrdiff_t>(skip), dims.end()};
}

// Writes the functions of one kernel.
class ModuleWriter {
 public:
  explicit ModuleWriter(const MosaicKernel& kernel) : kernel_(kernel) {
    for (const int64_t length : kernel.prefetched) prefetched_.push_back(memory("i32", {length}, "smem"));
    for (const MosaicWindow& w : kernel.windows) windows_.push_back(memory(w.element, w.block, "vmem"));
    for (const BlockType& type : kernel.scratch) scratch_.push_back(memory(type.element, type.dims, "vmem"));
  }

  std::string write() {
    write_body();
    for (size_t i = 0; i < kernel_.windows.size(); ++i) write_window(i);
    return fmt::format("module attributes {{stable_mosaic.version = {} : i64}} {{\n{}}}\n", kVersion, b_.text());
  }

 private:
  std::vector<BlockType> place_types() const {
    std::vector<BlockType> types(kernel_.grid.size(), BlockType{"i32"});
    for (const MosaicMemory& m : prefetched_) types.push_back(m.value.type);
    return types;
  }
  MosaicPlace place(const BlockValues& arguments) {
    const auto first = arguments.begin(), end = first + static_cast<std::ptrdiff_t>(kernel_.grid.size());
    MosaicPlace out{{first, end}, prefetched_};
    bind(out.prefetched, arguments, kernel_.grid.size());
    return out;
  }
  static void bind(std::vector<MosaicMemory>& memories, const BlockValues& arguments, size_t first) {
    for (size_t i = 0; i < memories.size(); ++i) memories[i].value = arguments[first + i];
  }
  void function(const std::string& name, const std::vector<BlockType>& parameters, size_t num_results,
                const std::string& more, const std::string& inside) {
    std::vector<std::string> types;
    for (const BlockType& type : parameters) types.push_back(b_.name(type));
    b_.emit("func.func", {},
            fmt::format("sym_name = \"{}\", function_type = ({}) -> ({}){}", name, fmt::join(types, ", "),
                        fmt::join(std::vector<std::string>(num_results, "i32"), ", "), more),
            std::vector<BlockType>{}, {inside});
  }

  void write_body() {
    std::vector<BlockType> types = place_types();
    for (const std::vector<MosaicMemory>* list : {&windows_, &scratch_}) {
      for (const MosaicMemory& m : *list) types.push_back(m.value.type);
    }
    const std::string inside = b_.region(types, [&](const BlockValues& arguments) {
      const size_t first = kernel_.grid.size() + prefetched_.size();
      bind(windows_, arguments, first);
      bind(scratch_, arguments, first + windows_.size());
      kernel_.body(b_, place(arguments), windows_, scratch_);
      b_.emit("func.return", {}, "", std::vector<BlockType>{}, {});
    });
    std::vector<std::string> semantics, windows;
    for (size_t i = 0; i < kernel_.grid.size(); ++i) {
      semantics.push_back(fmt::format("#tpu.dimension_semantics<{}>",
                                      static_cast<int64_t>(i) < kernel_.num_parallel ? "parallel" : "arbitrary"));
    }
    for (size_t i = 0; i < windows_.size(); ++i) {
      windows.push_back(fmt::format("{{transform_indices = @window_{}, window_bounds = array<i64: {}>}}", i,
                                    fmt::join(windows_[i].dims, ", ")));
    }
    function(kernel_.name, types, 0,
             fmt::format(", dimension_semantics = [{}], iteration_bounds = array<i64: {}>, scalar_prefetch = {} : i64, "
                         "scratch_operands = {} : i64, tpu.core_type = #tpu.core_type<tc>, window_params = [{}]",
                         fmt::join(semantics, ", "), fmt::join(kernel_.grid, ", "), prefetched_.size(), scratch_.size(),
                         fmt::join(windows, ", ")),
             inside);
  }

  void write_window(size_t index) {
    const std::vector<BlockType> types = place_types();
    const std::string inside = b_.region(types, [&](const BlockValues& arguments) {
      b_.emit("func.return", kernel_.windows[index].at(b_, place(arguments)), "", std::vector<BlockType>{}, {});
    });
    function(fmt::format("window_{}", index), types, windows_[index].dims.size(), "", inside);
  }

  const MosaicKernel& kernel_;
  std::vector<MosaicMemory> prefetched_, windows_, scratch_;
  MosaicBuilder b_;
};

}  // namespace

std::string mosaic_module(const MosaicKernel& kernel) { return ModuleWriter(kernel).write(); }

BlockValues MosaicBuilder::origin(size_t rank) {
  BlockValues out;
  for (size_t i = 0; i < rank; ++i) out.push_back(constant({"index"}, 0));
  return out;
}
BlockValue MosaicBuilder::reshape(const BlockValue& x, const Dims& dims) {
  if (x.type.dims == dims) return x;
  return emit("vector.shape_cast", {x}, "", {x.type.element, dims});
}

BlockValue MosaicBuilder::load(const MosaicMemory& memory) {
  BlockValues operands = origin(memory.dims.size());
  operands.insert(operands.begin(), memory.value);
  return reshape(emit("vector.load", operands, "", {memory.element, memory.dims}), block_dims(memory.dims));
}
void MosaicBuilder::store(const MosaicMemory& memory, const BlockValue& block) {
  BlockValues operands = origin(memory.dims.size());
  operands.insert(operands.begin(), {reshape(block, memory.dims), memory.value});
  emit("tpu.vector_store", operands,
       fmt::format("add = false, operandSegmentSizes = array<i32: 1, 1, {}, 0>, strides = array<i32>",
                   memory.dims.size()),
       std::vector<BlockType>{}, {});
}
BlockValue MosaicBuilder::scalar(const MosaicMemory& memory, const BlockValue& index) {
  const BlockValue at = emit("arith.index_cast", {index}, "", {"index"});
  return emit("memref.load", {memory.value, at}, "", {memory.element});
}
BlockValue MosaicBuilder::turned(const BlockValue& x) {
  const bool row = x.type.dims[0] == 1;
  const int64_t n = x.type.dims[row ? 1 : 0];
  const BlockValue block = broadcast(x, row ? Dims{kLanes, n} : Dims{n, kLanes});
  const BlockValue across = emit("vector.transpose", {block}, "permutation = array<i64: 1, 0>",
                                 {x.type.element, row ? Dims{n, kLanes} : Dims{kLanes, n}});
  const Dims dims = row ? Dims{n, 1} : Dims{1, n};
  return emit("vector.extract_strided_slice", {across},
              fmt::format("offsets = [0, 0], sizes = [{}, {}], strides = [1, 1]", dims[0], dims[1]),
              {x.type.element, dims});
}
BlockValue MosaicBuilder::places(const Dims& dims, int64_t dim) {
  return emit("tpu.iota", {}, fmt::format("dimensions = array<i32: {}>", dim), {"i32", dims});
}
void MosaicBuilder::if_then(const BlockValue& condition, const std::function<void()>& body) {
  const auto ending_with_yield = [&](const std::function<void()>& inside) {
    return region({}, [&](const BlockValues&) {
      if (inside) inside();
      emit("scf.yield", {}, "", std::vector<BlockType>{}, {});
    });
  };
  const std::string then = ending_with_yield(body), otherwise = ending_with_yield({});
  emit("scf.if", {condition}, "", std::vector<BlockType>{}, {then, otherwise});
}

BlockValue MosaicBuilder::tanh(const BlockValue& x) { return emit("math.tanh", {x}, attribute_of_floats(), x.type); }
BlockValue MosaicBuilder::broadcast(const BlockValue& x, const Dims& dims) {
  if (x.type.dims == dims) return x;
  return emit("vector.broadcast", {x}, "", {x.type.element, dims});
}

BlockValue MosaicBuilder::reduce(const BlockValue& x, const char* kind, double start) {
  const int64_t rows = x.type.dims[0];
  const BlockValue init = constant({x.type.element, {rows}}, start);
  const BlockValue out = emit("vector.multi_reduction", {x, init},
                              fmt::format("kind = #vector.kind<{}>, reduction_dims = array<i64: 1>", kind), init.type);
  return reshape(out, {rows, 1});
}
BlockValue MosaicBuilder::row_max(const BlockValue& x) { return reduce(x, "maximumf", -INFINITY); }
BlockValue MosaicBuilder::row_sum(const BlockValue& x) { return reduce(x, "add", 0); }

// `dimensions`: contracted and free dimensions of both sides, then where those of the result come from.
BlockValue MosaicBuilder::product(const BlockValue& a, const BlockValue& b, const BlockValue& acc,
                                  const char* dimensions) {
  const bool exact = a.type.element == "f32";
  return emit("tpu.matmul", {a, b, acc},
              fmt::format("dimension_numbers = #tpu.dot_dimension_numbers<{}, [], []>{}, transpose_lhs = false, "
                          "transpose_rhs = false",
                          dimensions, exact ? ", precision = #tpu.contract_precision<fp32>" : ""),
              acc.type);
}
BlockValue MosaicBuilder::dot(const BlockValue& a, const BlockValue& b, const BlockValue& acc) {
  return product(a, b, acc, "[1], [0], [0], [1], [0, 0, 1, 1]");
}
BlockValue MosaicBuilder::dot_transposed(const BlockValue& a, const BlockValue& b) {
  return product(a, b, constant({"f32", {a.type.dims[0], b.type.dims[0]}}, 0), "[1], [1], [0], [0], [0, 0, 1, 0]");
}

}  // namespace tenon
