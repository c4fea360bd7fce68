// Derivatives of manual regions and of every collective, against central differences of all shards interpreted.
#include <gmock/gmock.h>

#include <set>

#include "tenon/autodiff/functional.h"
#include "tenon/autodiff/testing/check_gradients.h"
#include "tenon/ir/interpreter.h"
#include "tenon/ir/op_def.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/ops/table.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/ir/verify.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;
using Tensors = std::vector<Tensor>;

const Mesh kMesh{{"data", 2}, {"model", 2}};
const PartitionSpec kBoth{"data", "model"}, kRows{"data"}, kColumns{{}, "model"}, kWhole{};

struct GradCase {
  const char* op;  // what the body uses
  PartitionSpec in, out;
  std::function<Tensor(const Tensor&)> body;
};

std::vector<GradCase> grad_cases() {
  return {
      {"all_reduce_sum", kBoth, kRows, [](const Tensor& x) { return sin(all_reduce_sum(x * x, "model")); }},
      {"all_reduce_sum", kBoth, kWhole, [](const Tensor& x) { return all_reduce_sum(sin(x), {"data", "model"}); }},
      {"all_reduce_sum", kWhole, kWhole, [](const Tensor& x) { return all_reduce_sum(sin(x), "data"); }},
      {"all_reduce_max", kBoth, kRows, [](const Tensor& x) { return all_reduce_max(x, "model"); }},
      {"all_reduce_min", kBoth, kColumns, [](const Tensor& x) { return all_reduce_min(x, "data") * 3.0; }},
      {"all_gather", kRows, kWhole, [](const Tensor& x) { return all_gather(sin(x), "data", 0); }},
      {"all_gather", kBoth, kBoth,
       [](const Tensor& x) { return sin(slice_dim(all_gather(x, {"model", "data"}, 1), 1, 2, 5)); }},
      {"reduce_scatter", kWhole, kColumns,
       [](const Tensor& x) { return reduce_scatter(x * convert(axis_index("model") + 1.0, x.dtype()), "model", 1); }},
      {"all_to_all", kRows, {{}, "data"}, [](const Tensor& x) { return all_to_all(x * x, "data", 1, 0); }},
      {"collective_permute", kRows, kRows,
       [](const Tensor& x) { return collective_permute(sin(x), "data", {{1, 0}}) * x; }},
      {"collective_broadcast", kBoth, kRows,
       [](const Tensor& x) { return sin(collective_broadcast(x * x, "model", 1)); }},
      {"collective_broadcast", kBoth, kBoth,
       [](const Tensor& x) { return collective_broadcast(sin(x), {"model", "data"}, 2) * x; }},
      {"axis_index", kBoth, kBoth,
       [](const Tensor& x) { return x * convert(axis_index({"model", "data"}), x.dtype()); }},
  };
}

LossFn loss_of(const GradCase& c, const Mesh& mesh) {
  return [&c, mesh](const Tensors& p) {
    const Tensors out = manual(mesh, p, {c.in}, {c.out}, [&](const Tensors& x) { return Tensors{c.body(x[0])}; });
    const Tensor weights = iota(out[0].type(), 1) + 1.0;
    return sum_all(out[0] * out[0] * weights);
  };
}

TEST(ManualGrad, OfEveryCollective) {
  std::mt19937 rng(5);
  const Literal x = random_literal(rng, {4, 6});
  std::set<std::string> seen;
  for (const GradCase& c : grad_cases()) {
    SCOPED_TRACE(c.op);
    EXPECT_EQ(check_gradients(loss_of(c, kMesh), {x}), "");
    verify(gradient_graph(loss_of(c, kMesh), {x}));
    seen.emplace(c.op);
  }
  for (const OpDef* def : collective_defs()) EXPECT_TRUE(seen.contains(std::string(def->name))) << def->name;
}

TEST(ManualGrad, SharedInputsAndIntegers) {
  std::mt19937 rng(6);
  const auto loss = [](const Tensors& p) {
    const Tensors out = manual(kMesh, p, {kBoth, {{}, "model"}, {"data"}}, {kBoth, kRows}, [](const Tensors& x) {
      const Tensor scaled = x[0] * x[1] * convert(x[2], x[0].dtype());
      return Tensors{scaled, all_reduce_sum(scaled, "model")};
    });
    return sum_all(sin(out[0])) + sum_all(out[1] * out[1]);
  };
  const Literal ids = Literal::from(DType::i32, {4, 1}, std::vector<int64_t>{1, -2, 3, 1});
  EXPECT_EQ(check_gradients(loss, {random_literal(rng, {4, 6}), random_literal(rng, {1, 6}), ids}), "");
}

TEST(ManualGrad, LoopsAndChoicesInside) {
  std::mt19937 rng(7);
  const auto loss = [](const Tensors& p) {
    const Tensors out = manual(kMesh, p, {kRows, {}}, {kRows}, [](const Tensors& x) {
      const auto last =
          scan([&](const Tensor&, const Tensor& h,
                   const Tensor& w) { return std::pair<Tensor, Tensors>(sin(h + all_reduce_sum(h * w, "data")), {}); },
               x[0], x[1]);
      const Tensor first = equal(axis_index("data"), zeros({DType::i32, {}}));
      return cond(first, [&] { return Tensors{last.first * last.first}; }, [&] { return Tensors{last.first * 3.0}; });
    });
    return sum_all(out[0]);
  };
  EXPECT_EQ(check_gradients(loss, {random_literal(rng, {4, 2}), random_literal(rng, {3, 2})}), "");
}

TEST(ManualGrad, InALoop) {
  std::mt19937 rng(8);
  const auto loss = [](const Tensors& p) {
    const auto out = scan(
        [&](const Tensor&, const Tensor& h, const Tensor& w) {
          const Tensors y = manual(kMesh, {h, w}, {kBoth, kBoth}, {kBoth},
                                   [](const Tensors& x) { return Tensors{sin(all_reduce_sum(x[0], "model") * x[1])}; });
          return std::pair<Tensor, Tensors>(y[0], {});
        },
        p[0], p[1]);
    return sum_all(out.first * out.first);
  };
  EXPECT_EQ(check_gradients(loss, {random_literal(rng, {2, 2}), random_literal(rng, {3, 2, 2})}), "");
}

std::optional<Error> error_in(const TensorFn& body) {
  const std::vector<TensorType> types = {{DType::f32, {4, 6}}};
  return error_of([&] {
    make_graph(types, [&](const Tensors& p) {
      current_trace().set_path("decoder.moe");
      return body(p);
    });
  });
}

TEST(ManualRules, AreKept) {
  const auto region = [](const PartitionSpec& in, const PartitionSpec& out, std::vector<std::string> axes,
                         const std::function<Tensor(const Tensor&)>& body) {
    return error_in([=](const Tensors& p) {
      return manual(kMesh, p, {in}, {out}, [&](const Tensors& x) { return Tensors{body(x[0])}; }, axes);
    });
  };
  const auto same = [](const Tensor& x) { return x; };
  const auto expect = [](const std::optional<Error>& e, ErrorCode code, const char* text) {
    ASSERT_TRUE(e) << text;
    EXPECT_EQ(e->code(), code) << e->what();
    EXPECT_THAT(e->what(), HasSubstr(text));
    EXPECT_THAT(e->path(), HasSubstr("decoder.moe")) << e->what();
  };
  expect(region({{"model", "data"}}, {}, {}, [](const Tensor& x) { return all_gather(x, "fsdpp", 0); }),
         ErrorCode::wrong_context, "'fsdpp'");
  expect(region(kRows, kRows, {"data"}, [](const Tensor& x) { return all_reduce_sum(x, "model"); }),
         ErrorCode::wrong_context, "doesn't run over axis 'model'");
  expect(region(kBoth, kBoth, {"data"}, same), ErrorCode::mesh_mismatch, "names 'model'");
  expect(region(kRows, kColumns, {"data"}, same), ErrorCode::mesh_mismatch, "result 0");
  expect(region(kRows, kRows, {}, [](const Tensor& x) { return all_reduce_sum(x, {"data", "data"}); }),
         ErrorCode::wrong_context, "twice");
  expect(region(kRows, kRows, {}, [](const Tensor& x) { return shard(x, kRows); }), ErrorCode::wrong_context,
         "sharding constraint");
  expect(region(kRows, kRows, {"data"}, [](const Tensor& x) { return x * convert(axis_index("data"), x.dtype()); }),
         ErrorCode::unsupported, "axis_index");
  expect(region(kRows, kRows, {},
                [&](const Tensor& x) { return manual(kMesh, {x}, {{}}, {{}}, [](const Tensors& t) { return t; })[0]; }),
         ErrorCode::wrong_context, "inside another");
  expect(region(kRows, kRows, {}, [](const Tensor& x) { return reduce_scatter(x, "data", 2); }),
         ErrorCode::shape_mismatch, "reduce_scatter");
  expect(region(kColumns, kColumns, {}, [](const Tensor& x) { return reduce_scatter(x, "data", 1); }),
         ErrorCode::shape_mismatch, "isn't divisible by 2");
  expect(region(kRows, kRows, {}, [](const Tensor& x) { return collective_permute(x, "data", {{0, 1}, {1, 1}}); }),
         ErrorCode::shape_mismatch, "targets");
  for (const int64_t source : {2, -1}) {
    expect(region(kRows, kRows, {}, [&](const Tensor& x) { return collective_broadcast(x, "data", source); }),
           ErrorCode::shape_mismatch, "of a group of 2");
  }
  expect(error_in([](const Tensors& p) { return Tensors{all_reduce_sum(p[0], "data")}; }), ErrorCode::wrong_context,
         "outside a manual region");
  expect(error_in([](const Tensors& p) {
           return manual(kMesh, p, {{"data", {}, "model"}}, {{}}, [](const Tensors& t) { return t; });
         }),
         ErrorCode::mesh_mismatch, "input 0");
  expect(error_in([](const Tensors& p) { return manual(kMesh, p, {}, {{}}, [](const Tensors& t) { return t; }); }),
         ErrorCode::shape_mismatch, "0 specs for 1 inputs");
  expect(error_in([](const Tensors& p) {
           return manual(kMesh, {p[0]}, {kRows}, {kRows},
                         [&](const Tensors& t) { return Tensors{t[0] + sum_all(p[0])}; });
         }),
         ErrorCode::wrong_context, "from outside");
}

// Devices that don't call the same collectives would wait for ever.
TEST(ManualRules, TheInterpreterDoesNotHang) {
  const std::vector<TensorType> types = {{DType::f32, {4}}};
  const Graph graph = make_graph(types, [](const Tensors& p) {
    return manual(kMesh, p, {kRows}, {kRows}, [](const Tensors& x) {
      const Tensor first = equal(axis_index("data"), zeros({DType::i32, {}}));
      return cond(first, [&] { return Tensors{all_reduce_sum(x[0], "data")}; }, [&] { return x; });
    });
  });
  const auto e = error_of([&] { interpret(graph, std::vector<Literal>{Literal(types[0])}); });
  ASSERT_TRUE(e);
  EXPECT_EQ(e->code(), ErrorCode::invalid_argument);
  EXPECT_THAT(e->what(), HasSubstr("don't all call the same collectives"));
}

}  // namespace
}  // namespace tenon
