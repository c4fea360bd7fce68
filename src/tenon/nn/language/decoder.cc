#include "tenon/nn/language/decoder.h"

#include <fmt/format.h>

#include "tenon/config/define.h"
#include "tenon/ir/mesh_scope.h"
#include "tenon/nn/fill.h"

namespace tenon {

TENON_MODULE(Decoder, Module, "a stack of layers and a norm behind it",
             {"num_layers", "in all; those beyond the last whole pattern are its first ones again"},
             {"pattern", "layers that are repeated in this order"},
             {"form", "scan: one compiled pattern in a loop; unroll: each apart; pipeline: layers over 'pipeline'"},
             {"pipeline", "microbatches, rounds and schedule (gpipe, one_f_one_b) of that form"},
             {"attention_bias", "what layers with SharedBias in their attention add to logits"})

Decoder::Config::Config() : pattern{DecoderLayer::Config{}}, norm(RMSNorm::Config{}) {}

namespace {

// Each layer apart is traced and compiled on its own.
constexpr int64_t kMostUnrolled = 1024;

}  // namespace

void Decoder::Config::check(Checker& c) const {
  c.positive("num_layers", num_layers);
  if (form == StackForm::unroll && num_layers.is_set()) {
    c.require(*num_layers <= kMostUnrolled, "num_layers",
              fmt::format("must be at most {} with form = \"unroll\", is {}", kMostUnrolled, *num_layers));
  }
  c.require(!pattern.empty(), "pattern", "needs at least one layer");
}

Decoder::Decoder(const Config& c)
    : Module(c),
      form_(c.form),
      pipeline_(c.pipeline),
      layers_(this, "layers", c.pattern, c.num_layers, c.form, of_dim(c.input_dim)),
      norm_(this, "norm", c.norm, of_dim(c.input_dim)) {
  if (!c.attention_bias) return;
  attention_bias_.emplace(this, "attention_bias", *c.attention_bias);
  share("attention_bias", "attention_bias");
}

Decoder::Config stack_of(const Slot<TransformerLayer>& layer) {
  Decoder::Config c;
  c.pattern = {layer};
  return c;
}

Decoder::Config encoder_stack() {
  DecoderLayer::Config layer;
  layer.attention.as<MultiheadAttention>().core->mask = SegmentMask{};
  return stack_of(layer);
}

Tensor Decoder::forward(const Tensor& x, const SequenceInfo& info) const {
  if (form_ != StackForm::pipeline) {
    return norm_(layers_.fold(x, [&](auto& layer, const Tensor& h) { return layer(h, info); }));
  }
  if (is_training() && pipeline_.takes_loss(program_mesh())) {
    throw Error(ErrorCode::unsupported, "the schedule one_f_one_b in a model that takes its loss apart from its layers")
        .at(Context::current().path())
        .hint("set pipeline.schedule = \"gpipe\"");
  }
  const auto step = [](auto& layer, const Tensor& h, const SequenceInfo& side) { return layer(h, side); };
  return norm_(layers_.pipeline(x, info, pipeline_, step));
}

LossSum Decoder::loss(const TextBatch& texts, const PipelineEnds<Tensor, TextBatch>& ends) const {
  return layers_.pipeline_loss(texts, pipeline_, ends, [](auto& layer, const Tensor& h, const TextBatch& piece) {
    return layer(h, piece.info);
  });
}

Nest Decoder::init_cache(const CacheSizes& sizes) const {
  return layers_.states([&](const auto& layer) { return layer.call(&TransformerLayer::init_cache, sizes); });
}

Nest Decoder::read_memory(const Nest& cache, const Memory& memory) const {
  const auto read = [&](auto& layer, const Nest& state, Nest carry) {
    return std::pair(layer.call(&TransformerLayer::read_memory, state, memory), std::move(carry));
  };
  return layers_.fold(Nest(), cache, read).first;
}

std::pair<Nest, Tensor> Decoder::extend_step(const Nest& cache, const Tensor& x, const DecodeStep& step) const {
  auto [next, y] = layers_.fold(x, cache, [&](auto& layer, const Nest& state, const Tensor& h) {
    return layer.call(&TransformerLayer::extend_step, state, h, step);
  });
  return {std::move(next), norm_(y)};
}

}  // namespace tenon
