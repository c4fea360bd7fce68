#include "tenon/kernels/testing/block_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "tenon/base/error.h"
#include "tenon/base/text.h"

namespace tenon {
namespace {

using Block = MachineBlock;
using Blocks = std::vector<MachineBlock>;

using Operands = std::vector<const MachineBlock*>;

void round_to(const std::string& element, std::vector<double>& data) {
  if (element == "f32") {
    for (double& x : data) x = static_cast<double>(static_cast<float>(x));
  } else if (element == "bf16" || element == "f16") {
    const DType dtype = element == "f16" ? DType::f16 : DType::bf16;
    for (double& x : data) x = Literal::scalar(dtype, x).as_double(0);
  }
}

[[noreturn]] void fail(const MlirOp& op, const std::string& why) {
  throw Error(ErrorCode::invalid_argument, fmt::format("{}: {}", op.name, why));
}

Block filled(const BlockType& type, double value) {
  return {type.dims, std::vector<double>(static_cast<size_t>(num_elements(type.dims)), value), nullptr, nullptr};
}

template <class F>
Block elementwise(const MlirOp& op, const Operands& in, F f) {
  Block out = filled(op.result_types[0], 0);
  for (const Block* x : in) {
    if (x->dims != out.dims) fail(op, "shapes differ");
  }
  const std::vector<double>&a = in[0]->data, &b = in.back()->data;
  for (size_t i = 0; i < out.data.size(); ++i) out.data[i] = f(a[i], b[i]);
  round_to(op.result_types[0].element, out.data);
  return out;
}

bool compared(int64_t predicate, bool floats, double a, double b) {
  enum { kEqual, kLess, kLessEqual, kGreater, kGreaterEqual, kNone };
  constexpr int kIntegers[] = {kEqual, kNone, kLess, kLessEqual, kGreater, kGreaterEqual};
  constexpr int kFloats[] = {kNone, kEqual, kGreater, kGreaterEqual, kLess, kLessEqual};
  switch ((floats ? kFloats : kIntegers)[predicate]) {
    case kEqual:
      return a == b;
    case kLess:
      return a < b;
    case kLessEqual:
      return a <= b;
    case kGreater:
      return a > b;
    case kGreaterEqual:
      return a >= b;
    default:
      throw Error(ErrorCode::invalid_argument, "a comparison that isn't known");
  }
}

// Rows and columns from the first on.
Block corner(const MlirOp& op, const Block& x) {
  Block out = filled(op.result_types[0], 0);
  if (numbers_in(op.attribute("offsets")) != Dims{0, 0} || numbers_in(op.attribute("sizes")) != out.dims)
    fail(op, "not the corner of a block");
  for (int64_t i = 0; i < out.size(); ++i) {
    const int64_t from = i / out.dims[1] * x.dims[1] + i % out.dims[1];
    out.data[static_cast<size_t>(i)] = x.data[static_cast<size_t>(from)];
  }
  return out;
}

Block constant(const MlirOp& op) {
  std::string text = op.attribute("value");
  text = text.substr(0, text.find(" : "));
  if (text.starts_with("dense<")) text = text.substr(6, text.size() - 7);
  const double value = text == "true"         ? 1
                       : text == "false"      ? 0
                       : text == "0xFF800000" ? -INFINITY
                                              : parse_double(text).value();
  Block out = filled(op.result_types[0], value);
  round_to(op.result_types[0].element, out.data);
  return out;
}

// Dimensions of size 1 repeat.
Block broadcast(const MlirOp& op, const Block& x) {
  Block out = filled(op.result_types[0], 0);
  out.array = x.array;
  if (x.dims.empty()) {
    std::fill(out.data.begin(), out.data.end(), x.data[0]);
    return out;
  }
  if (x.dims.size() != 2 || out.dims.size() != 2) fail(op, "not of two dimensions");
  for (size_t d = 0; d < 2; ++d) {
    if (x.dims[d] != 1 && x.dims[d] != out.dims[d]) fail(op, "shapes don't fit");
  }
  for (int64_t r = 0; r < out.dims[0]; ++r) {
    for (int64_t c = 0; c < out.dims[1]; ++c) {
      const int64_t from = (x.dims[0] == 1 ? 0 : r) * x.dims[1] + (x.dims[1] == 1 ? 0 : c);
      out.data[static_cast<size_t>(r * out.dims[1] + c)] = x.data[static_cast<size_t>(from)];
    }
  }
  return out;
}

Block reshaped(const MlirOp& op, Block x) {
  if (num_elements(x.dims) != num_elements(op.result_types[0].dims)) fail(op, "sizes differ");
  x.dims = op.result_types[0].dims;
  return x;
}

Block transposed(const Block& x) {
  Block out{{x.dims[1], x.dims[0]}, std::vector<double>(x.data.size()), x.array, nullptr};
  for (int64_t r = 0; r < x.dims[0]; ++r) {
    for (int64_t c = 0; c < x.dims[1]; ++c)
      out.data[static_cast<size_t>(c * x.dims[0] + r)] = x.data[static_cast<size_t>(r * x.dims[1] + c)];
  }
  return out;
}

Block counting(const MlirOp& op, int64_t dim) {
  Block out = filled(op.result_types[0], 0);
  for (int64_t i = 0; i < out.size(); ++i)
    out.data[static_cast<size_t>(i)] = static_cast<double>(
        dim + 1 == static_cast<int64_t>(out.dims.size()) ? i % out.dims.back() : i / out.dims.back());
  return out;
}

int64_t address(const MlirOp& op, const Block& pointers, size_t i) {
  const auto at = static_cast<int64_t>(pointers.data[i]);
  if (at < 0 || at >= pointers.array->size()) fail(op, fmt::format("element {} of {}", at, pointers.array->size()));
  return at;
}
Block load(const MlirOp& op, const Block& pointers) {
  Block out = filled(op.result_types[0], 0);
  for (size_t i = 0; i < out.data.size(); ++i) out.data[i] = pointers.array->as_double(address(op, pointers, i));
  return out;
}
void store(const MlirOp& op, const Block& pointers, const Block& x) {
  for (size_t i = 0; i < x.data.size(); ++i) pointers.array->set(address(op, pointers, i), x.data[i]);
}

using Elementwise = double (*)(double, double);
const std::map<std::string, Elementwise, std::less<>>& elementwise_ops() {
  static const std::map<std::string, Elementwise, std::less<>> ops{
      {"arith.addf", [](double a, double b) { return a + b; }},
      {"arith.addi", [](double a, double b) { return a + b; }},
      {"arith.subf", [](double a, double b) { return a - b; }},
      {"arith.subi", [](double a, double b) { return a - b; }},
      {"arith.mulf", [](double a, double b) { return a * b; }},
      {"arith.muli", [](double a, double b) { return a * b; }},
      {"arith.divf", [](double a, double b) { return a / b; }},
      {"arith.divsi", [](double a, double b) { return std::trunc(a / b); }},
      {"arith.maxsi", [](double a, double b) { return std::max(a, b); }},
      {"arith.minsi", [](double a, double b) { return std::min(a, b); }},
      {"arith.maximumf", [](double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b); }},
      {"arith.andi", [](double a, double b) { return a != 0 && b != 0 ? 1.0 : 0.0; }},
      {"arith.extf", [](double a, double) { return a; }},
      {"arith.truncf", [](double a, double) { return a; }},
      {"arith.extsi", [](double a, double) { return a; }},
      {"arith.index_cast", [](double a, double) { return a; }},
      {"math.exp", [](double a, double) { return std::exp(a); }},
      {"math.log", [](double a, double) { return std::log(a); }},
      {"math.tanh", [](double a, double) { return std::tanh(a); }}};
  return ops;
}

}  // namespace

std::vector<MachineBlock> BlockMachine::run(const MlirRegion& region, std::vector<MachineBlock> arguments) {
  for (size_t i = 0; i < region.parameters.size(); ++i) values_[region.parameters[i]] = std::move(arguments.at(i));
  for (const MlirOp& op : region.ops) {
    Operands in;
    for (const std::string& name : op.operands) {
      const auto found = values_.find(name);
      if (found == values_.end()) fail(op, name + " isn't defined");
      in.push_back(&found->second);
    }
    if (&op == &region.ops.back()) {
      Blocks out;
      for (const Block* x : in) out.push_back(*x);
      return out;
    }
    Blocks out = step(op, in);
    for (size_t i = 0; i < op.results.size(); ++i) {
      if (out.at(i).dims != op.result_types[i].dims) fail(op, "gives another shape");
      values_[op.results[i]] = std::move(out[i]);
    }
  }
  return {};
}

std::vector<MachineBlock> BlockMachine::loop(const MlirOp& op, const Operands& in) {
  Blocks carried;
  for (size_t i = 3; i < in.size(); ++i) carried.push_back(*in[i]);
  const double begin = in[0]->data[0], end = in[1]->data[0], step_size = in[2]->data[0];
  for (double i = begin; i < end; i += step_size) {
    Blocks arguments{{{}, {i}, nullptr, nullptr}};
    arguments.insert(arguments.end(), carried.begin(), carried.end());
    carried = run(op.regions[0], std::move(arguments));
  }
  return carried;
}

MachineBlock BlockMachine::product(const MlirOp& op, const Operands& in, bool turned) {
  ++num_products;
  const Block &a = *in[0], b = turned ? transposed(*in[1]) : *in[1];
  Block out = *in[2];
  const int64_t rows = a.dims[0], inner = a.dims[1], columns = b.dims[1];
  if (b.dims[0] != inner || out.dims != Dims{rows, columns}) fail(op, "shapes don't fit");
  for (int64_t r = 0; r < rows; ++r) {
    double* to = &out.data[static_cast<size_t>(r * columns)];
    for (int64_t k = 0; k < inner; ++k) {
      const double x = a.data[static_cast<size_t>(r * inner + k)];
      const double* from = &b.data[static_cast<size_t>(k * columns)];
      for (int64_t c = 0; c < columns; ++c) to[c] += x * from[c];
    }
  }
  round_to("f32", out.data);
  return out;
}

MachineBlock BlockMachine::reduce(const MlirOp& op, const Block& x) {
  const bool largest = op.regions.empty() ? op.attribute("kind") == "#vector.kind<maximumf>"
                                          : op.regions[0].ops[0].name == "arith.maximumf";
  if (op.regions.empty() ? op.numbers("reduction_dims") != Dims{1} : op.integer("axis") != 1)
    fail(op, "not over columns");
  Block out = filled(op.result_types[0], largest ? -INFINITY : 0);
  for (int64_t i = 0; i < x.size(); ++i) {
    double& to = out.data[static_cast<size_t>(i / x.dims[1])];
    const double from = x.data[static_cast<size_t>(i)];
    to = !largest ? to + from : std::isnan(from) || std::isnan(to) ? NAN : std::max(to, from);
  }
  round_to("f32", out.data);
  return out;
}

std::vector<MachineBlock> BlockMachine::step(const MlirOp& op, const Operands& in) {
  std::string_view name = op.name;
  if (name.starts_with("stable_mosaic.")) name.remove_prefix(14);
  const auto& table = elementwise_ops();
  if (const auto found = table.find(name); found != table.end()) return {elementwise(op, in, found->second)};
  const auto one = [](Block b) { return Blocks{std::move(b)}; };
  if (name == "arith.constant") return one(constant(op));
  if (name == "arith.cmpi" || name == "arith.cmpf") {
    const int64_t predicate = op.integer("predicate");
    const bool floats = name == "arith.cmpf";
    return one(elementwise(op, in, [&](double a, double b) { return compared(predicate, floats, a, b) ? 1.0 : 0.0; }));
  }
  if (name == "arith.select") {
    Block out = *in[1];
    for (size_t i = 0; i < out.data.size(); ++i) out.data[i] = in[0]->data[i] != 0 ? in[1]->data[i] : in[2]->data[i];
    return one(out);
  }
  if (name == "scf.for") return loop(op, in);
  if (name == "scf.if") {
    run(op.regions[in[0]->data[0] != 0 ? 0 : 1], {});
    return {};
  }
  if (name == "tt.get_program_id")
    return one(filled(op.result_types[0], static_cast<double>(program.at(static_cast<size_t>(op.integer("axis"))))));
  if (name == "tt.make_range") return one(counting(op, 0));
  if (name == "tpu.iota") return one(counting(op, op.numbers("dimensions").at(0)));
  if (name == "tt.splat" || name == "tt.broadcast" || name == "vector.broadcast") return one(broadcast(op, *in[0]));
  if (name == "tt.expand_dims" || name == "tt.reshape" || name == "vector.shape_cast") return one(reshaped(op, *in[0]));
  if (name == "tt.addptr") {
    Block out = *in[0];
    for (size_t i = 0; i < out.data.size(); ++i) out.data[i] += in[1]->data[i];
    return one(out);
  }
  if (name == "tt.load") return one(load(op, *in[0]));
  if (name == "tt.store") {
    store(op, *in[0], *in[1]);
    return {};
  }
  if (name == "tt.trans" || name == "vector.transpose") return one(transposed(*in[0]));
  if (name == "vector.extract_strided_slice") return one(corner(op, *in[0]));
  if (name == "tt.reduce" || name == "vector.multi_reduction") return one(reduce(op, *in[0]));
  if (name == "tt.dot") return one(product(op, in, false));
  if (name == "tpu.matmul")
    return one(product(op, in, op.attribute("dimension_numbers").find("<[1], [1]") != std::string::npos));
  if (name == "vector.load") return one({in[0]->dims, *in[0]->memory, nullptr, nullptr});
  if (name == "tpu.vector_store") {
    if (in[0]->dims != in[1]->dims) fail(op, "shapes differ");
    *in[1]->memory = in[0]->data;
    return {};
  }
  if (name == "memref.load") {
    const auto at = static_cast<size_t>(in[1]->data[0]);
    if (at >= in[0]->memory->size()) fail(op, "outside of the array");
    return one({{}, {(*in[0]->memory)[at]}, nullptr, nullptr});
  }
  fail(op, "not known");
}

}  // namespace tenon
