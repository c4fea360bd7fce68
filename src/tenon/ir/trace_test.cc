#include "tenon/ir/trace.h"

#include <gmock/gmock.h>

#include <thread>

#include "tenon/ir/interpreter.h"
#include "tenon/ir/op_def.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/printer.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/ir/verify.h"

namespace tenon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Tensors = std::vector<Tensor>;

const TensorType kF32{DType::f32, {2}};

// Traces `body` on one f32[2] under the path "decoder.ffn".
std::optional<Error> error_in_trace(const TensorFn& body) {
  const std::vector<TensorType> params = {kF32};
  return error_of([&] {
    make_graph(params, [&](const Tensors& x) {
      current_trace().set_path("decoder.ffn");
      return body(x);
    });
  });
}

void expect_error(const std::optional<Error>& e, ErrorCode code, const char* words) {
  ASSERT_TRUE(e.has_value()) << "nothing thrown, expected: " << words;
  EXPECT_EQ(e->code(), code) << e->what();
  EXPECT_EQ(e->path(), "decoder.ffn") << e->what();
  EXPECT_THAT(e->what(), HasSubstr(words));
}

TEST(TraceRules, AnEmptyTensorIsRefused) {
  expect_error(error_in_trace([](const Tensors&) -> Tensors { return {exp(Tensor())}; }), ErrorCode::wrong_context,
               "operand 0 of 'exp' is an empty Tensor");
  expect_error(error_in_trace([](const Tensors& x) -> Tensors { return {add(x[0], Tensor())}; }),
               ErrorCode::wrong_context, "operand 1 of 'add' is an empty Tensor");
  expect_error(error_in_trace([](const Tensors&) -> Tensors { return {Tensor() * 2.0}; }), ErrorCode::wrong_context,
               "an empty Tensor was used");
  expect_error(error_in_trace([](const Tensors&) -> Tensors { return {Tensor()}; }), ErrorCode::wrong_context,
               "result 0 of a region is an empty Tensor");
}

TEST(TraceRules, AValueOfAClosedRegionIsRefused) {
  expect_error(error_in_trace([](const Tensors& x) -> Tensors {
                 Tensor leak;
                 trace_region(current_trace(), {}, [&](const Tensors&) -> Tensors { return {leak = exp(x[0])}; });
                 return {neg(leak)};
               }),
               ErrorCode::wrong_context, "operand 0 of 'neg' belongs to a region that is closed");
}

TEST(TraceRules, AValueOfASiblingRegionIsRefused) {
  const auto e = error_in_trace([](const Tensors& x) -> Tensors {
    Tensor leak;
    const Tensor yes = equal(sum_all(x[0]), sum_all(x[0]));
    return cond(yes, [&]() -> Tensors { return {leak = exp(x[0])}; }, [&]() -> Tensors { return {leak * 2.0}; });
  });
  expect_error(e, ErrorCode::wrong_context, "belongs to a region that is closed");
  EXPECT_THAT(e->hint(), HasSubstr("return it from the body"));
}

TEST(TraceRules, AValueOfAnotherTraceIsRefused) {
  const std::vector<TensorType> params = {kF32};
  const auto inner_use = [&](const auto& use) {
    return error_in_trace([&](const Tensors& outer) -> Tensors {
      make_graph(params, [&](const Tensors& inner) -> Tensors {
        current_trace().set_path("decoder.ffn");
        return {use(outer[0], inner[0])};
      });
      return outer;
    });
  };
  expect_error(inner_use([](const Tensor& outer, const Tensor&) { return exp(outer); }), ErrorCode::wrong_context,
               "op 'exp' on a value that belongs to another trace");
  expect_error(inner_use([](const Tensor& outer, const Tensor& inner) { return add(inner, outer); }),
               ErrorCode::wrong_context, "operand 1 of 'add' belongs to another trace");
  expect_error(inner_use([](const Tensor& outer, const Tensor&) { return outer; }), ErrorCode::wrong_context,
               "result 0 of a region belongs to another trace");
}

TEST(TraceRules, ATraceBelongsToItsThread) {
  const std::vector<TensorType> params = {kF32};
  std::optional<Error> e, constant_error;
  make_graph(params, [&](const Tensors& x) {
    std::thread([&] {
      e = error_of([&] { exp(x[0]); });
      constant_error = error_of([&] { zeros(kF32); });
    }).join();
    return x;
  });
  ASSERT_TRUE(e && constant_error);
  EXPECT_EQ(e->code(), ErrorCode::wrong_context);
  EXPECT_THAT(e->what(), HasSubstr("thread"));
  EXPECT_EQ(constant_error->code(), ErrorCode::wrong_context);
  EXPECT_THAT(constant_error->what(), HasSubstr("no trace is open on this thread"));
}

TEST(TraceRules, ThreadsTraceApart) {
  const auto trace_one = [] {
    for (int i = 0; i < 50; ++i) {
      const std::vector<TensorType> params = {kF32};
      verify(make_graph(params, [](const Tensors& x) -> Tensors { return {exp(x[0]) + 1.0}; }));
    }
  };
  std::thread other(trace_one);
  trace_one();
  other.join();
}

TEST(TraceRules, AFinishedGraphTakesNoMoreOps) {
  const std::vector<TensorType> params = {kF32};
  Tensor kept;
  const Graph graph = make_graph(params, [&](const Tensors& x) -> Tensors { return {kept = exp(x[0])}; });
  const auto e = error_of([&] { neg(kept); });
  ASSERT_TRUE(e);
  EXPECT_EQ(e->code(), ErrorCode::wrong_context);
  EXPECT_EQ(graph.trace->current_region(), kNoId);
  EXPECT_FALSE(tracing());
  EXPECT_EQ(error_of([] { zeros(kF32); })->code(), ErrorCode::wrong_context);
}

TEST(TraceRules, AnErrorInsideARegionLeavesTheTraceUsable) {
  const std::vector<TensorType> params = {kF32};
  const Graph graph = make_graph(params, [&](const Tensors& x) -> Tensors {
    Trace& trace = current_trace();
    const RegionId here = trace.current_region();
    Tensor inside;
    EXPECT_TRUE(error_of([&] {
      trace_region(trace, params, [&](const Tensors& p) -> Tensors {
        trace_region(trace, params, [&](const Tensors& q) -> Tensors {
          inside = exp(q[0]);
          return {add(p[0], reshape(q[0], {2, 1}))};
        });
        return p;
      });
    }));
    EXPECT_EQ(trace.current_region(), here);
    EXPECT_EQ(error_of([&] { neg(inside); })->code(), ErrorCode::wrong_context);
    return {neg(x[0])};
  });
  verify(graph);
  EXPECT_EQ(graph.trace->region(graph.root).ops.size(), 1u);
}

TEST(TraceRules, RegionsBelongToOpsAroundThem) {
  const std::vector<TensorType> params = {kF32};
  const auto e = error_of([&] {
    make_graph(params, [&](const Tensors& x) -> Tensors {
      RegionId inner = kNoId;
      trace_region(current_trace(), {}, [&](const Tensors&) -> Tensors {
        inner = trace_region(current_trace(), {}, [&](const Tensors&) { return x; });
        return {};
      });
      return cond_op(equal(sum_all(x[0]), sum_all(x[0])), inner, inner);
    });
  });
  ASSERT_TRUE(e);
  EXPECT_EQ(e->code(), ErrorCode::internal);
}

TEST(Trace, DimCountsFromTheEnd) {
  const std::vector<TensorType> params = {{DType::f32, {2, 3, 5}}};
  make_graph(params, [&](const Tensors& x) {
    EXPECT_EQ(x[0].dim(0), 2);
    EXPECT_EQ(x[0].dim(-1), 5);
    EXPECT_EQ(x[0].dim(-3), 2);
    for (const int64_t bad : {3, -4}) {
      EXPECT_EQ(error_of([&] { x[0].dim(bad); })->code(), ErrorCode::shape_mismatch);
    }
    return x;
  });
}

TEST(Trace, MarksStayWithTheirOps) {
  const std::vector<TensorType> params = {kF32};
  const Graph graph = make_graph(params, [](const Tensors& x) -> Tensors {
    Trace& trace = current_trace();
    trace.set_path("a");
    const Tensor y = exp(x[0]);
    Mark mark = trace.mark();
    mark.remat_scope = trace.add_remat_scope([](const RematQuery& q) {
      EXPECT_EQ(q.path, "a");
      return q.tag == "keep" ? Save::host : q.op == "neg" ? Save::recompute : Save::device;
    });
    Tensor z;
    {
      const MarkScope scope(trace, mark);
      z = neg(tag(sin(y), "keep"));
    }
    return {exp(z)};
  });
  std::vector<Save> decisions;
  for (const OpId id : graph.trace->region(graph.root).ops)
    decisions.push_back(graph.trace->remat_decision(graph.trace->op(id)));
  EXPECT_THAT(decisions, ElementsAre(Save::automatic, Save::device, Save::host, Save::recompute, Save::automatic));
}

// ── captures, clones, inlining ──

TEST(Captures, ListsOuterValuesInOrderOfUse) {
  const std::vector<TensorType> params = {kF32, kF32, kF32};
  make_graph(params, [](const Tensors& x) -> Tensors {
    Trace& trace = current_trace();
    const Tensor y = exp(x[1]);
    RegionId deep = kNoId;
    const RegionId outer = trace_region(trace, std::vector<TensorType>{kF32}, [&](const Tensors& p) -> Tensors {
      const Tensor local = p[0] + y;
      const Tensor yes = equal(sum_all(local), sum_all(local));
      const Tensors picked = cond(yes, [&]() -> Tensors { return {local + x[2]}; }, [&]() -> Tensors { return {y}; });
      deep = current_trace().op(static_cast<OpId>(trace.value(picked[0].id()).def)).regions[0];
      return {picked[0], x[0], p[0]};
    });
    EXPECT_THAT(captures(trace, outer), ElementsAre(y.id(), x[2].id(), x[0].id()));
    EXPECT_EQ(captures(trace, deep).size(), 2u);
    EXPECT_EQ(captures(trace, deep)[1], x[2].id());
    const RegionId closed = trace_region(trace, std::vector<TensorType>{kF32}, [](const Tensors& p) { return p; });
    EXPECT_THAT(captures(trace, closed), IsEmpty());
    return {y};
  });
}

Literal vector_of(std::vector<double> values) {
  return Literal::from(DType::f32, {static_cast<int64_t>(values.size())}, values);
}

TEST(Inline, RepeatsTheRegionWithOtherArguments) {
  const std::vector<TensorType> params = {kF32, kF32};
  const Graph graph = make_graph(params, [](const Tensors& x) -> Tensors {
    Trace& trace = current_trace();
    const RegionId region = trace_region(trace, std::vector<TensorType>{kF32},
                                         [&](const Tensors& p) -> Tensors { return {p[0] * x[1], p[0]}; });
    const Tensors once = inline_region(trace, region, std::vector<Tensor>{x[0]});
    const Tensors twice = inline_region(trace, region, std::vector<Tensor>{once[0]});
    EXPECT_EQ(twice[1], once[0]);
    return {once[0], twice[0]};
  });
  verify(graph);
  const auto out = interpret(graph, std::vector<Literal>{vector_of({1, 2}), vector_of({3, 5})});
  EXPECT_THAT(out[0].to_doubles(), ElementsAre(3, 10));
  EXPECT_THAT(out[1].to_doubles(), ElementsAre(9, 50));
}

TEST(Clone, RepeatsOpsWithTheirRegionsAndMarks) {
  const std::vector<TensorType> params = {kF32};
  const Graph graph = make_graph(params, [](const Tensors& x) -> Tensors {
    Trace& trace = current_trace();
    trace.set_path("original");
    const std::vector<TensorType> body_params = {{DType::i32, {}}, kF32};
    const RegionId body = trace_region(trace, body_params, [&](const Tensors& p) -> Tensors {
      const Tensor yes = less(p[0], full_like(p[0], 1));
      return cond(yes, [&]() -> Tensors { return {p[1] + x[0]}; }, [&]() -> Tensors { return {p[1] * 2.0}; });
    });
    const Tensors first = scan_op(body, 3, {x[0]}, {});
    trace.set_path("elsewhere");
    ValueMap map;
    map.set(x[0].id(), x[0] + 1.0);
    const OpId original = trace.value(first[0].id()).def;
    const Tensors second = clone_op(trace, original, map);
    EXPECT_EQ(map(trace, first[0].id()), second[0]);
    EXPECT_NE(trace.op(original).regions[0], trace.op(trace.value(second[0].id()).def).regions[0]);
    EXPECT_EQ(trace.path_of(trace.op(trace.value(second[0].id()).def)), "original");
    EXPECT_EQ(trace.path(), "elsewhere");
    return {first[0], second[0]};
  });
  verify(graph);
  const auto out = interpret(graph, std::vector<Literal>{vector_of({1, 3})});
  EXPECT_THAT(out[0].to_doubles(), ElementsAre(8, 24));
  EXPECT_THAT(out[1].to_doubles(), ElementsAre(16, 32));
}

// ── FLOPs ──

double flops_of(const std::vector<TensorType>& params, const TensorFn& body) {
  const Graph graph = make_graph(params, body);
  return count_flops(*graph.trace, graph.root);
}

TEST(Flops, OfContractionsReductionsAndLoops) {
  const std::vector<TensorType> matrices = {{DType::f32, {3, 4}}, {DType::f32, {4, 5}}};
  EXPECT_EQ(flops_of(matrices, [](const Tensors& x) -> Tensors { return {matmul(x[0], x[1])}; }), 2.0 * 3 * 4 * 5);
  EXPECT_EQ(flops_of(matrices, [](const Tensors& x) -> Tensors { return {reduce_sum(x[0], {0})}; }), 12);
  EXPECT_EQ(flops_of(matrices, [](const Tensors& x) -> Tensors { return {exp(reshape(x[0], {12}))}; }), 12);
  EXPECT_EQ(flops_of(matrices,
                     [](const Tensors& x) -> Tensors {
                       const std::vector<TensorType> body = {{DType::i32, {}}, {DType::f32, {3, 4}}};
                       return scan_op(
                           trace_region(current_trace(), body, [](const Tensors& p) -> Tensors { return {neg(p[1])}; }),
                           7, {x[0]}, {});
                     }),
            84);
}

// ── the printer ──

TEST(Printer, GoldenText) {
  const std::vector<TensorType> params = {kF32, {DType::i32, {}}};
  const Graph graph = make_graph(params, [](const Tensors& x) -> Tensors {
    Trace& trace = current_trace();
    trace.set_path("decoder.ffn");
    const Tensor y = exp(x[0]);
    trace.set_path("");
    const std::vector<TensorType> body = {{DType::i32, {}}, kF32};
    const RegionId region = trace_region(trace, body, [&](const Tensors& p) -> Tensors { return {p[1] * y, p[0]}; });
    const Tensors out = scan_op(region, 3, {y}, {}, true);
    const Tensor c = constant(vector_of({1, 0.5}));
    return {add(out[0], shard(tag(c, "bias"), PartitionSpec{"fsdp"})), out[1], x[1]};
  });
  EXPECT_EQ(to_string(graph), R"(graph(%0: f32[2], %1: i32[]) {
  %2: f32[2] = exp(%0)  // decoder.ffn
  %3: f32[2], %4: i32[3] = scan(%2) {length=3, num_carry=1, reverse=true}
    (%5: i32[], %6: f32[2]) {
      %7: f32[2] = mul(%6, %2)
      return %7, %5
    }
  %8: f32[2] = constant() {value=f32[2]{1.0, 0.5}}
  %9: f32[2] = tag(%8) {name="bias"}
  %10: f32[2] = sharding_constraint(%9) {spec=<fsdp>}
  %11: f32[2] = add(%3, %10)
  return %11, %4, %1
}
)");
}

TEST(Attrs, CompareByNameAndValue) {
  const auto literal = [](double v) { return std::make_shared<const Literal>(vector_of({v})); };
  const Attrs a{{"value", literal(1)}, {"dim", int64_t{2}}};
  EXPECT_EQ(a, (Attrs{{"value", literal(1)}, {"dim", int64_t{2}}}));
  EXPECT_FALSE(a == (Attrs{{"value", literal(2)}, {"dim", int64_t{2}}}));
  EXPECT_FALSE(a == (Attrs{{"value", literal(1)}, {"axis", int64_t{2}}}));
  EXPECT_FALSE(a == (Attrs{{"value", literal(1)}}));
  EXPECT_EQ(a.integer("dim"), 2);
  EXPECT_EQ(error_of([&] { a.integer("nothing"); })->code(), ErrorCode::internal);
}

}  // namespace
}  // namespace tenon
