#include "tenon/data/token_dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>

#include "tenon/base/text.h"
#include "tenon/config/build_part.h"
#include "tenon/config/define.h"
#include "tenon/config/number_checks.h"
#include "tenon/data/data_path.h"
#include "tenon/data/mixture.h"
#include "tenon/data/sequential_dataset.h"
#include "tenon/data/token_source_rows.h"
#include "tenon/data/token_store.h"

namespace tenon {

TENON_MODULE(TokenSource, Configurable, "a directory of prepared data",
             {"path", "a directory that `tenon data prepare` wrote"},
             {"weight", "part of all rows that come from it; all sources' add up to 1"},
             {"seed", "of its own order, with the dataset's"},
             {"epochs", "times to go through it before training data ends; 0: any number"},
             {"min_tokens", "documents with fewer are left out"},
             {"max_tokens", "documents with more are left out; empty: none is"})
TENON_MODULE(TokenDataset, LanguageDataset, "prepared tokens, mixed by weight and packed into rows",
             {"sources", "directories of prepared data"},
             {"packing", "best_fit: documents whole where they fit, rows padded; stream: cut where a row ends"},
             {"eval_fraction", "the last part of each source's tokens, kept for evaluation"},
             {"eval_paths", "directories of prepared data to evaluate on instead"})

void TokenSource::Config::check(Checker& c) const {
  constexpr int64_t kMaxEpochs = 1'000'000;
  check_interval(c, "weight", weight, '(', 0, 1, ']');
  c.at_least("epochs", epochs, 0);
  c.at_most("epochs", epochs, kMaxEpochs);
  c.positive("min_tokens", min_tokens);
  if (max_tokens) c.at_least("max_tokens", max_tokens, min_tokens);
}

void TokenDataset::Config::check(Checker& c) const {
  c.require(!sources.empty(), "sources", "must name at least one directory of prepared data");
  check_interval(c, "eval_fraction", eval_fraction, '[', 0, 1, ')');
  c.require(eval_paths.empty() || eval_fraction == 0, "eval_fraction", "must be 0 when eval_paths are given");
}

namespace {

constexpr uint64_t kForever = std::numeric_limits<uint64_t>::max();

int64_t tokens_of(const std::vector<Document>& documents) {
  int64_t tokens = 0;
  for (const Document& document : documents) tokens += document.num_tokens();
  return tokens;
}

std::vector<Document> filter(const TokenSource::Config& config, const std::vector<Document>& documents) {
  std::vector<Document> out;
  for (const Document& document : documents) {
    const int64_t tokens = document.num_tokens();
    if (tokens >= config.min_tokens && tokens <= config.max_tokens.value_or(tokens)) out.push_back(document);
  }
  if (!out.empty()) return out;
  throw Error(ErrorCode::invalid_argument, "no document is left")
      .at(data_path(config.path))
      .got(fmt::format("{} documents, none of {} tokens or more{}", documents.size(), config.min_tokens,
                       config.max_tokens ? fmt::format(" and at most {}", *config.max_tokens) : ""))
      .hint("change min_tokens or max_tokens");
}

// Moves the last `count` tokens out of `documents`.
std::vector<Document> split_off(std::vector<Document>& documents, int64_t count) {
  std::vector<Document> out;
  while (count > 0) {
    const int64_t tokens = documents.back().num_tokens(), taken = std::min(tokens, count);
    out.push_back(documents.back().behind(tokens - taken));
    if (taken == tokens) {
      documents.pop_back();
    } else {
      documents.back() = documents.back().first(tokens - taken);
    }
    count -= taken;
  }
  std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace

// What all parts share; unchanged once made.
struct TokenDataset::Data {
  explicit Data(const Config& config)
      : batch_size(config.batch_size),
        sequence_length(config.sequence_length),
        seed(static_cast<uint64_t>(config.seed)) {
    std::vector<Document> held_out_documents;
    std::vector<double> weights;
    for (size_t i = 0; i < config.sources.size(); ++i) {
      const auto source = build_part(fmt::format("sources.{}", i), config.sources[i]);
      weights.push_back(source->config().weight);
      add_source(source->config(), config, held_out_documents);
    }
    mixture.emplace(weights, fold_seed(seed, kForever));
    for (const std::string& path : config.eval_paths) {
      const std::vector<Document>& documents = open(path).documents();
      held_out_documents.insert(held_out_documents.end(), documents.begin(), documents.end());
    }
    if (!held_out_documents.empty()) {
      held_out.emplace(std::move(held_out_documents), EndLabel::ignored, SpecialTokens::of(*tokenizer));
    }
    find_end(config);
  }

  // All sources must be of one tokenizer.
  const TokenStore& open(const std::string& path) {
    const TokenStore& store = stores.emplace_back(data_path(path));
    if (tokenizer == nullptr) tokenizer = store.tokenizer();
    if (store.manifest().tokenizer == stores.front().manifest().tokenizer) return store;
    throw Error(ErrorCode::invalid_argument, "sources of different tokenizers don't fit together")
        .at(store.path())
        .expected("the tokenizer of " + stores.front().path())
        .hint("prepare all of them with the same tokenizer");
  }

  void add_source(const TokenSource::Config& source, const Config& config, std::vector<Document>& held_out_documents) {
    std::vector<Document> documents = filter(source, open(source.path).documents());
    const auto tokens = static_cast<double>(tokens_of(documents));
    const auto kept = static_cast<int64_t>(std::floor(tokens * config.eval_fraction));
    if (config.eval_fraction > 0 && kept == 0) {
      throw Error(ErrorCode::invalid_argument, "the held-out part is too short")
          .at(data_path(source.path))
          .got(fmt::format("{} of {} tokens", config.eval_fraction, tokens))
          .hint("give more text or another eval_fraction");
    }
    const std::vector<Document> evaluated = split_off(documents, kept);
    held_out_documents.insert(held_out_documents.end(), evaluated.begin(), evaluated.end());
    const uint64_t key = fold_seed(fold_seed(seed, sources.size()), static_cast<uint64_t>(source.seed));
    try {
      sources.emplace_back(std::move(documents), config.packing, sequence_length, SpecialTokens::of(*tokenizer), key);
    } catch (Error& error) {
      error.prefix(data_path(source.path));
      throw;
    }
  }

  void find_end(const Config& config) {
    for (size_t i = 0; i < sources.size(); ++i) {
      const auto epochs = static_cast<uint64_t>(config.sources[i]->epochs);
      if (epochs > 0) end = std::min(end, mixture->find({i, sources[i].num_rows() * epochs}));
    }
  }

  Batch rows(int64_t step, const HostRows& part) const {
    int64_t first = 0;
    const bool overflows = step < 0 || __builtin_mul_overflow(step, batch_size, &first);
    if (overflows || static_cast<uint64_t>(first) >= end) {
      throw Error(ErrorCode::invalid_argument, "no such training batch").got(std::to_string(step));
    }
    TokenBatch batch = empty_batch(part.count, sequence_length);
    for (int64_t row = 0; row < part.count; ++row) {
      RowWriter writer(batch, row);
      const uint64_t position = static_cast<uint64_t>(first) + static_cast<uint64_t>(part.first + row);
      if (position < end) {
        const MixtureOrder::Place place = mixture->at(position);
        sources[place.source].write(writer, place.position);
      } else {
        writer.pad(SpecialTokens::of(*tokenizer));
      }
    }
    return to_batch(std::move(batch));
  }

  int64_t batch_size;
  int64_t sequence_length;
  uint64_t seed;
  std::deque<TokenStore> stores;
  std::shared_ptr<const Tokenizer> tokenizer;
  std::vector<SourceRows> sources;
  std::optional<MixtureOrder> mixture;
  std::optional<PackedStream> held_out;
  uint64_t end = kForever;  // rows of training data
};

TokenDataset::TokenDataset(const Config& config) : data_(std::make_shared<const Data>(config)) {}
TokenDataset::~TokenDataset() = default;

Batch TokenDataset::batch(int64_t step) const { return data_->rows(step, {0, data_->batch_size}); }

Batch TokenDataset::host_batch(int64_t step, int64_t host, int64_t num_hosts) const {
  return data_->rows(step, host_rows(data_->batch_size, host, num_hosts));
}

std::optional<int64_t> TokenDataset::num_batches() const {
  if (data_->end == kForever) return std::nullopt;
  return static_cast<int64_t>((data_->end - 1) / static_cast<uint64_t>(data_->batch_size)) + 1;
}

std::unique_ptr<Dataset> TokenDataset::held_out() const {
  if (!data_->held_out) return nullptr;
  const std::shared_ptr<const PackedStream> stream(data_, &*data_->held_out);
  return std::make_unique<SequentialDataset>(stream, data_->batch_size, data_->sequence_length, data_->tokenizer);
}

std::shared_ptr<const Tokenizer> TokenDataset::tokenizer() const { return data_->tokenizer; }

std::string TokenDataset::describe() const {
  std::string out;
  for (size_t i = 0; i < data_->sources.size(); ++i) {
    out += fmt::format("{}{}: {}", i == 0 ? "" : "; ", data_->stores[i].path(), data_->sources[i].describe());
  }
  const auto held_out = static_cast<uint64_t>(data_->held_out ? data_->held_out->num_tokens() : 0);
  return out + fmt::format("; {} tokens held out", format_count(held_out));
}

}  // namespace tenon
