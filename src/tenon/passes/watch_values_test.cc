#include "tenon/passes/watch_values.h"

#include <gtest/gtest.h>

#include "tenon/ir/interpreter.h"
#include "tenon/ir/op_def.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/verify.h"
#include "tenon/passes/dce.h"

namespace tenon {
namespace {

const TensorType kPair{DType::f32, {2}};

// The largest element, f32[1].
Tensor largest(const Tensor& x) { return reshape(reduce_max(x, {0}), {1}); }

std::vector<double> at(const std::vector<Literal>& results, const WatchedPlaces& places, ValueId v) {
  const WatchedPlace place = places.at(v);
  const Literal& all = results.at(place.result);
  const int64_t rows = all.dims()[all.dims().size() - 2];
  std::vector<double> out;
  for (int64_t i = place.row; i < all.size(); i += rows) out.push_back(all.as_double(i));
  return out;
}

// x doubled in each of three rounds, in a loop of two rounds; then its square.
Graph nested(ValueId& doubled, ValueId& carried, ValueId& square) {
  const std::vector<TensorType> params{kPair}, body{{DType::i32, {}}, kPair};
  return make_graph(params, [&](const std::vector<Tensor>& args) {
    Trace& trace = current_trace();
    const RegionId outer = trace_region(trace, body, [&](const std::vector<Tensor>& a) {
      const RegionId inner = trace_region(trace, body, [&](const std::vector<Tensor>& b) {
        carried = b[1].id();
        const Tensor y = b[1] + b[1];
        doubled = y.id();
        return std::vector<Tensor>{y};
      });
      return scan_op(inner, 3, {a[1]}, {});
    });
    const Tensor last = scan_op(outer, 2, {args[0]}, {})[0];
    const Tensor squared = last * last;
    square = squared.id();
    return std::vector<Tensor>{squared};
  });
}

TEST(WatchValues, EveryRoundOfEveryLoop) {
  ValueId doubled = 0, carried = 0, square = 0;
  Graph graph = nested(doubled, carried, square);
  const ValueId input = graph.trace->region(graph.root).params[0];
  const WatchedPlaces places =
      watch_values(graph, {[&](ValueId v) { return graph.trace->value(v).type == kPair; }, largest});
  verify(graph);
  const std::vector<Literal> got =
      interpret(graph, std::vector<Literal>{Literal::from(DType::f32, {2}, std::vector<double>{1, -1})});
  EXPECT_EQ(at(got, places, input), (std::vector<double>{1}));
  EXPECT_EQ(at(got, places, carried), (std::vector<double>{1, 2, 4, 8, 16, 32}));
  EXPECT_EQ(at(got, places, doubled), (std::vector<double>{2, 4, 8, 16, 32, 64}));
  EXPECT_EQ(at(got, places, square), (std::vector<double>{4096}));
  const Literal& inner = got.at(places.at(doubled).result);
  EXPECT_EQ(inner.as_double(first_element(places.at(doubled), inner.type(), std::vector<int64_t>{1, 0})), 16);
}

TEST(WatchValues, OnlyWhatIsWanted) {
  ValueId doubled = 0, carried = 0, square = 0;
  Graph graph = nested(doubled, carried, square);
  const WatchedPlaces places = watch_values(graph, {[&](ValueId v) { return v == doubled; }, largest});
  EXPECT_EQ(places.size(), 1U);
  eliminate_dead_code(graph);
  for (const OpId id : graph.trace->region(graph.root).ops) EXPECT_NE(graph.trace->op(id).def->name, "mul");
}

TEST(WatchValues, ModulePathsStay) {
  const std::vector<TensorType> params{kPair};
  Graph graph = make_graph(params, [&](const std::vector<Tensor>& args) {
    current_trace().set_path("decoder.norm");
    return std::vector<Tensor>{exp(args[0])};
  });
  watch_values(graph, {[&](ValueId v) { return graph.trace->value(v).def != kNoId; }, largest});
  for (const OpId id : graph.trace->region(graph.root).ops) {
    const OpInfo& op = graph.trace->op(id);
    if (op.def->name == "concatenate") continue;
    EXPECT_EQ(graph.trace->path_of(op), "decoder.norm") << op.def->name;
  }
}

}  // namespace
}  // namespace tenon
