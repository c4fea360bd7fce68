// What every op refuses: the error's code, the op's name in its message, the module path.
#include <gmock/gmock.h>

#include <limits>
#include <set>

#include "tenon/ir/op_def.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/testing/errors.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;
using Tensors = std::vector<Tensor>;

Tensor f32(Dims dims) { return zeros({DType::f32, std::move(dims)}); }
Tensor i32(Dims dims) { return zeros({DType::i32, std::move(dims)}); }
Tensor u32(Dims dims) { return zeros({DType::u32, std::move(dims)}); }
Tensor i1(Dims dims) { return zeros({DType::i1, std::move(dims)}); }

// `body` traced inside the module "decoder.ffn".
std::optional<Error> error_in_module(const std::function<void()>& body) {
  return error_of([&] {
    make_graph({}, [&](const Tensors&) -> Tensors {
      current_trace().set_path("decoder.ffn");
      body();
      return {};
    });
  });
}

RegionId region_of(std::vector<TensorType> params, const TensorFn& body) {
  return trace_region(current_trace(), params, body);
}
RegionId identity(std::vector<TensorType> params) {
  return region_of(std::move(params), [](const Tensors& p) { return p; });
}

struct Refusal {
  std::string op;
  std::function<void()> build;
};

using Unary = Tensor (*)(const Tensor&);
using Binary = Tensor (*)(const Tensor&, const Tensor&);

void add_elementwise(std::vector<Refusal>& out) {
  const std::pair<const char*, Unary> floats_only[] = {
      {"exp", exp},     {"expm1", expm1},
      {"log", log},     {"log1p", log1p},
      {"sqrt", sqrt},   {"rsqrt", rsqrt},
      {"tanh", tanh},   {"logistic", logistic},
      {"sin", sin},     {"cos", cos},
      {"floor", floor}, {"is_finite", is_finite},
      {"ceil", ceil},   {"round_nearest_even", round_nearest_even},
      {"erf", erf},
  };
  for (const auto& [name, fn] : floats_only) {
    out.push_back({name, [f = fn] { f(i32({2})); }});
    out.push_back({name, [f = fn] { f(i1({2})); }});
  }
  out.push_back({"neg", [] { neg(i1({2})); }});
  out.push_back({"popcnt", [] { popcnt(f32({2})); }});
  out.push_back({"popcnt", [] { popcnt(i1({2})); }});
  out.push_back({"reduce_precision", [] { reduce_precision(i32({2}), 5, 10); }});
  out.push_back({"reduce_precision", [] { reduce_precision(f32({2}), 0, 10); }});
  out.push_back({"reduce_precision", [] { reduce_precision(f32({2}), 5, -1); }});
  out.push_back({"atan2", [] { atan2(i32({2}), i32({2})); }});
  out.push_back({"shift_right_arithmetic", [] { shift_right_arithmetic(f32({2}), f32({2})); }});
  out.push_back({"shift_right_arithmetic", [] { shift_right_arithmetic(i1({2}), i1({2})); }});
  out.push_back({"clamp", [] { clamp(f32({2}), f32({}), f32({2})); }});
  out.push_back({"clamp", [] { clamp(f32({2}), f32({2}), i32({2})); }});
  out.push_back({"clamp", [] { clamp(i1({2}), i1({2}), i1({2})); }});
  out.push_back({"abs", [] { abs(i1({2})); }});
  out.push_back({"abs", [] { abs(u32({2})); }});
  out.push_back({"sign", [] { sign(i1({2})); }});
  out.push_back({"sign", [] { sign(u32({2})); }});
  out.push_back({"not", [] { logical_not(f32({2})); }});
  const std::pair<const char*, Binary> numbers[] = {{"add", add}, {"sub", sub}, {"mul", mul},
                                                    {"div", div}, {"rem", rem}, {"pow", pow}};
  const std::pair<const char*, Binary> any[] = {{"maximum", maximum}, {"minimum", minimum}, {"compare", less}};
  const std::pair<const char*, Binary> bits[] = {{"and", logical_and}, {"or", logical_or}, {"xor", logical_xor}};
  const std::pair<const char*, Binary> ints[] = {{"shift_left", shift_left},
                                                 {"shift_right_logical", shift_right_logical}};
  const auto mixed = [&](const char* name, Binary fn) {
    out.push_back({name, [=] { fn(i32({2}), i32({3})); }});
    out.push_back({name, [=] { fn(i32({1}), i32({2})); }});  // no broadcasting
    out.push_back({name, [=] { fn(i32({2}), f32({2})); }});  // no promotion
  };
  for (const auto& [name, fn] : numbers) mixed(name, fn), out.push_back({name, [f = fn] { f(i1({2}), i1({2})); }});
  for (const auto& [name, fn] : any) mixed(name, fn);
  for (const auto& [name, fn] : bits) mixed(name, fn), out.push_back({name, [f = fn] { f(f32({2}), f32({2})); }});
  for (const auto& [name, fn] : ints) mixed(name, fn), out.push_back({name, [f = fn] { f(i1({2}), i1({2})); }});
  out.push_back({"select", [] { select(i32({2}), f32({2}), f32({2})); }});
  out.push_back({"select", [] { select(i1({}), f32({2}), f32({2})); }});
  out.push_back({"select", [] { select(i1({2}), f32({2}), i32({2})); }});
  out.push_back({"bitcast", [] { bitcast(f32({2}), DType::i8); }});
  out.push_back({"bitcast", [] { bitcast(zeros({DType::i8, {2}}), DType::i1); }});
}

void add_gather(std::vector<Refusal>& out) {
  struct Bad {
    Dims indices;
    GatherDims dims;
    Dims sizes, updates;
  };
  const Bad bad[] = {
      {{2, 2}, {{}, {0, 1}, {}, {}, {0}}, {1, 1}, {2}},     // two components for one dimension
      {{2, 1}, {{}, {0, 1}, {}, {}, {2}}, {1, 1}, {2}},     // no such dimension
      {{2, 2}, {{}, {0, 1}, {}, {}, {1, 1}}, {1, 1}, {2}},  // a dimension twice
      {{2, 1}, {{1}, {0}, {}, {}, {0}}, {1, 5}, {2, 5}},    // wider than the array
      {{2, 1}, {{2}, {0}, {}, {}, {0}}, {1, 2}, {2, 2}},    // the window is nowhere
      {{2, 1}, {{}, {0}, {}, {}, {0}}, {1, 1}, {2}},        // what of dimension 1?
      {{2, 1}, {{}, {1}, {0}, {0}, {1}}, {1, 1}, {2}},      // batches of 3 and 2
      {{3, 1}, {{}, {1}, {0}, {}, {1}}, {1, 1}, {3}},       // batch of the operand only
      {{3, 1}, {{}, {1}, {0}, {1}, {1}}, {1, 1}, {3}},      // the vector as a batch
  };
  for (const Bad& b : bad) {
    out.push_back({"gather", [b] { gather(f32({3, 4}), i32(b.indices), b.dims, b.sizes); }});
    out.push_back({"scatter_add", [b] { scatter_add(f32({3, 4}), i32(b.indices), f32(b.updates), b.dims); }});
    out.push_back({"scatter_set", [b] { scatter_set(f32({3, 4}), i32(b.indices), f32(b.updates), b.dims); }});
    out.push_back({"scatter_max", [b] { scatter_max(f32({3, 4}), i32(b.indices), f32(b.updates), b.dims); }});
    out.push_back({"scatter_min", [b] { scatter_min(f32({3, 4}), i32(b.indices), f32(b.updates), b.dims); }});
  }
  const GatherDims rows{{1}, {0}, {}, {}, {0}};
  out.push_back({"gather", [=] { gather(f32({3, 4}), u32({2, 1}), rows, {1, 4}); }});
  out.push_back({"gather", [=] { gather(f32({3, 4}), i32({}), rows, {1, 4}); }});
  out.push_back({"gather", [=] { gather(f32({3, 4}), i32({2, 1}), rows, {2, 4}); }});
  out.push_back({"gather", [=] { gather(f32({3, 4}), i32({2, 1}), rows, {4}); }});
  out.push_back({"scatter_add", [=] { scatter_add(i1({3, 4}), i32({2, 1}), i1({2, 4}), rows); }});
  out.push_back({"scatter_set", [=] { scatter_set(f32({3, 4}), i32({2, 1}), i32({2, 4}), rows); }});
  out.push_back({"scatter_set", [=] { scatter_set(f32({3, 4}), i32({2, 1}), f32({3, 4}), rows); }});
}

void add_shape(std::vector<Refusal>& out) {
  const auto refuse = [&](const char* op, std::function<void()> build) { out.push_back({op, std::move(build)}); };
  refuse("iota", [] { iota({DType::i32, {2}}, 1); });
  refuse("iota", [] { iota({DType::i32, {}}, 0); });
  refuse("iota", [] { iota({DType::i1, {2}}, 0); });
  refuse("broadcast_in_dim", [] { broadcast_in_dim(f32({2}), {3}, {0}); });
  refuse("broadcast_in_dim", [] { broadcast_in_dim(f32({2}), {2, 3}, {1, 0}); });
  refuse("broadcast_in_dim", [] { broadcast_in_dim(f32({2, 2}), {2, 2}, {0, 0}); });
  refuse("broadcast_in_dim", [] { broadcast_in_dim(f32({2}), {2}, {1}); });
  refuse("reshape", [] { reshape(f32({2, 3}), {4}); });
  refuse("reshape", [] { reshape(f32({2, 3}), {4, -1}); });
  refuse("reshape", [] { reshape(f32({0, 3}), {0, -1}); });
  refuse("reshape", [] { reshape(f32({4}), {-1, -1}); });
  refuse("transpose", [] { transpose(f32({2, 3}), {0, 0}); });
  refuse("transpose", [] { transpose(f32({2, 3}), {0}); });
  refuse("slice", [] { slice(f32({3}), {0}, {4}); });
  refuse("slice", [] { slice(f32({3}), {-1}, {2}); });
  refuse("slice", [] { slice(f32({3}), {2}, {1}); });
  refuse("slice", [] { slice(f32({3}), {0}, {3}, {0}); });
  refuse("slice", [] { slice(f32({3}), {}, {3}); });
  refuse("pad", [] { pad(f32({2}), f32({1}), {1}, {0}); });
  refuse("pad", [] { pad(f32({2}), i32({}), {1}, {0}); });
  refuse("pad", [] { pad(f32({2}), f32({}), {1, 1}, {0}); });
  refuse("pad", [] { pad(f32({2}), f32({}), {-3}, {0}); });
  refuse("pad", [] { pad(f32({3}), f32({}), {0}, {0}, {-1}); });
  refuse("concatenate", [] { concatenate(Tensors{}, 0); });
  refuse("concatenate", [] { concatenate(Tensors{f32({2}), f32({2, 2})}, 0); });
  refuse("concatenate", [] { concatenate(Tensors{f32({2, 2}), f32({2, 3})}, 0); });
  refuse("concatenate", [] { concatenate(Tensors{f32({2}), i32({2})}, 0); });
  refuse("concatenate", [] { concatenate(Tensors{f32({2}), f32({2})}, 1); });
  refuse("sharding_constraint", [] { shard(f32({2}), PartitionSpec{"data", "model"}); });
  refuse("dynamic_slice", [] { dynamic_slice(f32({3}), Tensors{}, {2}); });
  refuse("dynamic_slice", [] { dynamic_slice(f32({3}), Tensors{u32({})}, {2}); });
  refuse("dynamic_slice", [] { dynamic_slice(f32({3}), Tensors{i32({1})}, {2}); });
  refuse("dynamic_slice", [] { dynamic_slice(f32({3}), Tensors{i32({})}, {4}); });
  refuse("dynamic_slice", [] { dynamic_slice(f32({3}), Tensors{i32({})}, {-1}); });
  refuse("dynamic_slice", [] { dynamic_slice(f32({3}), Tensors{i32({})}, {1, 1}); });
  refuse("dynamic_update_slice", [] { dynamic_update_slice(f32({3}), f32({4}), Tensors{i32({})}); });
  refuse("dynamic_update_slice", [] { dynamic_update_slice(f32({3}), i32({1}), Tensors{i32({})}); });
  refuse("dynamic_update_slice", [] { dynamic_update_slice(f32({3}), f32({1, 1}), Tensors{i32({})}); });
  refuse("dynamic_update_slice", [] { dynamic_update_slice(f32({3}), f32({1}), Tensors{}); });
  add_gather(out);
}

void add_windows(std::vector<Refusal>& out) {
  const auto conv = [&](const Dims& x, const Dims& kernel, const ConvDims& dims) {
    out.push_back({"convolution", [=] { convolution(f32(x), f32(kernel), dims); }});
  };
  conv({2}, {2}, {});
  conv({1, 4, 2}, {2, 2}, {});
  conv({1, 4, 2}, {2, 3, 1}, {});                       // 2 and 3 inputs
  conv({1, 4, 4}, {2, 2, 3}, {{}, {}, {}, {}, {}, 2});  // 3 outputs in 2 groups
  conv({1, 4, 4}, {2, 4, 3}, {{}, {}, {}, {}, {}, 0});
  conv({1, 4, 1}, {2, 1, 1}, {{0}});
  conv({1, 4, 1}, {2, 1, 1}, {{1, 1}});
  conv({1, 4, 1}, {2, 1, 1}, {{}, {-3}, {-2}});  // cropped to less than nothing
  conv({1, 4, 1}, {0, 1, 1}, {});                // a kernel of no taps
  conv({1, 4, 1}, {2, 1, 1}, {{}, {}, {}, {0}});
  conv({1, 4, 1}, {2, 1, 1}, {{}, {}, {}, {}, {-1}});
  out.push_back({"convolution", [] { convolution(f32({1, 4, 1}), i32({2, 1, 1}), {}); }});
  out.push_back({"convolution", [] { convolution(i1({1, 4, 1}), i1({2, 1, 1}), {}); }});
  using Window = Tensor (*)(const Tensor&, const WindowDims&);
  const std::pair<const char*, Window> windows[] = {{"reduce_window_sum", reduce_window_sum},
                                                    {"reduce_window_max", reduce_window_max},
                                                    {"reduce_window_min", reduce_window_min}};
  const WindowDims bad[] = {{{2, 2}}, {{0}}, {{2}, {0}}, {{2}, {}, {-1}}, {{2}, {}, {0, 0}}, {{2}, {}, {}, {}, {0}}};
  for (const auto& [name, fn] : windows) {
    for (const WindowDims& dims : bad) out.push_back({name, [f = fn, dims] { f(f32({4}), dims); }});
    out.push_back({name, [f = fn] { f(i1({4}), {{2}}); }});
  }
}

void add_contract(std::vector<Refusal>& out) {
  const auto refuse = [&](const char* op, std::function<void()> build) { out.push_back({op, std::move(build)}); };
  const auto dot = [](const Tensor& x, const Tensor& y, const DotDims& dims, DType d = DType::f32) {
    dot_general(x, y, dims, d);
  };
  refuse("dot_general", [=] { dot(f32({2, 3}), f32({2, 3}), {{}, {}, {1}, {0}}); });
  refuse("dot_general", [=] { dot(f32({2, 3}), i32({3, 2}), {{}, {}, {1}, {0}}); });
  refuse("dot_general", [=] { dot(f32({2, 3}), f32({3, 2}), {{}, {}, {2}, {0}}); });
  refuse("dot_general", [=] { dot(f32({2, 3}), f32({3, 2}), {{}, {}, {-1}, {0}}); });
  refuse("dot_general", [=] { dot(f32({3, 3}), f32({3, 3}), {{1}, {0}, {1}, {0}}); });
  refuse("dot_general", [=] { dot(f32({2, 3}), f32({3, 2}), {{}, {}, {1}, {}}); });
  refuse("dot_general", [=] { dot(f32({2, 3}), f32({4, 3}), {{0}, {0}, {1}, {1}}); });
  refuse("dot_general", [=] { dot(f32({2}), f32({2}), {{}, {}, {0}, {0}}, DType::i32); });
  refuse("dot_general", [=] { dot(i1({2}), i1({2}), {{}, {}, {0}, {0}}, DType::i1); });
  using Reduce = Tensor (*)(const Tensor&, Dims);
  const std::pair<const char*, Reduce> numbers[] = {
      {"reduce_sum", reduce_sum}, {"reduce_prod", reduce_prod}, {"reduce_max", reduce_max}, {"reduce_min", reduce_min}};
  for (const auto& [name, fn] : numbers) refuse(name, [f = fn] { f(i1({2}), {0}); });
  refuse("reduce_and", [] { reduce_and(f32({2}), {0}); });
  refuse("reduce_or", [] { reduce_or(i32({2}), {0}); });
  refuse("sort", [] { sort(f32({2}), 1); });
  refuse("sort", [] { sort(f32({}), 0); });
  refuse("sort", [] { sort(i1({2}), 0); });
  refuse("sort", [] { sort_together(Tensors{f32({2}), f32({3})}, 0); });
  refuse("top_k", [] { top_k(f32({}), 1); });
  refuse("top_k", [] { top_k(f32({2}), 3); });
  refuse("top_k", [] { top_k(f32({2}), -1); });
  refuse("top_k", [] { top_k(i1({2}), 1); });
  add_windows(out);
}

void add_control(std::vector<Refusal>& out) {
  const auto refuse = [&](const char* op, std::function<void()> build) { out.push_back({op, std::move(build)}); };
  const TensorType index{DType::i32, {}}, row{DType::f32, {2}};
  const auto drop_index = [](const Tensors& p) { return Tensors{p.begin() + 1, p.end()}; };
  refuse("scan", [=] { scan_op(identity({row}), 3, {}, {}); });               // no index
  refuse("scan", [=] { scan_op(identity({row, row}), 3, {f32({2})}, {}); });  // index of another type
  refuse("scan", [=] { scan_op(region_of({index, row}, drop_index), -1, {f32({2})}, {}); });
  refuse("scan", [=] { scan_op(region_of({index, row}, drop_index), 3, {f32({3})}, {}); });
  refuse("scan", [=] { scan_op(region_of({index, row}, drop_index), 3, {}, {f32({2, 2})}); });  // 2 rows, not 3
  refuse("scan", [=] { scan_op(region_of({index, row}, drop_index), 3, {f32({2}), f32({2})}, {}); });
  refuse("scan", [=] { scan_op(identity({index, row}), 3, {f32({2})}, {}); });  // the carry comes out as the index
  refuse("scan",
         [=] { scan_op(region_of({index, row}, [](const Tensors&) { return Tensors{}; }), 3, {f32({2})}, {}); });
  const auto yes = [](const Tensors&) { return Tensors{i1({})}; };
  refuse("while", [=] { while_op(region_of({}, yes), identity({}), {}); });
  refuse("while", [=] { while_op(identity({row}), identity({row}), {f32({2})}); });
  refuse("while", [=] { while_op(region_of({row}, yes), identity({index}), {f32({2})}); });
  refuse("while", [=] { while_op(region_of({index}, yes), identity({row}), {f32({2})}); });
  refuse("cond", [] { cond(i32({}), [] { return Tensors{}; }, [] { return Tensors{}; }); });
  refuse("cond", [] { cond(i1({1}), [] { return Tensors{}; }, [] { return Tensors{}; }); });
  refuse("cond", [] { cond(i1({}), [] { return Tensors{f32({})}; }, [] { return Tensors{f32({1})}; }); });
  refuse("cond", [=] { cond_op(i1({}), identity({row}), identity({row})); });
  const auto nothing = [] { return Tensors{}; };
  refuse("case", [=] { switch_case(i1({}), {nothing, nothing}); });
  refuse("case", [=] { switch_case(i32({1}), {nothing}); });
  refuse("case", [] { switch_case(i32({}), {}); });
  refuse("case", [=] { switch_case(i32({}), {nothing, nothing, [] { return Tensors{f32({})}; }}); });
  refuse("case", [=] { case_op(i32({}), {identity({row})}); });
}

// "attention_backward" is what the gradient of attention makes, from operands already checked.
void add_kernels(std::vector<Refusal>& out) {
  const auto attend = [](const Dims& query, const Dims& key, const Dims& query_positions) {
    const Tensor tq = i32(query_positions), tk = i32({key[0], key[2]});
    attention({f32(query), f32(key), f32(key), tq, tk, tq, tk}, {});
  };
  out.push_back({"attention", [=] { attend({2, 4, 3, 8}, {2, 3, 5, 8}, {2, 3}); }});  // 4 heads on 3
  out.push_back({"attention", [=] { attend({2, 4, 3, 8}, {2, 2, 5, 6}, {2, 3}); }});
  out.push_back({"attention", [=] { attend({2, 4, 3, 8}, {1, 2, 5, 8}, {2, 3}); }});
  out.push_back({"attention", [=] { attend({2, 4, 3, 8}, {2, 2, 5, 8}, {2, 5}); }});
}

std::vector<Refusal> refusals() {
  std::vector<Refusal> out;
  add_elementwise(out);
  add_shape(out);
  add_contract(out);
  add_control(out);
  add_kernels(out);
  return out;
}

TEST(ShapeErrors, NameTheOpAndTheModule) {
  std::map<std::string, int> count;
  for (const Refusal& r : refusals()) {
    SCOPED_TRACE(r.op + " number " + std::to_string(++count[r.op]));
    const auto e = error_in_module(r.build);
    ASSERT_TRUE(e) << "accepted";
    EXPECT_EQ(e->code(), ErrorCode::shape_mismatch) << e->what();
    EXPECT_EQ(e->path(), "decoder.ffn") << e->what();
    EXPECT_THAT(e->message(), HasSubstr(r.op + ": "));
  }
  // These take everything, or are checked before they are ops; those of manual regions and custom_vjp are refused in
  // the tests of their derivatives.
  const std::set<std::string_view> easy = {"constant",
                                           "convert",
                                           "tag",
                                           "optimization_barrier",
                                           "place",
                                           "stop_gradient",
                                           "reverse",
                                           "custom_vjp",
                                           "attention_backward",
                                           "manual",
                                           "all_reduce_sum",
                                           "all_reduce_max",
                                           "all_reduce_min",
                                           "all_gather",
                                           "reduce_scatter",
                                           "all_to_all",
                                           "collective_permute",
                                           "collective_broadcast",
                                           "axis_index"};
  for (const OpDef* def : op_table()) {
    EXPECT_NE(count.contains(std::string(def->name)), easy.contains(def->name)) << def->name;
  }
}

// Functions that are made of ops.
TEST(ShapeErrors, OfHelpers) {
  const std::function<void()> helpers[] = {
      [] { matmul(f32({2}), f32({2})); },
      [] { matmul(f32({2, 3}), f32({1, 3, 2})); },
      [] { f32({2}) + f32({3}); },
      [] { f32({2}) * i32({2}); },
      [] { broadcast_to(f32({2, 3}), {3}); },
      [] { broadcast_to(f32({2}), {3}); },
      [] { expand_dims(f32({2}), 2); },
      [] { expand_dims(f32({2}), -3); },
      [] { squeeze(f32({2}), 0); },
      [] { squeeze(f32({1}), 1); },
      [] { slice_dim(f32({2}), 1, 0, 1); },
      [] { slice_dim(f32({2}), 0, 0, 3); },
      [] { dynamic_index(f32({}), i32({})); },
      [] { dynamic_update_index(f32({}), f32({}), i32({})); },
      [] { reduce_sum(f32({2}), {1}); },
      [] { reduce_sum(f32({2, 2}), {1, -1}); },
      [] { argmax(f32({2, 0}), 1); },
      [] { argmax(f32({2}), 1); },
      [] { take(f32({}), i32({2})); },
      [] { take(f32({0, 2}), i32({2})); },
      [] { take(f32({3, 2}), f32({2})); },
      [] { take(f32({3, 2}), u32({2})); },
      [] { scatter_add_rows(i32({2}), f32({3, 2}), 4); },
      [] { scatter_add_rows(i32({2}), f32({}), 4); },
      [] { scatter_add_rows(f32({2}), f32({2, 2}), 4); },
      [] { scatter_add_rows(i32({2}), i1({2, 2}), 4); },
      [] { scatter_add_rows(i32({2}), f32({2, 2}), -1); },
      [] { take_along(f32({2, 3}), i32({2}), 1); },
      [] { take_along(f32({2, 3}), i32({3, 1}), 1); },
      [] { take_along(f32({2, 3}), f32({2, 1}), 1); },
      [] { take_along(f32({2, 0}), i32({2, 1}), 1); },
      [] { take_along(f32({2, 3}), i32({2, 1}), 2); },
      [] { scatter_add_along(f32({2, 3}), i32({2, 1}), f32({2, 2}), 1); },
      [] { sort_together(Tensors{}, 0); },
      [] { reverse(f32({2}), {1}); },
      [] { reverse(f32({2, 2}), {0, 0}); },
  };
  for (size_t i = 0; i < std::size(helpers); ++i) {
    const auto e = error_in_module(helpers[i]);
    ASSERT_TRUE(e) << i;
    EXPECT_EQ(e->code(), ErrorCode::shape_mismatch) << e->what();
    EXPECT_EQ(e->path(), "decoder.ffn") << e->what();
  }
}

// C++ numbers take the array's dtype; one that doesn't fit is refused rather than changed.
TEST(ShapeErrors, NumbersThatADtypeCannotHold) {
  const std::function<void()> bad[] = {
      [] { i32({2}) * 0.5; },
      [] { full({DType::u32, {}}, -1); },
      [] { full({DType::i8, {2}}, 200); },
      [] { full({DType::i1, {}}, 2); },
      [] { full({DType::i32, {}}, std::numeric_limits<double>::quiet_NaN()); },
      [] { full({DType::i64, {}}, 1e300); },
  };
  for (size_t i = 0; i < std::size(bad); ++i) {
    const auto e = error_in_module(bad[i]);
    ASSERT_TRUE(e) << i;
    EXPECT_EQ(e->code(), ErrorCode::invalid_argument) << e->what();
    EXPECT_EQ(e->path(), "decoder.ffn");
  }
  EXPECT_FALSE(error_in_module([] { full({DType::u32, {}}, 4294967295.0), full({DType::f8e4m3fn, {}}, 0.3); }));
}

TEST(ShapeErrors, ShapesNoMemoryCouldHold) {
  const std::function<void()> bad[] = {
      [] { broadcast_in_dim(f32({}), {-1}, {}); },
      [] { broadcast_in_dim(f32({}), {int64_t{1} << 40, int64_t{1} << 40}, {}); },
      [] { iota({DType::f32, {int64_t{1} << 62}}, 0); },
      [] { reshape(f32({4}), {-2, -2}); },
      [] { identity({{DType::f32, {-3}}}); },
  };
  for (size_t i = 0; i < std::size(bad); ++i) {
    const auto e = error_in_module(bad[i]);
    ASSERT_TRUE(e) << i;
    EXPECT_EQ(e->code(), ErrorCode::invalid_argument) << e->what();
    EXPECT_EQ(e->path(), "decoder.ffn") << i << e->what();
  }
}

}  // namespace
}  // namespace tenon
