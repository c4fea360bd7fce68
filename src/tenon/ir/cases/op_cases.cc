#include "tenon/ir/cases/op_cases.h"

#include <cmath>

#include "tenon/ir/cases/case_list.h"

namespace tenon {

Literal sample(const TensorType& type, double low, double high, int salt) {
  constexpr double kGolden = 0.6180339887498949;  // its multiples spread evenly modulo 1
  Literal out(type);
  for (int64_t i = 0; i < out.size(); ++i) {
    const double turns = static_cast<double>(i + 1 + 7 * salt) * kGolden;
    const double fraction = turns - std::floor(turns);
    if (type.dtype == DType::i1) {
      out.set_int(i, fraction < 0.5);
    } else {
      out.set(i, low + (high - low) * fraction);
    }
  }
  return out;
}

Literal eighths(const TensorType& type, int salt) {
  Literal out = sample(type, -2, 2, salt);
  for (int64_t i = 0; i < out.size(); ++i) out.set(i, std::round(out.as_double(i) * 8) / 8);
  return out;
}

Literal floats(DType dtype, const Dims& dims, std::vector<double> values) { return Literal::from(dtype, dims, values); }
Literal ints(DType dtype, const Dims& dims, std::vector<int64_t> values) { return Literal::from(dtype, dims, values); }

const std::vector<OpCase>& op_cases() {
  static const std::vector<OpCase> cases = [] {
    CaseList list;
    add_elementwise_cases(list);
    add_compare_cases(list);
    add_shape_cases(list);
    add_contract_cases(list);
    add_index_cases(list);
    add_window_cases(list);
    add_control_cases(list);
    add_manual_cases(list);
    add_kernel_cases(list);
    return list.take();
  }();
  return cases;
}

Graph graph_of(const OpCase& c) { return graph_of(std::vector<const OpCase*>{&c}); }

Graph graph_of(const std::vector<const OpCase*>& cases) {
  std::vector<TensorType> types;
  for (const OpCase* c : cases) {
    for (const Literal& x : c->inputs) types.push_back(x.type());
  }
  return make_graph(types, [&](const std::vector<Tensor>& params) {
    std::vector<Tensor> results;
    auto next = params.begin();
    for (const OpCase* c : cases) {
      const auto end = next + static_cast<int64_t>(c->inputs.size());
      for (const Tensor& t : c->build({next, end})) results.push_back(t);
      next = end;
    }
    return results;
  });
}

}  // namespace tenon
