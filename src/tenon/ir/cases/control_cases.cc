// Cases of scan, while, cond and case.
#include "tenon/ir/cases/case_list.h"
#include "tenon/ir/ops/contract.h"
#include "tenon/ir/ops/control.h"
#include "tenon/ir/ops/elementwise.h"
#include "tenon/ir/ops/shape.h"

namespace tenon {
namespace {

using Tensors = std::vector<Tensor>;

TensorType row_type(const Tensor& x) { return {x.dtype(), {x.dims().begin() + 1, x.dims().end()}}; }

// A scan over trees of plain tensors, for building cases.
Tensors scan_of(const Tensors& init, const Tensors& xs, int64_t length, bool reverse, const TensorFn& body) {
  std::vector<TensorType> params{{DType::i32, {}}};
  for (const Tensor& t : init) params.push_back(t.type());
  for (const Tensor& t : xs) params.push_back(row_type(t));
  return scan_op(trace_region(current_trace(), params, body), length, init, xs, reverse);
}

// carry <- carry * x + index, y = carry before.
Tensors running(const Tensors& p) {
  const Tensor index = convert(p[0], p[1].dtype());
  return {p[1] * p[2] + index, p[1]};
}

void add_scan(CaseList& list) {
  const auto add = [&](const std::string& label, DType dtype, int64_t length, bool reverse) {
    const TensorType carry{dtype, {2}}, xs{dtype, {length, 2}};
    list.add("scan", label, {eighths(carry), eighths(xs, 1)},
             [=](const Tensors& t) { return scan_of({t[0]}, {t[1]}, length, reverse, running); });
  };
  add("carry and rows", DType::f32, 3, false);
  add("reverse", DType::f32, 3, true);
  add("f64", DType::f64, 3, false);
  add("bf16", DType::bf16, 3, true);
  add("length 0", DType::f32, 0, false);
  add("length 1", DType::f32, 1, true);
  const Literal x = eighths({DType::f32, {3, 2}}), w = eighths({DType::f32, {2}}, 4);
  list.add("scan", "no carry, a capture", {x, w}, [](const Tensors& t) {
    return scan_of({}, {t[0]}, 3, false, [&](const Tensors& p) { return Tensors{p[1] * t[1], t[1]}; });
  });
  list.add("scan", "carry only", {w}, [](const Tensors& t) {
    return scan_of({t[0], zeros({DType::i32, {}})}, {}, 4, true,
                   [](const Tensors& p) { return Tensors{p[1] + 1.0, p[2] * 2.0 + p[0]}; });
  });
  list.add("scan", "carries change places", {w, eighths({DType::f32, {2}}, 5)}, [](const Tensors& t) {
    return scan_of({t[0], t[1]}, {}, 3, false, [](const Tensors& p) { return Tensors{p[2], p[1]}; });
  });
  list.add("scan", "nested", {x, w}, [](const Tensors& t) {
    return scan_of({t[1]}, {t[0]}, 3, false, [&](const Tensors& outer) {
      const Tensors inner = scan_of({outer[1]}, {t[0]}, 3, true, [&](const Tensors& p) {
        const Tensor mixed = p[1] * 0.5 + p[2] * outer[2] + t[1];
        return Tensors{mixed, mixed};
      });
      return Tensors{inner[0], inner[1]};
    });
  });
  list.add("scan", "i1 and scalars", {ints(DType::i1, {3}, {1, 0, 1}), index_of(5)}, [](const Tensors& t) {
    return scan_of({t[1]}, {t[0]}, 3, false,
                   [](const Tensors& p) { return Tensors{p[1] + convert(p[2], DType::i32), logical_not(p[2])}; });
  });
}

void add_while(CaseList& list) {
  // (x, count) -> (x * factor, count + 1) while count < limit.
  const TensorFn grow = [](const Tensors& t) {
    return while_loop(
        {t[0], zeros({DType::i32, {}})}, [&](const Tensors& s) { return less(s[1], t[1]); },
        [&](const Tensors& s) { return Tensors{s[0] * t[2], s[1] + 1.0}; });
  };
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::i32}) {
    const TensorType type{dtype, {2}};
    for (const int64_t limit : {4, 0}) {
      list.add("while", to_string(type) + " " + std::to_string(limit) + " times",
               {sample(type, 1, 3), index_of(limit), sample(type, 1, 3, 1)}, grow);
    }
  }
  list.add("while", "one value", {floats(DType::f32, {}, {1})}, [](const Tensors& t) {
    return while_loop(
        t, [](const Tensors& s) { return less(s[0], full_like(s[0], 100)); },
        [](const Tensors& s) { return Tensors{s[0] * 3.0}; });
  });
  list.add("while", "around a scan", {eighths({DType::f32, {3}})}, [](const Tensors& t) {
    return while_loop(
        {zeros({DType::f32, {}})}, [](const Tensors& s) { return less(s[0], full_like(s[0], 10)); },
        [&](const Tensors& s) {
          const Tensors sum =
              scan_of({s[0]}, {t[0]}, 3, false, [](const Tensors& p) { return Tensors{p[1] + p[2] * p[2]}; });
          return Tensors{sum[0]};
        });
  });
}

void add_cond(CaseList& list) {
  const TensorFn choose = [](const Tensors& t) {
    return cond(t[0], [&] { return Tensors{t[1] + t[2], t[1]}; }, [&] { return Tensors{t[1] * t[2], t[2]}; });
  };
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::i32}) {
    for (const int64_t flag : {1, 0}) {
      const TensorType type{dtype, {2}};
      list.add("cond", to_string(type) + (flag != 0 ? " true" : " false"),
               {Literal::scalar_int(DType::i1, flag), sample(type, 1, 5), sample(type, 1, 5, 1)}, choose);
    }
  }
  list.add("cond", "one result, nested", {index_of(7)}, [](const Tensors& t) {
    const auto above = [&](double limit) { return greater(t[0], full_like(t[0], limit)); };
    return cond(
        above(5), [&] { return cond(above(6), [&] { return Tensors{t[0] * 2.0}; }, [&] { return t; }); },
        [&] { return Tensors{zeros_like(t[0])}; });
  });
}

void add_case(CaseList& list) {
  const TensorFn choose = [](const Tensors& t) {
    return switch_case(t[0], {[&] { return Tensors{t[1] + t[2], t[1]}; }, [&] { return Tensors{t[1] * t[2], t[2]}; },
                              [&] { return Tensors{t[1] - t[2], t[2] * t[2]}; }});
  };
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::i32}) {
    const TensorType type{dtype, {2}};
    // What is outside picks the last.
    for (const int64_t index : {0, 1, 2, 3, -1}) {
      list.add("case", to_string(type) + " " + std::to_string(index),
               {index_of(index), sample(type, 1, 5), sample(type, 1, 5, 1)}, choose);
    }
  }
  list.add("case", "one branch", {index_of(4)},
           [](const Tensors& t) { return switch_case(t[0], {[&] { return Tensors{t[0] * 2.0}; }}); });
  list.add("case", "nested", {index_of(1)}, [](const Tensors& t) {
    const auto twice = [&] { return Tensors{t[0] * 2.0}; };
    const auto inner = [&] { return switch_case(t[0] + 5.0, {twice, twice, [&] { return t; }}); };
    return switch_case(t[0], {twice, inner});
  });
}

}  // namespace

void add_control_cases(CaseList& list) {
  add_scan(list);
  add_while(list);
  add_cond(list);
  add_case(list);
}

}  // namespace tenon
