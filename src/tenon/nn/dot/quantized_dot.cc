#include "tenon/nn/dot/quantized_dot.h"

#include <fmt/format.h>

#include <cmath>

#include "tenon/config/define.h"
#include "tenon/config/number_checks.h"
#include "tenon/ir/ops.h"

namespace tenon {

TENON_MODULE(Int8Dot, Dot, "a product of 8-bit integers: rows of x and columns of W by their largest magnitude")
TENON_MODULE(Fp8Dot, Dot, "a product of 8-bit floats, scaled by the largest magnitudes of past steps",
             {"history", "microbatches of training whose largest magnitudes set the scale"},
             {"margin", "powers of 2 between those and the format's largest number"})

namespace {

// x W, dy Wᵀ and xᵀ dy, of [M, K], [K, N] and [M, N].
Tensor product(const Tensor& x, const Tensor& w, DType out) { return dot_general(x, w, {{}, {}, {1}, {0}}, out); }
Tensor by_input(const Tensor& dy, const Tensor& w, DType out) { return dot_general(dy, w, {{}, {}, {1}, {1}}, out); }
Tensor by_weight(const Tensor& x, const Tensor& dy, DType out) { return dot_general(x, dy, {{}, {}, {0}, {0}}, out); }

// ── 8-bit integers ──

constexpr double kInt8Max = 127;
constexpr int64_t kMaxTerms = 133'000;  // 127 * 127 * 133,000 < 2^31

struct Rounded {
  Tensor values;  // i8
  Tensor scale;   // of size 1 along the contracted dimension: x is values * scale
};

Rounded round_to_int8(const Tensor& x, int64_t contracted) {
  const Tensor w = widen(x);
  const Tensor largest = max_keep(abs(w), {contracted});
  const Tensor scale = select(equal(largest, zeros_like(largest)), full_like(largest, 1), largest / kInt8Max);
  return {convert(round_nearest_even(w / scale), DType::i8), scale};
}

CustomVjp::Forward int8_forward(const std::vector<Tensor>& in) {
  const Rounded x = round_to_int8(in[0], 1), w = round_to_int8(in[1], 0);
  const Tensor sums = convert(product(x.values, w.values, DType::i32), wide_dtype(in[0].dtype()));
  return {{convert(sums * x.scale * w.scale, in[0].dtype())}, in};
}

// Scales go to the side of the product where they aren't summed over; 8-bit integers are exact in every float.
std::vector<Tensor> int8_backward(const std::vector<Tensor>& in, const std::vector<Tensor>& cotangents) {
  const DType dtype = in[0].dtype();
  const Rounded x = round_to_int8(in[0], 1), w = round_to_int8(in[1], 0);
  const Tensor dy = widen(cotangents[0]);
  return {by_input(convert(dy * w.scale, dtype), convert(w.values, dtype), dtype),
          by_weight(convert(x.values, dtype), convert(dy * x.scale, dtype), dtype)};
}

// ── 8-bit floats ──

struct Format {
  DType dtype;
  double largest;
};
constexpr Format kForward = {DType::f8e4m3fn, 448}, kBackward = {DType::f8e5m2, 57344};

// The largest magnitude of all, as histories hold it.
Tensor largest_magnitude(const Tensor& x) {
  const Tensor flat = reshape(abs(widen(x)), {-1});
  return convert(reduce_max(flat, {0}), DType::f32);
}

// `history` with `newest` in front, without its oldest.
Tensor push(const Tensor& history, const Tensor& newest) {
  const Tensor first = reshape(newest, {1});
  if (history.dim(0) == 1) return first;
  return concatenate(std::vector<Tensor>{first, slice_dim(history, 0, 0, history.dim(0) - 1)}, 0);
}

// What arrays of this history are multiplied by; 1 before anything is known. Scales are capped so that the product of
// two is finite.
Tensor scale_of(const Tensor& history, const Format& format, double headroom) {
  const Tensor amax = reduce_max(history, {0});
  const Tensor known = logical_and(greater(amax, zeros_like(amax)), is_finite(amax));
  const Tensor scale = minimum(full_like(amax, format.largest / headroom) / amax, full_like(amax, 0x1p60));
  return select(known, scale, full_like(amax, 1));
}

Tensor round_to_fp8(const Tensor& x, const Tensor& scale, const Format& format) {
  const Tensor w = widen(x);
  const Tensor clipped = clamp(w * convert(scale, w.dtype()), -format.largest, format.largest);
  return convert(select(is_finite(w), clipped, w), format.dtype);
}

// Products read the rounded numbers in the dtype they had, which holds them exactly: the form in which XLA finds
// products of 8-bit floats, where the hardware has them.
Tensor scaled_back(const Tensor& sums, const Tensor& scale, DType dtype) {
  return convert(sums * convert(1.0 / scale, sums.dtype()), dtype);
}

// x, W, scales of x, of W and of the gradient, and the history of gradients.
CustomVjp::Forward fp8_forward(const std::vector<Tensor>& in) {
  const DType dtype = in[0].dtype();
  const Tensor x = convert(round_to_fp8(in[0], in[2], kForward), dtype);
  const Tensor w = convert(round_to_fp8(in[1], in[3], kForward), dtype);
  return {{scaled_back(product(x, w, wide_dtype(x.dtype())), in[2] * in[3], dtype)}, in};
}

// The cotangent of the history is its next value (StateSource::cotangent).
std::vector<Tensor> fp8_backward(const std::vector<Tensor>& in, const std::vector<Tensor>& cotangents) {
  const DType dtype = in[0].dtype(), sums = wide_dtype(dtype);
  const Tensor x = convert(round_to_fp8(in[0], in[2], kForward), dtype);
  const Tensor w = convert(round_to_fp8(in[1], in[3], kForward), dtype);
  const Tensor dy = convert(round_to_fp8(cotangents[0], in[4], kBackward), dtype);
  return {scaled_back(by_input(dy, w, sums), in[4] * in[3], dtype),
          scaled_back(by_weight(x, dy, sums), in[2] * in[4], dtype),
          Tensor(),
          Tensor(),
          Tensor(),
          push(in[5], largest_magnitude(cotangents[0]))};
}

}  // namespace

Tensor Int8Dot::forward(const Tensor& x, const Tensor& weight) const {
  if (weight.dim(0) > kMaxTerms) {
    throw Error(ErrorCode::unsupported, fmt::format("sums of {} products of 8-bit integers", weight.dim(0)))
        .at(Context::current().path())
        .hint("use Fp8Dot or PlainDot here");
  }
  const CustomVjp rule{int8_forward, int8_backward};
  return unfold_rows(custom_vjp({fold_rows(x), weight}, rule)[0], x);
}

void Fp8Dot::Config::check(Checker& c) const {
  c.positive("history", history);
  check_interval(c, "margin", margin, '[', 0, 16, ')');
}

Fp8Dot::Fp8Dot(const Config& config)
    : Dot(config),
      headroom_(std::ldexp(1, static_cast<int>(config.margin))),
      input_amax_(this, "input_amax", {config.history}),
      weight_amax_(this, "weight_amax", {config.history}),
      gradient_amax_(this, "gradient_amax", {config.history}, StateSource::cotangent) {}

Tensor Fp8Dot::forward(const Tensor& x, const Tensor& weight) const {
  const Tensor rows = fold_rows(x), inputs = input_amax_, weights = weight_amax_;
  const Tensor gradients = is_training() ? gradient_amax_.update_by_cotangent() : Tensor(gradient_amax_);
  if (is_training()) {
    input_amax_.update(push(inputs, largest_magnitude(rows)));
    weight_amax_.update(push(weights, largest_magnitude(weight)));
  }
  const auto scale = [&](const Tensor& history, const Format& format) { return scale_of(history, format, headroom_); };
  const CustomVjp rule{fp8_forward, fp8_backward};
  const std::vector<Tensor> operands = {
      rows, weight, scale(inputs, kForward), scale(weights, kForward), scale(gradients, kBackward), gradients};
  return unfold_rows(custom_vjp(operands, rule)[0], x);
}

}  // namespace tenon
