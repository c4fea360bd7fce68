#include "tenon/experiments/austen_objectives.h"

#include "tenon/config/define.h"
#include "tenon/config/number_checks.h"
#include "tenon/data/span_corruption.h"
#include "tenon/data/text_dataset.h"
#include "tenon/experiments/austen.h"
#include "tenon/experiments/experiment.h"
#include "tenon/nn/language/contrastive.h"
#include "tenon/nn/language/distilled_lm.h"
#include "tenon/nn/language/encoder_decoder.h"
#include "tenon/nn/language/masked_lm.h"
#include "tenon/nn/transformer/cross_decoder_layer.h"
#include "tenon/optim/learner.h"
#include "tenon/optim/optimizer_by_path.h"
#include "tenon/text/byte_vocab.h"

namespace tenon {

TENON_FN_TYPE(AustenMlm, Trainer::Config(), "a masked language model of bytes on a few megabytes of text",
              {"mask_rate", "probability that a byte is to be told"}, {"data_path", "a text file, or a folder of them"})
TENON_FN_TYPE(AustenDistill, Trainer::Config(), "a small model of bytes that learns from a run of austen",
              {"temperature", "of both models' logits where they are compared"},
              {"soft_weight", "the teacher's part in the loss"}, {"teacher", "the directory of a run of austen"},
              {"data_path", "a text file, or a folder of them"})
TENON_FN_TYPE(AustenPairs, Trainer::Config(), "an encoder of text for which neighbouring pieces are near each other",
              {"sequence_length", "bytes in a pair of neighbours"}, {"batch_size", "pairs, each other's negatives"},
              {"data_path", "a text file, or a folder of them"})

TENON_FN_TYPE(AustenSpans, Trainer::Config(), "an encoder-decoder of bytes that fills gaps in a few megabytes of text",
              {"num_layers", "of the encoder, and of the decoder"},
              {"sequence_length", "bytes in a text with its gaps"},
              {"noise_rate", "part of a text's bytes that is taken out"},
              {"mean_span_length", "bytes of a gap, on average"}, {"data_path", "a text file, or a folder of them"})

namespace {

template <class Args>
Austen sizes_of(const Args& a) {
  return {.num_layers = a.num_layers,
          .model_dim = a.model_dim,
          .num_heads = a.num_heads,
          .hidden_dim = a.hidden_dim,
          .batch_size = a.batch_size,
          .sequence_length = a.sequence_length,
          .max_steps = a.max_steps,
          .peak_learning_rate = a.peak_learning_rate,
          .data_path = a.data_path};
}

Decoder::Config both_ways(const Slot<Decoder>& decoder) {
  Decoder::Config c = decoder.as<Decoder>();
  c.pattern.at(0).as<DecoderLayer>().attention.as<MultiheadAttention>().core->mask = SegmentMask{};
  return c;
}

// The same layers with attention to a memory in them.
Decoder::Config with_memory(const Slot<Decoder>& decoder) {
  Decoder::Config c = decoder.as<Decoder>();
  const DecoderLayer::Config& layer = c.pattern.at(0).as<DecoderLayer>();
  const MultiheadAttention::Config& attention = layer.attention.as<MultiheadAttention>();
  CrossDecoderLayer::Config out;
  out.attention = attention;
  CrossAttention::Config& cross = out.cross_attention.as<CrossAttention>();
  cross.num_heads = attention.num_heads;
  cross.output = attention.output;
  out.feed_forward = layer.feed_forward;
  c.pattern.at(0) = out;
  return c;
}

SpanCorruption::Config spans(const AustenSpans& args, const TextDataset::Config& text) {
  SpanCorruption::Config c;
  c.batch_size = args.batch_size;
  c.sequence_length = args.sequence_length;
  c.noise_rate = args.noise_rate;
  c.mean_span_length = args.mean_span_length;
  TextDataset::Config source;
  source.path = text.path;
  source.eval_fraction = text.eval_fraction;
  c.text = source;
  return c;
}

// The rules of austen's optimizer, for modules at other paths.
void move_rules(Trainer::Config& c, const std::string& stack, const std::string& above) {
  auto& rules = c.learner.as<Learner>().optimizer.as<OptimizerByPath>().rules;
  rules.at(0).as<OptimizerRule>().path = "^" + above + stack + "\\.layers\\..*weight$";
  rules.at(1).as<OptimizerRule>().path = "^" + above + "embedding\\.";
}

}  // namespace

void AustenMlm::check(Checker& c) const {
  sizes_of(*this).check(c);
  check_interval(c, "mask_rate", mask_rate, '(', 0, 1, ']');
}

Trainer::Config AustenMlm::operator()() const {
  Trainer::Config c = sizes_of(*this)();
  const CausalLm::Config base = c.model.as<CausalLm>();
  MaskedLm::Config m;
  m.vocab_size = kByteVocabSize + 1;
  m.mask_token = kByteVocabSize;
  m.kept_tokens = {kBosToken};
  m.mask_rate = mask_rate;
  m.model_dim = base.model_dim;
  m.embedding = base.embedding;
  m.encoder = both_ways(base.decoder);
  c.model = m;
  move_rules(c, "encoder", "");
  return c;
}

void AustenDistill::check(Checker& c) const {
  sizes_of(*this).check(c);
  c.positive("temperature", temperature);
  check_interval(c, "soft_weight", soft_weight, '[', 0, 1, ']');
}

Trainer::Config AustenDistill::operator()() const {
  Trainer::Config c = sizes_of(*this)();
  DistilledLm::Config m;
  m.vocab_size = kByteVocabSize;
  m.student = c.model.as<CausalLm>();
  m.teacher = Austen{}().model.as<CausalLm>();
  m.temperature = temperature;
  m.soft_weight = soft_weight;
  c.model = m;
  c.init_from = {.checkpoint = teacher, .tensors = "", .into = "teacher"};
  move_rules(c, "decoder", "student\\.");
  return c;
}

void AustenPairs::check(Checker& c) const {
  sizes_of(*this).check(c);
  c.require(sequence_length % 2 == 0, "sequence_length", "must be even: rows are cut into pairs");
}

Trainer::Config AustenPairs::operator()() const {
  Trainer::Config c = sizes_of(*this)();
  const CausalLm::Config base = c.model.as<CausalLm>();
  ContrastivePairs::Config m;
  m.vocab_size = kByteVocabSize;
  auto& encoder = m.encoder.as<TextEncoder>();
  encoder.model_dim = base.model_dim;
  encoder.embedding = base.embedding;
  encoder.encoder = both_ways(base.decoder);
  c.model = m;
  move_rules(c, "encoder", "encoder\\.");
  return c;
}

void AustenSpans::check(Checker& c) const {
  sizes_of(*this).check(c);
  spans(*this, {}).check(c);
}

Trainer::Config AustenSpans::operator()() const {
  Trainer::Config c = sizes_of(*this)();
  const CausalLm::Config base = c.model.as<CausalLm>();
  const SpanCorruption::Config data = spans(*this, c.data.as<TextDataset>());
  EncoderDecoder::Config m;
  m.vocab_size = kByteVocabSize + data.count_gaps(sequence_length).gaps;
  m.model_dim = base.model_dim;
  m.embedding = base.embedding;
  m.encoder = both_ways(base.decoder);
  m.decoder = with_memory(base.decoder);
  c.model = m;
  c.data = data;
  move_rules(c, "(encoder|decoder)", "");
  return c;
}

void register_austen_objectives(ExperimentRegistry& registry) {
  registry.add({"austen_mlm", "austen's layers, looking both ways: fills gaps in the novels", AustenMlm{}});
  registry.add({"austen_distill", "a model half as wide and deep learns from a run of austen", AustenDistill{}});
  registry.add({"austen_spans", "an encoder-decoder that fills gaps in the novels, as T5 learns", AustenSpans{}});
  registry.add({"austen_pairs", "neighbouring pieces of the novels as near vectors, by contrast", AustenPairs{}});
}

}  // namespace tenon
