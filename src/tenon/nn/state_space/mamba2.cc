#include "tenon/nn/state_space/mamba2.h"

#include "tenon/config/define.h"
#include "tenon/config/number_checks.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/position/token_order.h"
#include "tenon/nn/state_space/initializers.h"

namespace tenon {

TENON_MODULE(Mamba2, Attention, "a gated linear recurrence over the tokens, a decay a head and token; Dao & Gu 2024",
             {"inner_dim", "size of all heads together, a number or a function of input_dim"},
             {"head_dim", "size of a head"}, {"state_dim", "numbers that each element of a head carries on"},
             {"num_groups", "groups of heads that share b and c"},
             {"chunk_size", "tokens that are computed together, by products of matrices"},
             {"min_dt", "step sizes are at least this"}, {"max_dt", "step sizes are at most this; empty: any"},
             {"linear", "z, x and dt"}, {"group_linear", "b and c"}, {"conv", "of x"}, {"group_conv", "of b and c"},
             {"a_init", "initializer of a_log: states decay by exp(-exp(a_log) dt)"},
             {"dt_init", "initializer of dt_bias: dt = softplus(linear + dt_bias)"},
             {"inner_partition", "mesh axes of x [B,T,inner_dim]"})

namespace {

CausalConv::Config replicated_conv() {
  CausalConv::Config c;
  c.kernel_partition = {};
  return c;
}

Linear::Config replicated_linear() {
  Linear::Config c;
  c.weight_partition = {"fsdp", {}};
  return c;
}

auto channels(int64_t count) {
  return [=](CausalConv::Config& c) { c.input_dim = count; };
}

// log(1 + exp(x)).
Tensor softplus(const Tensor& x) { return log1p(exp(neg(abs(x)))) + maximum(x, zeros_like(x)); }

}  // namespace

Mamba2::Config::Config()
    : linear(Linear::Config{}),
      group_linear(replicated_linear()),
      conv(CausalConv::Config{}),
      group_conv(replicated_conv()),
      norm(GatedNorm::Config{}),
      output(output_linear()),
      a_init(LogOfUniform{}),
      dt_init(InverseSoftplusOfLogUniform{}) {}

void Mamba2::Config::check(Checker& c) const {
  c.positive("head_dim", head_dim);
  c.positive("state_dim", state_dim);
  c.positive("num_groups", num_groups);
  c.positive("chunk_size", chunk_size);
  check_not_negative(c, "min_dt", min_dt);
  c.require(!max_dt || *max_dt > min_dt, "max_dt", "must be above min_dt");
  c.positive("input_dim", input_dim);
  if (head_dim < 1 || num_groups < 1) return;
  const int64_t inner = inner_dim(input_dim);
  c.require(inner > 0 && inner % (head_dim * num_groups) == 0, "inner_dim",
            "must be a multiple of head_dim * num_groups");
}

Mamba2::Mamba2(const Config& c)
    : Attention(c),
      inner_dim_(c.inner_dim(c.input_dim)),
      head_dim_(c.head_dim),
      state_dim_(c.state_dim),
      num_groups_(c.num_groups),
      heads_a_group_(inner_dim_ / (head_dim_ * num_groups_)),
      chunk_size_(c.chunk_size),
      min_dt_(c.min_dt),
      max_dt_(c.max_dt),
      inner_partition_(c.inner_partition),
      z_(this, "z", c.linear, linear_dims(c.input_dim, inner_dim_)),
      x_(this, "x", c.linear, linear_dims(c.input_dim, inner_dim_)),
      b_(this, "b", c.group_linear, linear_dims(c.input_dim, num_groups_ * state_dim_)),
      c_(this, "c", c.group_linear, linear_dims(c.input_dim, num_groups_ * state_dim_)),
      dt_(this, "dt", c.linear, linear_dims(c.input_dim, num_groups_ * heads_a_group_)),
      x_conv_(this, "x_conv", c.conv, channels(inner_dim_)),
      b_conv_(this, "b_conv", c.group_conv, channels(num_groups_ * state_dim_)),
      c_conv_(this, "c_conv", c.group_conv, channels(num_groups_ * state_dim_)),
      norm_(this, "norm", c.norm,
            [&](GatedNorm::Config& n) {
              n.input_dim = inner_dim_;
              n.num_groups = num_groups_;
            }),
      output_(this, "output", c.output, linear_dims(inner_dim_, c.input_dim)),
      a_log_(this, "a_log", {num_groups_ * heads_a_group_}, {{"model"}, c.a_init, 0}),
      dt_bias_(this, "dt_bias", {num_groups_ * heads_a_group_}, {{"model"}, c.dt_init, 0}),
      d_(this, "d", {num_groups_ * heads_a_group_}, {{"model"}, Constant{1}, 0}) {}

Tensor Mamba2::step_sizes(const Tensor& h) const {
  const Tensor raw = dt_(h);
  const DType wide = wide_dtype(raw.dtype());
  Tensor dt = softplus(convert(raw, wide) + convert(dt_bias_.full(), wide));
  if (min_dt_ > 0) dt = maximum(dt, full_like(dt, min_dt_));
  if (max_dt_) dt = minimum(dt, full_like(dt, *max_dt_));
  return reshape(dt, {h.dim(0), h.dim(1), num_groups_, heads_a_group_});
}

SsdInputs Mamba2::ssd_inputs(const Tensor& x, const Tensor& b, const Tensor& c, const Tensor& h) const {
  const int64_t B = h.dim(0), T = h.dim(1), G = num_groups_, R = heads_a_group_;
  SsdInputs in;
  in.x = reshape(x, {B, T, G, R, head_dim_});
  in.b = reshape(b, {B, T, G, state_dim_});
  in.c = reshape(c, {B, T, G, state_dim_});
  in.dt = step_sizes(h);
  const auto by_head = [&](const Param& p) { return reshape(convert(p.full(), in.dt.dtype()), {G, R}); };
  in.a = neg(exp(by_head(a_log_)));
  in.d = by_head(d_);
  return in;
}

Tensor Mamba2::project_output(const Tensor& y, const Tensor& h) const {
  const Tensor joined = shard(reshape(y, {h.dim(0), h.dim(1), inner_dim_}), inner_partition_);
  return tag(output_(norm_(tag(joined, "context"), z_(h))), "o_proj");
}

TensorType Mamba2::state_type(int64_t batch_size, DType dtype) const {
  return {wide_dtype(dtype), {batch_size, num_groups_, state_dim_, heads_a_group_, head_dim_}};
}

Tensor Mamba2::forward(const Tensor& h, const SequenceInfo& info) const {
  require_neighbours();
  const Tensor starts = segment_starts(info.segment_ids);
  const Tensor x = x_conv_(shard(x_(h), inner_partition_), starts);
  SsdInputs in = ssd_inputs(x, b_conv_(b_(h), starts), c_conv_(c_(h), starts), h);
  in.starts = starts;
  return project_output(ssd_scan(in, zeros(state_type(h.dim(0), h.dtype())), chunk_size_).y, h);
}

Nest Mamba2::init_cache(int64_t batch_size, int64_t) const {
  return {{"state", zeros(state_type(batch_size, Context::current().compute_dtype()))},
          {"x", x_conv_.call(&CausalConv::init_cache, batch_size)},
          {"b", b_conv_.call(&CausalConv::init_cache, batch_size)},
          {"c", c_conv_.call(&CausalConv::init_cache, batch_size)}};
}

std::pair<Nest, Tensor> Mamba2::extend_step(const Nest& cache, const Tensor& h, const DecodeStep& step) const {
  const int64_t B = h.dim(0), T = h.dim(1);
  const auto convolve = [&](const Child<CausalConv>& conv, const char* name, const Tensor& input) {
    return conv.call(&CausalConv::extend_step, cache.at(name), input, step.count);
  };
  auto [next_x, x] = convolve(x_conv_, "x", x_(h));
  auto [next_b, b] = convolve(b_conv_, "b", b_(h));
  auto [next_c, c] = convolve(c_conv_, "c", c_(h));
  SsdInputs in = ssd_inputs(x, b, c, h);
  // Padding leaves the state as it is.
  const Tensor live = less(iota({DType::i32, {B, T}}, 1), broadcast_to(column_of(step.count, B), {B, T}));
  in.dt = select(broadcast_in_dim(live, in.dt.dims(), {0, 1}), in.dt, zeros_like(in.dt));
  const Tensor state = convert(cache.at("state"), in.dt.dtype());
  const SsdOutputs out = T == 1 ? ssd_step(in, state) : ssd_scan(in, state, chunk_size_);
  return {Nest{{"state", out.state}, {"x", next_x}, {"b", next_b}, {"c", next_c}}, project_output(out.y, h)};
}

}  // namespace tenon
