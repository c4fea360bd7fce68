#include "tenon/kernels/cpu/attention_call.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tenon/kernels/cpu/attention.h"
#include "tenon/kernels/cpu/ffi_support.h"

namespace tenon {
namespace {

namespace ffi = xla::ffi;

constexpr const char *kForwardTarget = "tenon_cpu_attention", *kBackwardTarget = "tenon_cpu_attention_backward";

// ── in programs ──

// Below so many queries a key head, putting keys and values in order costs more than it saves.
constexpr int64_t kFewestQueries = 8;

std::string refuse_attention(const KernelUse& use) {
  const TensorType &q = use.operands[0], &k = use.operands[1];
  if (use.op.regions.size() > 1) return "the mask is a function it doesn't know";
  if (q.dtype != DType::f32 && q.dtype != DType::bf16)
    return fmt::format("takes f32 and bf16, not {}", to_string(q.dtype));
  for (const int64_t d : {q.dims[0], q.dims[1], q.dims[2], q.dims[3], k.dims[2]}) {
    if (d == 0) return "an array is empty";
  }
  const int64_t queries = q.dims[2] * (q.dims[1] / k.dims[1]);
  if (queries < kFewestQueries) return fmt::format("{} queries a key head are too few to pay", queries);
  return {};
}

// The compiler keeps arrays row-major in loops, as what the backward pass needs: another order here only adds copies.
std::string layout(const TensorType& type) {
  if (type.rank() == 4) return "dense<[3, 2, 1, 0]> : tensor<4xindex>";
  return type.rank() == 3 ? "dense<[2, 1, 0]> : tensor<3xindex>" : "dense<[1, 0]> : tensor<2xindex>";
}
std::string layouts(const std::vector<TensorType>& types) {
  std::vector<std::string> out;
  for (const TensorType& t : types) out.push_back(layout(t));
  return fmt::format("{}", fmt::join(out, ", "));
}

std::vector<Tensor> lower(const KernelUse& use, const char* target, const std::vector<Tensor>& operands) {
  const Attrs& a = use.attrs();
  const std::string attributes = fmt::format(
      "api_version = 4 : i32, backend_config = {{scale = {:e} : f64, logit_cap = {:e} : f64, "
      "causal = {}, window = {} : i64, segments = {}}}, operand_layouts = [{}], "
      "result_layouts = [{}]",
      a.number("scale"), a.number("logit_cap"), a.flag("causal"), a.integer("window"), a.flag("segments"),
      layouts(use.operands), layouts(use.results));
  return custom_call({target, attributes}, operands, use.results);
}

// ── when they run ──

struct Options {
  double scale, logit_cap;
  bool causal, segments;
  int64_t window;
};

HeadStrides strides(int64_t heads, int64_t tokens, int64_t H) { return {tokens * heads * H, tokens * H, H}; }

AttentionShape shape_of(const ffi::AnyBuffer& query, const ffi::AnyBuffer& key, const Options& o) {
  const auto q = query.dimensions(), k = key.dimensions();
  const int64_t B = q[0], N = q[1], T = q[2], H = q[3], K = k[1], S = k[2];
  return {B,
          N,
          K,
          T,
          S,
          H,
          query.element_type() == ffi::F32 ? Element::f32 : Element::bf16,
          strides(N, T, H),
          strides(K, S, H),
          o.scale,
          o.logit_cap,
          o.causal,
          o.segments,
          o.window};
}

using Ints = ffi::Buffer<ffi::S32>;
using Floats = ffi::Buffer<ffi::F32>;

ffi::Error forward(ffi::ThreadPool pool, ffi::AnyBuffer query, ffi::AnyBuffer key, ffi::AnyBuffer value,
                   Ints query_positions, Ints key_positions, Ints query_segments, Ints key_segments,
                   ffi::Result<ffi::AnyBuffer> context, ffi::ResultBuffer<ffi::F32> lse, double scale, double logit_cap,
                   bool causal, int64_t window, bool segments) {
  const AttentionForward arrays{query.untyped_data(),
                                key.untyped_data(),
                                value.untyped_data(),
                                {query_positions.typed_data(), key_positions.typed_data(), query_segments.typed_data(),
                                 key_segments.typed_data()},
                                context->untyped_data(),
                                lse->typed_data()};
  attention_forward(shape_of(query, key, {scale, logit_cap, causal, segments, window}), arrays, workers_of(pool));
  return ffi::Error::Success();
}

ffi::Error backward(ffi::ThreadPool pool, ffi::AnyBuffer query, ffi::AnyBuffer key, ffi::AnyBuffer value,
                    Ints query_positions, Ints key_positions, Ints query_segments, Ints key_segments,
                    ffi::AnyBuffer context, Floats lse, ffi::AnyBuffer context_ct, Floats lse_ct,
                    ffi::Result<ffi::AnyBuffer> query_ct, ffi::Result<ffi::AnyBuffer> key_ct,
                    ffi::Result<ffi::AnyBuffer> value_ct, double scale, double logit_cap, bool causal, int64_t window,
                    bool segments) {
  const AttentionBackward arrays{query.untyped_data(),
                                 key.untyped_data(),
                                 value.untyped_data(),
                                 {query_positions.typed_data(), key_positions.typed_data(), query_segments.typed_data(),
                                  key_segments.typed_data()},
                                 context.untyped_data(),
                                 context_ct.untyped_data(),
                                 lse.typed_data(),
                                 lse_ct.typed_data(),
                                 query_ct->untyped_data(),
                                 key_ct->untyped_data(),
                                 value_ct->untyped_data()};
  attention_backward(shape_of(query, key, {scale, logit_cap, causal, segments, window}), arrays, workers_of(pool));
  return ffi::Error::Success();
}

// What both bind: threads, then query, key, value and the places.
auto inputs() {
  return ffi::Ffi::Bind()
      .Ctx<ffi::ThreadPool>()
      .Arg<ffi::AnyBuffer>()
      .Arg<ffi::AnyBuffer>()
      .Arg<ffi::AnyBuffer>()
      .Arg<Ints>()
      .Arg<Ints>()
      .Arg<Ints>()
      .Arg<Ints>();
}
template <class Binding>
auto options(Binding&& binding) {
  return std::move(binding)
      .template Attr<double>("scale")
      .template Attr<double>("logit_cap")
      .template Attr<bool>("causal")
      .template Attr<int64_t>("window")
      .template Attr<bool>("segments");
}

XLA_FFI_DEFINE_HANDLER(kForward, forward, options(inputs().Ret<ffi::AnyBuffer>().Ret<Floats>()));
XLA_FFI_DEFINE_HANDLER(kBackward, backward,
                       options(inputs()
                                   .Arg<ffi::AnyBuffer>()
                                   .Arg<Floats>()
                                   .Arg<ffi::AnyBuffer>()
                                   .Arg<Floats>()
                                   .Ret<ffi::AnyBuffer>()
                                   .Ret<ffi::AnyBuffer>()
                                   .Ret<ffi::AnyBuffer>()));

}  // namespace

KernelList attention_kernels() {
  using Operands = const std::vector<Tensor>&;
  constexpr std::string_view kTakes =
      "f32 and bf16 (products of bf16 pairs with AVX512-BF16, else in f32; softmax in f32); any sizes; causal, sliding "
      "window and segments, skipping blocks of keys that no query of a block sees; grouped queries; logit cap; at "
      "least 8 queries a key head";
  return {{"attention", "cpu_attention", refuse_attention,
           [](const KernelUse& use, Operands operands) { return lower(use, kForwardTarget, operands); }, kTakes},
          {"attention_backward", "cpu_attention", refuse_attention,
           [](const KernelUse& use, Operands operands) { return lower(use, kBackwardTarget, operands); }, kTakes}};
}

std::map<std::string, void*> attention_handlers() {
  return {{kForwardTarget, reinterpret_cast<void*>(kForward)}, {kBackwardTarget, reinterpret_cast<void*>(kBackward)}};
}

}  // namespace tenon
