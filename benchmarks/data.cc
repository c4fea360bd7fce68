// Batches from shards of tokens: how many tokens a second one thread makes them at, with each packing, taken over a
// prefetcher as training takes them. The documents are random tokens of lengths like those of web pages (log-normal).
// Prints medians of several runs and fails when the limit is missed.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <vector>

#include "tenon/base/clock.h"
#include "tenon/base/file.h"
#include "tenon/config/registry.h"
#include "tenon/data/prefetch.h"
#include "tenon/data/register.h"
#include "tenon/data/shard_writer.h"
#include "tenon/data/token_dataset.h"
#include "tenon/text/bytes_tokenizer.h"

namespace tenon {
namespace {

constexpr int kRuns = 5;
constexpr int64_t kTokens = 50'000'000, kBatch = 16, kLength = 2048, kSteps = 1000;
constexpr double kLimit = 20e6;

void write_documents(const std::string& dir) {
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> length(std::log(500.0), 1.2);
  const BytesTokenizer tokenizer{{}};
  ShardWriter writer(dir, tokenizer, uint64_t{1} << 24);
  std::vector<int32_t> tokens;
  for (int64_t written = 0; written < kTokens; written += static_cast<int64_t>(tokens.size())) {
    tokens.resize(std::clamp<size_t>(static_cast<size_t>(length(random)), 1, 100'000));
    for (int32_t& token : tokens) token = static_cast<int32_t>(random() & 255);
    writer.add(tokens, tokens.size());
  }
  (void)writer.finish();
}

// Labels a second.
double rate(const TokenDataset& dataset) {
  Prefetcher batches(dataset, 0);
  int64_t tokens = 0;
  const double began = steady_seconds();
  for (int64_t step = 0; step < kSteps; ++step) tokens += count_labels(*batches.next());
  return static_cast<double>(tokens) / (steady_seconds() - began);
}

bool report(const char* name, const std::string& dir, Packing packing) {
  TokenSource::Config source;
  source.path = dir;
  TokenDataset::Config config;
  config.sources = {source};
  config.packing = packing;
  config.batch_size = kBatch;
  config.sequence_length = kLength;
  std::vector<double> opens, rates;
  for (int i = 0; i < kRuns; ++i) {
    const double began = steady_seconds();
    const TokenDataset dataset(config);
    opens.push_back(steady_seconds() - began);
    rates.push_back(rate(dataset));
    if (i == 0) std::printf("%s: %s\n", name, dataset.describe().c_str());
  }
  std::sort(opens.begin(), opens.end());
  std::sort(rates.begin(), rates.end());
  std::printf("%s: opened in %.2f s; %.0f million tokens/s (%.0f to %.0f; limit %.0f)\n", name, opens[kRuns / 2],
              rates[kRuns / 2] / 1e6, rates.front() / 1e6, rates.back() / 1e6, kLimit / 1e6);
  return rates[kRuns / 2] >= kLimit;
}

}  // namespace
}  // namespace tenon

int main() {
  using namespace tenon;
  register_data(Registry::global());
  const std::string dir = (std::filesystem::temp_directory_path() / ("tenon_bench_" + random_suffix())).string();
  make_dirs(dir).value();
  write_documents(dir);
  const bool best_fit = report("best_fit", dir, Packing::best_fit);
  const bool stream = report("stream", dir, Packing::stream);
  remove_tree(dir).value();
  return best_fit && stream ? EXIT_SUCCESS : EXIT_FAILURE;
}
