// attention, attention_backward.
#include "tenon/ir/ops/attention.h"

#include <algorithm>
#include <cmath>

#include "tenon/ir/ops/attention_backward.h"
#include "tenon/ir/ops/attention_body.h"
#include "tenon/ir/ops/shape.h"
#include "tenon/ir/ops/support.h"
#include "tenon/ir/ops/table.h"

namespace tenon {
namespace {

std::vector<Tensor> vjp_attention(const VjpArgs& a);
double flops_attention(const Trace& trace, const OpInfo& op);
double flops_backward(const Trace& trace, const OpInfo& op);

constexpr KernelDef kForwardKernel{"BNTH,BKSH,BKSH,BT,BS,BT,BS->BNTH,BNT", "B,NK"};
constexpr KernelDef kBackwardKernel{"BNTH,BKSH,BKSH,BT,BS,BT,BS,BNTH,BNT,BNTH,BNT->BNTH,BKSH,BKSH", "B,NK"};
const OpDef kAttention{"attention", infer_kernel,    print_kernel,         eval_kernel,    vjp_attention,
                       {},          flops_attention, Recompute::expensive, &kForwardKernel};
const OpDef kBackward{"attention_backward",
                      infer_kernel,
                      print_kernel,
                      eval_kernel,
                      nullptr,
                      "it is a gradient already; use DotProductAttention for second derivatives",
                      flops_backward,
                      Recompute::expensive,
                      &kBackwardKernel};

// Products of queries with keys and of weights with values.
double flops_attention(const Trace& trace, const OpInfo& op) {
  const Dims& q = trace.value(op.operands[0]).type.dims;
  return 4 * static_cast<double>(num_elements(q)) * static_cast<double>(trace.value(op.operands[1]).type.dims[2]);
}
// The first again, and two for each of them.
double flops_backward(const Trace& trace, const OpInfo& op) { return 2.5 * flops_attention(trace, op); }

std::vector<Tensor> operands(const AttentionInputs& in) {
  return {in.query, in.key, in.value, in.query_positions, in.key_positions, in.query_segments, in.key_segments};
}
AttentionInputs inputs_of(const std::vector<Tensor>& t) { return {t[0], t[1], t[2], t[3], t[4], t[5], t[6]}; }

Attrs attributes(const AttentionOptions& o) {
  return {{"scale", o.scale},           {"logit_cap", o.logit_cap},       {"causal", o.pattern.causal},
          {"window", o.pattern.window}, {"segments", o.pattern.segments}, {"block", o.block}};
}

// `mask` is the region after the body, if there is one.
AttentionOptions options_of(Trace& trace, const Attrs& attrs, std::span<const RegionId> regions) {
  AttentionOptions o{attrs.number("scale"),
                     attrs.number("logit_cap"),
                     {attrs.flag("causal"), attrs.integer("window"), attrs.flag("segments")},
                     {},
                     attrs.integer("block"),
                     attrs.spec("partition")};
  if (regions.size() > 1) {
    o.mask = [&trace, region = regions[1]](const Tensor& tq, const Tensor& tk, const Tensor& sq, const Tensor& sk) {
      const std::vector<Tensor> args{tq, tk, sq, sk};
      return inline_region(trace, region, args)[0];
    };
  }
  return o;
}

void check_shapes(const AttentionInputs& in) {
  const TensorType &q = in.query.type(), &k = in.key.type();
  if (q.rank() != 4 || k.rank() != 4 || in.value.type() != k || q.dtype != k.dtype || !is_float(q.dtype) ||
      q.dims[0] != k.dims[0] || q.dims[3] != k.dims[3] || k.dims[1] == 0 || q.dims[1] % k.dims[1] != 0) {
    shape_error("attention: query {}, key {} and value {}; expected [B,N,T,H], [B,K,S,H] twice, N a multiple of K",
                to_string(q), to_string(k), to_string(in.value.type()));
  }
  const TensorType of_queries{DType::i32, {q.dims[0], q.dims[2]}}, of_keys{DType::i32, {k.dims[0], k.dims[2]}};
  for (const Tensor* t : {&in.query_positions, &in.query_segments}) {
    if (t->type() != of_queries)
      shape_error("attention: queries stand at {}, not {}", to_string(t->type()), to_string(of_queries));
  }
  for (const Tensor* t : {&in.key_positions, &in.key_segments}) {
    if (t->type() != of_keys)
      shape_error("attention: keys stand at {}, not {}", to_string(t->type()), to_string(of_keys));
  }
}

void check_options(const AttentionOptions& o) {
  const auto fail = [](const char* what, double got) {
    throw Error(ErrorCode::invalid_argument, std::string("attention: ") + what)
        .at(std::string(current_trace().path()))
        .got(fmt::format("{}", got));
  };
  if (!std::isfinite(o.scale)) fail("scale must be finite", o.scale);
  if (!std::isfinite(o.logit_cap) || o.logit_cap < 0) fail("logit_cap must be 0 or above", o.logit_cap);
  if (o.pattern.window < 0) fail("window must be 0 or above", static_cast<double>(o.pattern.window));
  if (o.block < 1) fail("block must be above 0", static_cast<double>(o.block));
}

// The mask function on one block of keys.
RegionId trace_mask(const AttentionInputs& in, const AttentionOptions& o) {
  const int64_t B = in.query.dim(0), T = in.query.dim(2), block = std::clamp<int64_t>(in.key.dim(2), 1, o.block);
  const TensorType of_queries{DType::i32, {B, T}}, of_keys{DType::i32, {B, block}};
  const std::vector<TensorType> types{of_queries, of_keys, of_queries, of_keys};
  const RegionId region = trace_region(current_trace(), types, [&](const std::vector<Tensor>& t) {
    return std::vector<Tensor>{o.mask(t[0], t[1], t[2], t[3])};
  });
  const TensorType& got = current_trace().value(current_trace().region(region).results[0]).type;
  const TensorType want{DType::i1, {B, T, block}};
  if (got != want) shape_error("attention: the mask gives {}, not {}", to_string(got), to_string(want));
  return region;
}

std::vector<Tensor> vjp_attention(const VjpArgs& a) {
  Trace& trace = *a.operands[0].trace();
  const AttentionOptions options = options_of(trace, a.attrs, a.regions);
  const Tensor &context = a.results[0], &lse = a.results[1];
  const AttentionPulled pulled{context, lse, a.cotangents[0] ? a.cotangents[0] : zeros_like(context),
                               a.cotangents[1] ? a.cotangents[1] : zeros_like(lse)};
  const AttentionGradients grads = attention_backward(inputs_of(a.operands), pulled, options);
  std::vector<Tensor> out{grads.query, grads.key, grads.value};
  for (size_t i = 0; i < out.size(); ++i) {
    if (!a.active[i]) out[i] = {};
  }
  out.resize(a.operands.size());
  return out;
}

}  // namespace

AttentionResult attention(const AttentionInputs& inputs, const AttentionOptions& options) {
  check_shapes(inputs);
  check_options(options);
  std::vector<RegionId> more;
  if (options.mask) more.push_back(trace_mask(inputs, options));
  const auto body = [&](const std::vector<Tensor>& t) { return attention_body(inputs_of(t), options); };
  const std::vector<Tensor> out =
      emit_kernel(kAttention, operands(inputs), attributes(options), options.partition, body, more);
  return {out[0], out[1]};
}

AttentionGradients attention_backward(const AttentionInputs& inputs, const AttentionPulled& pulled,
                                      const AttentionOptions& options) {
  std::vector<Tensor> all = operands(inputs);
  all.insert(all.end(), {pulled.context, pulled.lse, pulled.context_cotangent, pulled.lse_cotangent});
  std::vector<RegionId> more;
  if (options.mask) more.push_back(trace_mask(inputs, options));
  const auto body = [&](const std::vector<Tensor>& t) {
    return attention_backward_body(inputs_of(t), options, {t[7], t[8], t[9], t[10]});
  };
  const std::vector<Tensor> out = emit_kernel(kBackward, all, attributes(options), options.partition, body, more);
  return {out[0], out[1], out[2]};
}

std::span<const OpDef* const> attention_defs() {
  static const OpDef* const defs[] = {&kAttention, &kBackward};
  return defs;
}

}  // namespace tenon
