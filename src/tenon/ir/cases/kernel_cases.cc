// Cases of the kernels.
#include "tenon/ir/cases/case_list.h"
#include "tenon/ir/op_def.h"
#include "tenon/ir/ops/attention.h"
#include "tenon/ir/ops/elementwise.h"
#include "tenon/ir/ops/shape.h"

namespace tenon {
namespace {

using Tensors = std::vector<Tensor>;

AttentionInputs attention_inputs(const Tensors& t) { return {t[0], t[1], t[2], t[3], t[4], t[5], t[6]}; }

// Queries [1,2,3,2] and keys [1,1,5,2]: two heads share the keys, of which each query sees some.
std::vector<Literal> attention_arrays(DType dtype) {
  const TensorType q{dtype, {1, 2, 3, 2}}, k{dtype, {1, 1, 5, 2}};
  return {sample(q, -1, 1),
          sample(k, -1, 1, 1),
          sample(k, -1, 1, 2),
          ints(DType::i32, {1, 3}, {2, 3, 1}),
          ints(DType::i32, {1, 5}, {0, 1, 2, 0, 1}),
          ints(DType::i32, {1, 3}, {1, 1, 2}),
          ints(DType::i32, {1, 5}, {1, 1, 1, 2, 2})};
}

AttentionOptions attention_options(int64_t block) {
  return {.scale = 0.75, .pattern = {.causal = true, .segments = true}, .mask = {}, .block = block, .partition = {}};
}

TensorFn attention_of(const AttentionOptions& options) {
  return [options](const Tensors& t) {
    const AttentionResult r = attention(attention_inputs(t), options);
    return Tensors{r.context, r.lse};
  };
}

// Emits the backward kernel as the row of the forward one does.
TensorFn backward_of(const AttentionOptions& options) {
  return [options](const Tensors& t) {
    const Tensors inputs(t.begin(), t.begin() + 7);
    const AttentionResult r = attention(attention_inputs(inputs), options);
    const Trace& trace = *r.context.trace();
    const OpInfo& op = trace.op(trace.value(r.context.id()).def);
    Tensors out = op.def->vjp({op.attrs, inputs, {r.context, r.lse}, {t[7], t[8]}, {true, true, true}, op.regions});
    out.resize(3);
    return out;
  };
}

void add_attention(CaseList& list) {
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16}) {
    const double step = dtype == DType::f64 ? kSmooth : 0;
    const std::string name = std::string(to_string(dtype));
    AttentionOptions options = attention_options(8);
    const auto add = [&](const std::string& label, const std::vector<Literal>& inputs) {
      const double any_step = num_elements(inputs[1].dims()) > 0 ? step : 0;  // no keys: lse is -inf
      list.add("attention", name + " " + label, inputs, attention_of(options), any_step);
      std::vector<Literal> more = inputs;
      more.push_back(sample(inputs[0].type(), -1, 1, 5));
      more.push_back(sample({wide_dtype(dtype), {1, 2, 3}}, -1, 1, 6));
      list.add("attention_backward", name + " " + label, more, backward_of(options));
    };
    const std::vector<Literal> arrays = attention_arrays(dtype);
    add("one block", arrays);
    options.block = 2;
    add("blocks that don't divide the keys", arrays);
    options.block = 1;
    options.logit_cap = 0.5;
    options.pattern.window = 2;
    add("a cap and a window", arrays);
    options.pattern = {};
    options.block = 3;
    options.mask = [](const Tensor& queries, const Tensor& keys, const Tensor&, const Tensor&) {
      const Dims shape{queries.dim(0), queries.dim(1), keys.dim(1)};
      return not_equal(broadcast_to(expand_dims(keys, 1), shape), broadcast_to(expand_dims(queries, 2), shape));
    };
    add("a mask function", arrays);
    std::vector<Literal> no_keys = arrays;
    for (const size_t i : {1, 2}) no_keys[i] = Literal({dtype, {1, 1, 0, 2}});
    for (const size_t i : {4, 6}) no_keys[i] = Literal({DType::i32, {1, 0}});
    add("no keys", no_keys);
  }
}

}  // namespace

void add_kernel_cases(CaseList& list) { add_attention(list); }

}  // namespace tenon
