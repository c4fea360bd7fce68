#include "tenon/data/span_corruption.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "tenon/config/build_part.h"
#include "tenon/config/define.h"
#include "tenon/config/number_checks.h"
#include "tenon/data/document.h"
#include "tenon/data/order.h"
#include "tenon/data/text_dataset.h"
#include "tenon/text/sentinel_tokenizer.h"

namespace tenon {

TENON_MODULE(SpanCorruption, LanguageDataset, "texts with gaps as sources, what belongs there as targets",
             {"text", "where texts come from"}, {"noise_rate", "part of a text's tokens that is taken out"},
             {"mean_span_length", "tokens of a gap, on average"})

SpanCorruption::Config::Config() : text(TextDataset::Config{}) {}

void SpanCorruption::Config::check(Checker& c) const {
  c.at_least("sequence_length", sequence_length, 2);
  check_interval(c, "noise_rate", noise_rate, '(', 0, 1, ')');
  c.at_least("mean_span_length", mean_span_length, 1);
}

GapCounts SpanCorruption::Config::count_gaps(int64_t num_tokens) const {
  const double noise = std::round(static_cast<double>(num_tokens) * noise_rate);
  const int64_t tokens = std::clamp<int64_t>(static_cast<int64_t>(noise), 1, num_tokens - 1);
  const double gaps = std::round(static_cast<double>(tokens) / mean_span_length);
  return {tokens, std::clamp<int64_t>(static_cast<int64_t>(gaps), 1, std::min(tokens, num_tokens - tokens))};
}

BatchTypes SpanCorruption::Config::batch_types() const {
  const GapCounts taken = count_gaps(sequence_length);
  const TensorType source{DType::i32, {batch_size, sequence_length - taken.tokens + taken.gaps}};
  BatchTypes out = token_batch_types(batch_size, taken.tokens + taken.gaps + 1);
  for (const char* name : {"source_ids", "source_segment_ids", "source_positions"}) out.emplace(name, source);
  return out;
}

namespace {

std::unique_ptr<Dataset> build_text(const SpanCorruption::Config& config) {
  Slot<LanguageDataset> text = config.text;
  text->batch_size = config.batch_size;
  text->sequence_length = config.sequence_length;
  text->seed = config.seed;
  return build_part("text", text);
}

// Sizes of `parts` parts of `total`, at least 1 each: all ways to cut are as likely.
std::vector<int64_t> cut(int64_t total, int64_t parts, uint64_t key) {
  std::vector<int64_t> ends{total};
  if (parts > 1) {
    const Permutation places(static_cast<uint64_t>(total - 1), key);
    for (int64_t i = 1; i < parts; ++i) ends.push_back(1 + static_cast<int64_t>(places(static_cast<uint64_t>(i - 1))));
  }
  std::sort(ends.begin(), ends.end());
  for (size_t i = ends.size() - 1; i > 0; --i) ends[i] -= ends[i - 1];
  return ends;
}

struct Pair {
  std::vector<int32_t> source, target;
};

// What stays and what is taken out take turns, as in T5's random_spans_noise_mask.
Pair take_out(std::span<const int32_t> text, const GapCounts& counts, int32_t sentinel, uint64_t key) {
  const auto size = static_cast<int64_t>(text.size());
  const std::vector<int64_t> kept = cut(size - counts.tokens, counts.gaps, fold_seed(key, 0));
  const std::vector<int64_t> taken = cut(counts.tokens, counts.gaps, fold_seed(key, 1));
  Pair out;
  auto next = text.begin();
  for (size_t gap = 0; gap < kept.size(); ++gap) {
    out.source.insert(out.source.end(), next, next + kept[gap]);
    next += kept[gap];
    out.source.push_back(sentinel);
    out.target.push_back(sentinel++);
    out.target.insert(out.target.end(), next, next + taken[gap]);
    next += taken[gap];
  }
  return out;
}

std::vector<int32_t> live_tokens(const Batch& batch, int64_t row, int64_t length) {
  std::vector<int32_t> out;
  for (int64_t i = row * length; i < (row + 1) * length && batch.at("segment_ids").as_int(i) > 0; ++i) {
    out.push_back(static_cast<int32_t>(batch.at("input_ids").as_int(i)));
  }
  return out;
}

Document as_document(const std::vector<int32_t>& tokens) {
  return {.bytes = std::as_bytes(std::span(tokens)), .width = sizeof(int32_t)};
}

}  // namespace

SpanCorruption::SpanCorruption(const Config& config) : SpanCorruption(config, build_text(config)) {}
SpanCorruption::SpanCorruption(const Config& config, std::unique_ptr<Dataset> text)
    : config_(config), text_(std::move(text)) {
  std::shared_ptr<const Tokenizer> own = text_->tokenizer();
  if (own == nullptr) {
    throw Error(ErrorCode::invalid_argument, "a dataset without a tokenizer: sentinels are numbered behind its tokens")
        .at("text");
  }
  tokenizer_ =
      std::make_shared<const SentinelTokenizer>(std::move(own), config.count_gaps(config.sequence_length).gaps);
}
SpanCorruption::~SpanCorruption() = default;

Batch SpanCorruption::batch(int64_t step) const {
  const Batch texts = text_->batch(step);
  const BatchTypes types = config_.batch_types();
  const SpecialTokens special = SpecialTokens::of(*tokenizer_);
  TokenBatch source = empty_batch(config_.batch_size, types.at("source_ids").dims[1]);
  TokenBatch target = empty_batch(config_.batch_size, types.at("input_ids").dims[1]);
  for (int64_t row = 0; row < config_.batch_size; ++row) {
    RowWriter source_row(source, row), target_row(target, row);
    const std::vector<int32_t> text = live_tokens(texts, row, config_.sequence_length);
    if (text.size() >= 2) {
      const auto place =
          static_cast<uint64_t>(step) * static_cast<uint64_t>(config_.batch_size) + static_cast<uint64_t>(row);
      const Pair pair =
          take_out(text, config_.count_gaps(static_cast<int64_t>(text.size())),
                   static_cast<int32_t>(text_->vocab_size()), fold_seed(static_cast<uint64_t>(config_.seed), place));
      const Document read = as_document(pair.source), told = as_document(pair.target);
      source_row.add(read, 1, read.num_places(), special, EndLabel::ignored);  // without a bos
      target_row.add(told, 0, told.num_places(), special, EndLabel::eos);
    }
    source_row.pad(special);
    target_row.pad(special);
  }
  Batch out = to_batch(std::move(target));
  out.emplace("source_ids", std::move(source.input_ids));
  out.emplace("source_segment_ids", std::move(source.segment_ids));
  out.emplace("source_positions", std::move(source.positions));
  return out;
}

std::unique_ptr<Dataset> SpanCorruption::held_out() const {
  std::unique_ptr<Dataset> text = text_->held_out();
  if (text == nullptr) return nullptr;
  return std::unique_ptr<Dataset>(new SpanCorruption(config_, std::move(text)));
}

std::string SpanCorruption::describe() const {
  return fmt::format("{}; {:.4g} % of it taken out, in gaps of {:.4g} tokens", text_->describe(),
                     100 * config_.noise_rate, config_.mean_span_length);
}

}  // namespace tenon
