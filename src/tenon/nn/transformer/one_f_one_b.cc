#include "tenon/nn/transformer/one_f_one_b.h"

#include <utility>

#include "tenon/autodiff/functional.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/ops/manual.h"
#include "tenon/nn/transformer/pipeline_devices.h"
#include "tenon/nn/transformer/pipeline_parts.h"
#include "tenon/nn/transformer/pipeline_support.h"

namespace tenon {
namespace {

using Tensors = std::vector<Tensor>;

Tensor if_valid(const Tensor& valid, const Tensor& x) { return choose(valid, x, zeros_like(x)); }

// Zeros to which gradients of the floats among `inputs` are added, in f32 at least.
Tensors sums_for(const Tensors& inputs) {
  Tensors out;
  for (const Tensor& x : inputs) {
    if (is_float(x.dtype())) out.push_back(zeros({wide_dtype(x.dtype()), x.dims()}));
  }
  return out;
}
// Gradients of the floats among `inputs`, as wide, zero unless `valid` (empty: always).
Tensors gradients_of(const Tensors& pulled, const Tensors& inputs, const Tensor& valid) {
  Tensors out;
  for (const Tensor& g : gradients_or_zero(pulled, inputs)) {
    if (g) out.push_back(valid ? if_valid(valid, widen(g)) : widen(g));
  }
  return out;
}
Tensors add_each(const Tensors& a, const Tensors& b) {
  Tensors out;
  for (size_t i = 0; i < a.size(); ++i) out.push_back(a[i] + b[i]);
  return out;
}

// What the loops are given: the places of devices, their arrays [stages, layers, …], and what the layers and the ends
// of the model use from outside.
struct Given {
  Tensor places;
  Tensors arrays, stage_outside, ends_outside;
};

// On the way to the last device: what has come from the device before; what the layers were given in the ticks until
// now, in rings [2 n - 1, …]; and the layers' own losses. All by device.
struct Arriving {
  Tensors received, rings, losses;
  TENON_TREE(received, rings, losses)
};
// On the way back: by device, cotangents from the one behind and gradients; the loss, and gradients of the ends.
struct Leaving {
  Tensors received, of_arrays, of_stage;
  Tensor loss;
  Tensors of_ends;
  TENON_TREE(received, of_arrays, of_stage, loss, of_ends)
};
// What the parts collected in a tick: the layers by device.
struct Made {
  Tensors begin, stage, end;
  TENON_TREE(begin, stage, end)
};

class Schedule {
 public:
  Schedule(const Mesh& mesh, const PipelineConfig& config, int64_t num_layers, const TracedParts& parts)
      : mesh_(mesh),
        stages_(mesh.size(kPipelineAxis)),
        microbatches_(config.microbatches),
        layers_(num_layers / stages_),
        parts_(parts),
        num_carry_(parts.begin.carry().size()) {}

  struct Result {
    Tensor loss;
    Made collected;  // [M, …], of the layers [stages, M, layers, …]
    Leaving sums;
  };
  Result run(const Given& given) const {
    const auto [filled, arrived] = scan(
        [&](const Tensor& tick, const Arriving& before, const Tensors&) {
          auto [next, last, made] = step_forward(given, tick, before, false);
          return std::pair(std::move(next), std::move(made));
        },
        nothing_arrived(), Tensors(), stages_ - 1);
    const auto [turned, steady] = scan(
        [&](const Tensor& index, const std::pair<Arriving, Leaving>& before, const Tensors&) {
          const Tensor tick = index + static_cast<double>(stages_ - 1);
          auto [next, last, made] = step_forward(given, tick, before.first, true);
          Leaving after = before.second;
          const Tensors cotangents = step_end(given, index, last, after, made);
          step_backward(given, tick, next.rings, cotangents, after);
          return std::pair(std::pair(std::move(next), std::move(after)), std::move(made));
        },
        std::pair(filled, nothing_left(given)), Tensors(), microbatches_);
    const Arriving& all = turned.first;
    const Leaving drained = scan(
                                [&](const Tensor& index, Leaving sums, const Tensors&) {
                                  const Tensor tick = index + static_cast<double>(microbatches_ + stages_ - 1);
                                  step_backward(given, tick, all.rings, {}, sums);
                                  return std::pair(std::move(sums), Tensors());
                                },
                                turned.second, Tensors(), stages_ - 1)
                                .first;
    Result out{drained.loss, {{}, {}, steady.end}, drained};
    for (const Tensor& x : all.losses) out.loss = out.loss + convert(reduce_sum(x, {0}), out.loss.dtype());
    for (size_t i = 0; i < steady.begin.size(); ++i) {
      out.collected.begin.push_back(slice_dim(join(arrived.begin[i], steady.begin[i]), 0, 0, microbatches_));
    }
    out.collected.stage = of_microbatches(given, arrived.stage, steady.stage);
    return out;
  }

 private:
  static Tensor join(const Tensor& a, const Tensor& b) { return concatenate(Tensors{a, b}, 0); }

  Tensors zeros_by_device(const Dims& first) const {
    Tensors out;
    for (TensorType t : parts_.begin.carry()) {
      t.dims.insert(t.dims.begin(), first.begin(), first.end());
      out.push_back(zeros(t));
    }
    return out;
  }
  Arriving nothing_arrived() const {
    Arriving out{zeros_by_device({stages_}), zeros_by_device({stages_, ring_size()}), {}};
    if (parts_.stage.loss()) out.losses.push_back(zeros({parts_.stage.loss()->dtype, {stages_}}));
    return out;
  }
  Leaving nothing_left(const Given& given) const {
    Leaving out{zeros_by_device({stages_}),
                sums_for(given.arrays),
                {},
                zeros(*parts_.end.loss()),
                sums_for(given.ends_outside)};
    for (const Tensor& x : sums_for(given.stage_outside)) {
      Dims dims = x.dims();
      dims.insert(dims.begin(), stages_);
      out.of_stage.push_back(zeros({x.dtype(), dims}));
    }
    return out;
  }

  int64_t ring_size() const { return 2 * stages_ - 1; }
  Tensor ring_place(const Tensor& tick) const {
    const Tensor since = maximum(tick, zeros_like(tick));
    return rem(since, full_like(since, static_cast<double>(ring_size())));
  }
  static Tensor is_place(const Tensor& place, int64_t stage) {
    return equal(place, full_like(place, static_cast<double>(stage)));
  }

  StageOutput layers(const Tensor& place, const Tensor& microbatch, const Tensors& arrays, const Tensors& carry,
                     const Tensors& outside) const {
    Tensors args{microbatch, place * static_cast<double>(layers_)};
    extend(args, arrays);
    extend(args, carry);
    return parts_.stage(args, mapped(parts_.stage.outside(), outside));
  }

  // Sends to the next device (by = 1) or the one before (-1). Who is sent nothing has zeros.
  Tensors send(const Tensors& values, int64_t by) const {
    std::vector<std::pair<int64_t, int64_t>> hops;
    for (int64_t s = 0; s < stages_; ++s) {
      if (s + by >= 0 && s + by < stages_) hops.emplace_back(s, s + by);
    }
    Tensors out;
    for (const Tensor& x : values) out.push_back(collective_permute(x, kPipelineAxis, hops));
    return out;
  }
  static Tensors from_device(const Tensors& values, int64_t device) {
    Tensors out;
    for (const Tensor& x : values) out.push_back(collective_broadcast(x, kPipelineAxis, device));
    return out;
  }

  // Microbatch m reaches device s at tick m + s. What the last one has made is for all, if they want it.
  struct Forward {
    Arriving next;
    Tensors last;
    Made made;
  };
  Forward step_forward(const Given& given, const Tensor& tick, const Arriving& before, bool wants_last) const {
    const StageOutput begun =
        parts_.begin({clamped(tick, microbatches_ - 1)}, mapped(parts_.ends_outside, given.ends_outside));
    DeviceArrays in{{given.places}, {tick}};
    extend(in.own, given.arrays);
    extend(in.own, before.received);
    extend(in.own, before.rings);
    extend(in.common, given.stage_outside);
    extend(in.common, begun.carry);
    const size_t num_losses = before.losses.size(), num_collected = parts_.stage.num_collected();
    const auto body = [&](const DeviceArrays& t) {
      TensorReader own(t.own), common(t.common);
      const Tensor place = own.take_one(), number = common.take_one() - place;
      const Tensors arrays = own.take(given.arrays.size()), received = own.take(num_carry_);
      const Tensors rings = own.take(num_carry_), outside = common.take(given.stage_outside.size());
      const Tensors first = common.take(num_carry_);
      Tensors carry, kept;
      for (size_t i = 0; i < num_carry_; ++i) {
        carry.push_back(choose(is_place(place, 0), first[i], received[i]));
        kept.push_back(dynamic_update_index(rings[i], carry[i], ring_place(number + place)));
      }
      const Tensor microbatch = clamped(number, microbatches_ - 1);
      const StageOutput made = layers(place, microbatch, arrays, carry, outside);
      DeviceArrays out{send(made.carry, 1), wants_last ? from_device(made.carry, stages_ - 1) : Tensors()};
      extend(out.own, kept);
      if (made.loss) out.own.push_back(if_valid(equal(number, microbatch), made.loss));
      extend(out.own, made.collected);
      return out;
    };
    const DeviceArrays out =
        on_devices(mesh_, in, 2 * num_carry_ + num_losses + num_collected, wants_last ? num_carry_ : 0, body);
    TensorReader own(out.own);
    Forward result{{own.take(num_carry_), own.take(num_carry_), add_each(before.losses, own.take(num_losses))},
                   out.common,
                   {begun.collected, own.rest(), {}}};
    return result;
  }

  // The loss of what the last device has made of microbatch `index`, added; the cotangents for that device.
  Tensors step_end(const Given& given, const Tensor& index, const Tensors& last, Leaving& sums, Made& made) const {
    Tensors inputs = last;
    extend(inputs, given.ends_outside);
    const auto f = [&](const Tensors& t) {
      TensorReader reader(t);
      Tensors args{index};
      extend(args, reader.take(num_carry_));
      const StageOutput end = parts_.end(args, mapped(parts_.ends_outside, reader.rest()));
      Tensors out{end.loss};
      extend(out, end.collected);
      return out;
    };
    const Vjp both = vjp(f, inputs, std::vector<bool>(inputs.size(), true), 1);
    Tensors cts(both.results.size());
    cts[0] = full_like(both.results[0], 1);
    const Tensors pulled = gradients_or_zero(both.pull(cts), inputs);
    TensorReader reader(pulled);
    const Tensors cotangents = reader.take(num_carry_);
    sums.loss = sums.loss + both.results[0];
    sums.of_ends = add_each(sums.of_ends, gradients_of(reader.rest(), given.ends_outside, {}));
    made.end = {both.results.begin() + 1, both.results.end()};
    return cotangents;
  }

  // The gradient of microbatch m leaves device s at tick m + 2 (n - 1) - s. `cotangents` are those that the last device
  // starts from; none when it has no microbatch any more.
  void step_backward(const Given& given, const Tensor& tick, const Tensors& rings, const Tensors& cotangents,
                     Leaving& sums) const {
    DeviceArrays in{{given.places}, {tick}};
    extend(in.own, given.arrays);
    extend(in.own, rings);
    extend(in.own, sums.received);
    extend(in.common, given.stage_outside);
    extend(in.common, cotangents);
    const auto body = [&](const DeviceArrays& t) { return pull_layers(given, t); };
    const size_t num_own = num_carry_ + sums.of_arrays.size() + sums.of_stage.size();
    const DeviceArrays out = on_devices(mesh_, in, num_own, num_carry_, body);
    TensorReader own(out.own);
    sums.received = own.take(num_carry_);
    sums.of_arrays = add_each(sums.of_arrays, own.take(sums.of_arrays.size()));
    sums.of_stage = add_each(sums.of_stage, own.rest());
    sums.of_ends = add_each(sums.of_ends, pull_begin(given, tick - 2.0 * static_cast<double>(stages_ - 1), out.common));
  }

  // On a device. What the first one gives is for all.
  DeviceArrays pull_layers(const Given& given, const DeviceArrays& t) const {
    TensorReader own(t.own), common(t.common);
    const Tensor place = own.take_one(), tick = common.take_one();
    Tensors inputs = own.take(given.arrays.size());
    const Tensor behind = place * -1.0 + static_cast<double>(stages_ - 1);
    const Tensor number = tick - behind - static_cast<double>(stages_ - 1);
    const Tensor microbatch = clamped(number, microbatches_ - 1), valid = equal(number, microbatch);
    const Tensor at = ring_place(tick - behind * 2.0);
    for (const Tensor& ring : own.take(num_carry_)) inputs.push_back(dynamic_index(ring, at));
    extend(inputs, common.take(given.stage_outside.size()));
    Tensors cts = own.take(num_carry_);
    const Tensors from_end = common.rest();
    for (size_t i = 0; i < from_end.size(); ++i) cts[i] = choose(is_place(place, stages_ - 1), from_end[i], cts[i]);

    const auto f = [&](const Tensors& args) {
      TensorReader reader(args);
      const Tensors arrays = reader.take(given.arrays.size()), carry = reader.take(num_carry_);
      const StageOutput out = layers(place, microbatch, arrays, carry, reader.rest());
      Tensors results = out.carry;
      if (out.loss) results.push_back(out.loss);
      return results;
    };
    const Vjp both = vjp(f, inputs, std::vector<bool>(inputs.size(), true));
    if (parts_.stage.loss()) cts.push_back(full_like(both.results.back(), 1));
    const Tensors pulled = both.pull(cts);
    TensorReader gradients(pulled), sources(inputs);
    const Tensors of_arrays =
        gradients_of(gradients.take(given.arrays.size()), sources.take(given.arrays.size()), valid);
    const Tensors received = gradients_or_zero(gradients.take(num_carry_), sources.take(num_carry_));
    DeviceArrays out{send(received, -1), from_device(received, 0)};
    extend(out.own, of_arrays);
    extend(out.own, gradients_of(gradients.rest(), sources.rest(), valid));
    return out;
  }

  // Gradients of what the ends use, from the cotangents of what microbatch `number`, if there is one, began with.
  Tensors pull_begin(const Given& given, const Tensor& number, const Tensors& cotangents) const {
    const Tensor microbatch = clamped(number, microbatches_ - 1);
    const auto f = [&](const Tensors& t) { return parts_.begin({microbatch}, mapped(parts_.ends_outside, t)).carry; };
    const Vjp both = vjp(f, given.ends_outside, std::vector<bool>(given.ends_outside.size(), true));
    return gradients_of(both.pull(cotangents), given.ends_outside, equal(number, microbatch));
  }

  // [ticks, stages, …] of the ticks in which microbatches arrive -> [stages, M, …]: device s has its first at tick s.
  Tensors of_microbatches(const Given& given, const Tensors& arrived, const Tensors& steady) const {
    if (steady.empty()) return {};
    DeviceArrays in{{given.places}, {}};
    for (size_t i = 0; i < steady.size(); ++i) {
      const Tensor all = join(arrived[i], steady[i]);
      Dims order{1, 0};
      for (int64_t d = 2; d < all.rank(); ++d) order.push_back(d);
      in.own.push_back(transpose(all, order));
    }
    const auto body = [&](const DeviceArrays& t) {
      DeviceArrays out;
      for (size_t i = 1; i < t.own.size(); ++i) out.own.push_back(entries_from(t.own[i], t.own[0], microbatches_));
      return out;
    };
    return on_devices(mesh_, in, steady.size(), 0, body).own;
  }

  const Mesh& mesh_;
  int64_t stages_, microbatches_, layers_;
  const TracedParts& parts_;
  size_t num_carry_;
};

// The loops as one function of places, arrays, what layers use and what the ends use. Its results are the loss and what
// was collected; its residuals the loss's gradients by each float that it is given.
CustomVjp::Forward run_loops(const Schedule& schedule, const TracedParts& parts, const Tensors& inputs) {
  TensorReader reader(inputs);
  Given given{reader.take_one(), {}, {}, {}};
  const size_t num_outside = parts.stage.outside().size() + parts.ends_outside.size();
  given.arrays = reader.take(inputs.size() - 1 - num_outside);
  given.stage_outside = reader.take(parts.stage.outside().size());
  given.ends_outside = reader.rest();
  const Schedule::Result result = schedule.run(given);
  CustomVjp::Forward out{{result.loss}, {}};
  extend(out.results, result.collected.begin);
  extend(out.results, result.collected.stage);
  extend(out.results, result.collected.end);
  Tensors sums = result.sums.of_arrays;
  for (const Tensor& x : result.sums.of_stage) sums.push_back(reduce_sum(x, {0}));
  extend(sums, result.sums.of_ends);
  size_t next = 0;
  for (size_t i = 1; i < inputs.size(); ++i) {
    if (is_float(inputs[i].dtype())) out.residuals.push_back(convert(sums.at(next++), inputs[i].dtype()));
  }
  return out;
}

Tensors differentiated(const Schedule& schedule, const TracedParts& parts, const Tensors& inputs) {
  const auto backward = [&](const Tensors& gradients, const Tensors& cts) {
    Tensors out(inputs.size());
    size_t next = 0;
    for (size_t i = 1; i < inputs.size(); ++i) {
      if (!is_float(inputs[i].dtype())) continue;
      const Tensor& g = gradients[next++];
      out[i] = g * convert(cts[0], g.dtype());
    }
    return out;
  };
  // Not for remat policies of modules around it: there is nothing to compute again.
  Trace& trace = current_trace();
  const MarkScope mark(trace, {trace.mark().path, kNoId});
  Tensors out = custom_vjp(inputs, {[&](const Tensors& in) { return run_loops(schedule, parts, in); }, backward});
  for (size_t i = 1; i < out.size(); ++i) out[i] = stop_gradient(out[i]);
  return out;
}

}  // namespace

PipelineLoss run_one_f_one_b(const Mesh& mesh, const PipelineConfig& config, int64_t num_layers, const Tensors& arrays,
                             const PipelineParts& parts) {
  check_pipeline(mesh, config, num_layers);
  Trace& trace = current_trace();
  const int64_t stages = mesh.size(kPipelineAxis);
  Tensors inputs{iota({DType::i32, {stages}}, 0)};
  std::vector<TensorType> local;
  for (const Tensor& a : arrays) {
    inputs.push_back(split_layers(a, {stages}));
    local.push_back({a.dtype(), {inputs.back().dims().begin() + 1, inputs.back().dims().end()}});
  }
  const TracedParts traced(trace, mesh, local, parts);
  for (const ValueId v : traced.stage.outside()) inputs.push_back(trace.tensor(v));
  for (const ValueId v : traced.ends_outside) inputs.push_back(trace.tensor(v));
  const Tensors out = differentiated(Schedule(mesh, config, num_layers, traced), traced, inputs);
  TensorReader reader(out);
  PipelineLoss result{reader.take_one(), reader.take(traced.begin.num_collected()), {}, {}};
  for (const Tensor& x : reader.take(traced.stage.num_collected())) result.stage.push_back(by_microbatch(x, 1));
  result.end = reader.rest();
  return result;
}

}  // namespace tenon
