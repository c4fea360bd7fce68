#include "tenon/kernels/cuda/triton_builder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tenon {
namespace {

// How f32 is multiplied: in three products of TF32, about as exact as f32 itself.
constexpr int kTf32x3 = 1, kTf32 = 0;

std::string element_of(const BlockValue& pointer) {
  const std::string& text = pointer.type.element;  // !tt.ptr<f32>
  const size_t open = text.find('<');
  return text.substr(open + 1, text.size() - open - 2);
}

}  // namespace

BlockValue TritonBuilder::program(int axis) {
  return emit("tt.get_program_id", {}, fmt::format("axis = {} : i32", axis), {"i32"});
}
BlockValue TritonBuilder::range(const BlockValue& start, int64_t count) {
  const BlockValue places =
      emit("tt.make_range", {}, fmt::format("start = 0 : i32, end = {} : i32", count), {"i32", {count}});
  return add(places, splat(start, {count}));
}
BlockValue TritonBuilder::splat(const BlockValue& x, const Dims& dims) {
  return emit("tt.splat", {x}, "", {x.type.element, dims});
}
BlockValue TritonBuilder::expand(const BlockValue& x, int axis) {
  Dims dims = x.type.dims;
  dims.insert(dims.begin() + axis, 1);
  return emit("tt.expand_dims", {x}, fmt::format("axis = {} : i32", axis), {x.type.element, dims});
}
BlockValue TritonBuilder::wide(const BlockValue& x) { return emit("arith.extsi", {x}, "", {"i64", x.type.dims}); }
BlockValue TritonBuilder::move(const BlockValue& pointer, const BlockValue& offset) {
  return emit("tt.addptr", {pointer, offset}, "", pointer.type);
}

// Of the elements of a row-major block.
BlockValue TritonBuilder::pointers(const BlockValue& pointer, const Dims& dims) {
  BlockValue offset = range(integer(0), dims.back());
  if (dims.size() == 2) {
    const BlockValue rows = column(range(integer(0), dims[0]));
    offset = add(broadcast(mul(rows, like(rows, static_cast<double>(dims[1]))), dims), broadcast(row(offset), dims));
  }
  return move(splat(pointer, dims), offset);
}
BlockValue TritonBuilder::load_at(const BlockValue& pointers, const std::string& element) {
  return emit("tt.load", {pointers},
              "boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32, isVolatile = false, "
              "operandSegmentSizes = array<i32: 1, 0, 0>",
              {element, pointers.type.dims});
}
BlockValue TritonBuilder::load(const BlockValue& pointer) { return load_at(pointer, element_of(pointer)); }
BlockValue TritonBuilder::load(const BlockValue& pointer, const Dims& dims) {
  return load_at(pointers(pointer, dims), element_of(pointer));
}
void TritonBuilder::store(const BlockValue& pointer, const BlockValue& block) {
  emit("tt.store", {pointers(pointer, block.type.dims), block},
       "boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32", std::vector<BlockType>{}, {});
}
BlockValue TritonBuilder::flat(const BlockValue& column) {
  return emit("tt.reshape", {column}, "", {column.type.element, {column.type.dims[0]}});
}

BlockValues TritonBuilder::loop(const BlockValue& begin, const BlockValue& end, const BlockValues& carried,
                                const std::function<BlockValues(const BlockValue&, const BlockValues&)>& body) {
  BlockValues operands{begin, end, integer(1)};
  std::vector<BlockType> types;
  for (const BlockValue& v : carried) {
    operands.push_back(v);
    types.push_back(v.type);
  }
  std::vector<BlockType> parameters = types;
  parameters.insert(parameters.begin(), begin.type);
  const std::string inside = region(parameters, [&](const BlockValues& p) {
    emit("scf.yield", body(p[0], {p.begin() + 1, p.end()}), "", std::vector<BlockType>{}, {});
  });
  return emit("scf.for", operands, "", types, {inside});
}

// 1 - 2 / (exp(2 x) + 1): Triton has none of its own. Exact to the rounding of 1, at both ends too.
BlockValue TritonBuilder::tanh(const BlockValue& x) {
  const BlockValue one = like(x, 1), two = like(x, 2);
  return sub(one, div(two, add(exp(mul(two, x)), one)));
}
BlockValue TritonBuilder::broadcast(const BlockValue& x, const Dims& dims) {
  if (x.type.dims == dims) return x;
  return emit("tt.broadcast", {x}, "", {x.type.element, dims});
}

BlockValue TritonBuilder::reduce(const BlockValue& x, bool largest) {
  const BlockType one{x.type.element};
  const std::string combine = region({one, one}, [&](const BlockValues& p) {
    emit("tt.reduce.return", {largest ? max(p[0], p[1]) : add(p[0], p[1])}, "", std::vector<BlockType>{}, {});
  });
  const BlockType rows{x.type.element, {x.type.dims[0]}};
  return column(emit("tt.reduce", {x}, "axis = 1 : i32", std::vector<BlockType>{rows}, {combine})[0]);
}
BlockValue TritonBuilder::row_max(const BlockValue& x) { return reduce(x, true); }
BlockValue TritonBuilder::row_sum(const BlockValue& x) { return reduce(x, false); }

BlockValue TritonBuilder::dot(const BlockValue& a, const BlockValue& b, const BlockValue& acc) {
  return emit(
      "tt.dot", {a, b, acc},
      fmt::format("inputPrecision = {} : i32, maxNumImpreciseAcc = 0 : i32", a.type.element == "f32" ? kTf32x3 : kTf32),
      acc.type);
}
BlockValue TritonBuilder::dot_transposed(const BlockValue& a, const BlockValue& b) {
  const Dims& d = b.type.dims;
  const BlockValue turned = emit("tt.trans", {b}, "order = array<i32: 1, 0>", {b.type.element, {d[1], d[0]}});
  return dot(a, turned, constant({"f32", {a.type.dims[0], d[0]}}, 0));
}

std::string triton_module(TritonBuilder& b, const std::string& name, const std::vector<std::string>& elements,
                          const std::function<void(const BlockValues&)>& body) {
  std::vector<BlockType> parameters;
  std::vector<std::string> types;
  for (const std::string& element : elements) {
    types.push_back(fmt::format("!tt.ptr<{}>", element));
    parameters.push_back({types.back()});
  }
  const std::string inside = b.region(parameters, [&](const BlockValues& arguments) {
    body(arguments);
    b.emit("tt.return", {}, "", std::vector<BlockType>{}, {});
  });
  // XLA gives arrays at multiples of 16 bytes at least, which lets loads be wide.
  std::vector<std::string> aligned(elements.size(), "{tt.divisibility = 16 : i32}");
  b.emit("tt.func", {},
         fmt::format("sym_name = \"{}\", function_type = ({}) -> (), arg_attrs = [{}]", name, fmt::join(types, ", "),
                     fmt::join(aligned, ", ")),
         std::vector<BlockType>{}, {inside});
  return "module {\n" + b.text() + "}\n";
}

}  // namespace tenon
