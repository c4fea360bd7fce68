#include "tenon/inference/generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "tenon/base/clock.h"
#include "tenon/base/file.h"
#include "tenon/inference/beam_search.h"
#include "tenon/inference/load_model.h"
#include "tenon/inference/sampling.h"
#include "tenon/text/saved_tokenizer.h"

namespace tenon {
namespace {

int64_t round_up(int64_t length, int64_t least) {
  int64_t out = least;
  while (out < length) out *= 2;
  return out;
}

// Places of a program that takes a piece of `count` tokens.
int64_t piece_width(int64_t count) { return count == 1 ? 1 : round_up(count, 16); }

// Of prompt and text together.
int64_t cache_length(int64_t prompt_length, int64_t max_tokens) { return round_up(prompt_length + max_tokens, 16); }

int64_t longest_text(const ModelRunner& runner) {
  return std::min(Generator::kMaxLength, runner.max_length().value_or(Generator::kMaxLength));
}

void check_prompt(const ModelRunner& runner, int64_t prompt_length) {
  const int64_t longest = longest_text(runner);
  if (prompt_length <= longest) return;
  throw Error(ErrorCode::invalid_argument, "the prompt is too long")
      .at("prompt")
      .got(fmt::format("{} tokens", prompt_length))
      .expected(fmt::format("at most {}", longest));
}

void check_source(const ModelRunner& runner, int64_t source_length) {
  check_prompt(runner, source_length);
  if (source_length > 0) return;
  throw Error(ErrorCode::invalid_argument, "this model writes a text of its prompt, and there is none")
      .at("prompt")
      .got("no tokens")
      .expected("at least one");
}

void check_length(const ModelRunner& runner, int64_t prompt_length, int64_t max_tokens) {
  check_prompt(runner, prompt_length);
  const int64_t left = longest_text(runner) - prompt_length;
  if (max_tokens < 0 || max_tokens > left) {
    throw Error(ErrorCode::invalid_argument, "the text doesn't fit behind the prompt")
        .at("max_tokens")
        .got(fmt::format("{}, behind a prompt of {}", max_tokens, prompt_length))
        .expected(fmt::format("0 to {}", left));
  }
}

bool is_ragged(std::span<const std::vector<int64_t>> prompts) {
  return std::any_of(prompts.begin(), prompts.end(), [&](const auto& p) { return p.size() != prompts[0].size(); });
}

int64_t longest(std::span<const std::vector<int64_t>> prompts) {
  size_t out = 0;
  for (const auto& prompt : prompts) out = std::max(out, prompt.size());
  return static_cast<int64_t>(out);
}

// [rows, columns] of an integer type.
Literal integers(DType dtype, const Dims& dims, const std::vector<int64_t>& values) {
  return Literal::from(dtype, dims, std::span<const int64_t>(values));
}

// A piece of prompts: what ModelRunner takes of them.
struct Piece {
  Literal ids;
  std::vector<int64_t> start, last;
};

// The places [begin, begin + count) of prompts, padded to a program's number of tokens; rows that no prompt is left for
// are as the first. Prompts of one length have one `start` and `last`.
Piece piece(std::span<const std::vector<int64_t>> prompts, int64_t rows, int64_t begin, int64_t count, int32_t pad) {
  const int64_t width = piece_width(count);
  Piece out;
  std::vector<int64_t> ids;
  for (int64_t row = 0; row < rows; ++row) {
    const auto& prompt = prompts[row < static_cast<int64_t>(prompts.size()) ? static_cast<size_t>(row) : 0];
    const int64_t start = std::min(begin, static_cast<int64_t>(prompt.size()));
    const int64_t end = std::min(begin + count, static_cast<int64_t>(prompt.size()));
    ids.insert(ids.end(), prompt.begin() + start, prompt.begin() + end);
    ids.resize(static_cast<size_t>((row + 1) * width), pad);
    out.start.push_back(start);
    out.last.push_back(end - start - 1);
  }
  out.ids = Literal::from(DType::i32, {rows, width}, std::span<const int64_t>(ids));
  if (!is_ragged(prompts)) {
    out.start.resize(1);
    out.last.resize(1);
  }
  return out;
}

// The keys u32 [rows,2]: the words of each seed, high first.
Literal seed_keys(const std::vector<int64_t>& seeds, int64_t rows) {
  std::vector<int64_t> words;
  for (int64_t row = 0; row < rows; ++row) {
    const auto seed =
        static_cast<uint64_t>(seeds[row < static_cast<int64_t>(seeds.size()) ? static_cast<size_t>(row) : 0]);
    words.push_back(static_cast<int64_t>(seed >> 32));
    words.push_back(static_cast<int64_t>(seed & 0xFFFFFFFFU));
  }
  return integers(DType::u32, {rows, 2}, words);
}

// Calls extend(piece, begin, end) for the places [begin, end) of the prompts, in order.
template <class F>
void prefill(std::span<const std::vector<int64_t>> prompts, int64_t rows, int32_t pad, F&& extend) {
  const int64_t length = longest(prompts);
  for (int64_t begin = 0; begin < length; begin += Generator::kPrefillTokens) {
    const int64_t count = std::min(Generator::kPrefillTokens, length - begin);
    extend(piece(prompts, rows, begin, count, pad), begin, begin + count);
  }
}

// Its tokens would be read as others.
void check_vocabulary(const LanguageModel& model, const Tokenizer& tokenizer, std::string path) {
  if (tokenizer.vocab_size() <= model.vocab_size()) return;
  throw Error(ErrorCode::incompatible, "the tokenizer has tokens that the model doesn't know")
      .at(std::move(path))
      .got(std::to_string(tokenizer.vocab_size()))
      .expected(fmt::format("at most {}, the model's vocabulary", model.vocab_size()));
}

}  // namespace

Generator::Generator(const std::string& dir, std::shared_ptr<const Backend> backend, ParameterSet parameters,
                     const std::vector<std::string>& assignments) {
  const OpenedCheckpoint checkpoint = open_checkpoint(dir).value();
  step_ = checkpoint.step();
  warnings_ = checkpoint.warnings();
  std::unique_ptr<LanguageModel> model = load_model(checkpoint, assignments);
  tokenizer_ = load_tokenizer(checkpoint);
  check_vocabulary(*model, *tokenizer_, join_path(checkpoint.path(), kTokenizerFile));
  std::vector<StateArray> arrays = state_arrays(*model);
  check_compatible(arrays, checkpoint, kLearnerPrefix);
  std::erase_if(arrays, [&](const StateArray& array) { return !model->writes_with(array.name); });
  std::vector<std::string> names;
  std::vector<Array> params;
  for (const StateArray& array : arrays) names.push_back(array.name);
  for (const StateArray& array : source_arrays(arrays, checkpoint, parameters)) {
    params.push_back(restore_array(array, checkpoint, backend, Mesh()));
  }
  runner_ = std::make_unique<ModelRunner>(std::move(model), std::move(names), std::move(params), tokenizer_,
                                          std::move(backend));
}

Generator::Generator(std::unique_ptr<LanguageModel> model, const std::map<std::string, Literal>& params,
                     std::shared_ptr<const Tokenizer> tokenizer, std::shared_ptr<const Backend> backend)
    : tokenizer_(std::move(tokenizer)) {
  check_vocabulary(*model, *tokenizer_, "tokenizer");
  std::vector<std::string> names;
  std::vector<Array> arrays;
  for (const ParamInfo& info : describe_state(*model)) {
    if (!model->writes_with(info.path)) continue;
    const auto it = params.find(info.path);
    if (it == params.end()) throw Error(ErrorCode::missing_field, "there is no value for this parameter").at(info.path);
    names.push_back(info.path);
    arrays.push_back(Array::from_literal(backend, Mesh(), {}, it->second));
  }
  runner_ = std::make_unique<ModelRunner>(std::move(model), std::move(names), std::move(arrays), tokenizer_,
                                          std::move(backend));
}

Generator::Prompt Generator::read_prompt(std::string_view prompt, int64_t max_tokens) const {
  Prompt out{{tokenizer_->bos_id()}, {}};
  std::vector<int64_t>& read = reads_source() ? out.source : out.tokens;
  try {
    for (const int32_t token : tokenizer_->encode(prompt)) read.push_back(token);
  } catch (Error& e) {
    e.prefix("prompt");
    throw;
  }
  if (reads_source()) check_source(*runner_, static_cast<int64_t>(out.source.size()));
  check_length(*runner_, static_cast<int64_t>(out.tokens.size()), max_tokens);
  return out;
}

Generator::Prompt Generator::checked_prompt(std::string_view prompt, const GenerateOptions& options) const {
  options.check(runner_->vocab_size());
  return read_prompt(prompt, options.max_tokens);
}

void Generator::add_text(Texts& texts, Prompt prompt, int64_t seed, const GenerateOptions& options,
                         std::function<void(std::string_view)> on_text) const {
  texts.writers.emplace_back(*tokenizer_, prompt.tokens, options, std::move(on_text));
  texts.prompts.push_back(std::move(prompt.tokens));
  texts.sources.push_back(std::move(prompt.source));
  texts.seeds.push_back(seed);
}

int64_t Generator::source_length(std::span<const std::vector<int64_t>> sources) const {
  return reads_source() ? std::min(round_up(longest(sources), 16), longest_text(*runner_)) : 0;
}

std::optional<SourceTokens> Generator::source_tokens(std::span<const std::vector<int64_t>> sources,
                                                     const SequenceBatch& batch) const {
  if (batch.source_length == 0) return std::nullopt;
  std::vector<int64_t> ids, lengths;
  for (int64_t row = 0; row < batch.rows; ++row) {
    const auto& source = sources[row < static_cast<int64_t>(sources.size()) ? static_cast<size_t>(row) : 0];
    ids.insert(ids.end(), source.begin(), source.end());
    ids.resize(static_cast<size_t>((row + 1) * batch.source_length), tokenizer_->pad_id());
    lengths.push_back(static_cast<int64_t>(source.size()));
  }
  return SourceTokens{runner_->put(integers(DType::i32, {batch.rows, batch.source_length}, ids)),
                      runner_->put(integers(DType::i32, {batch.rows}, lengths))};
}

void Generator::prepare(GenerateKey key, int64_t prompt_length, const GenerateOptions& options) {
  key.reads_source = key.source_length > 0;
  const auto compile = [&](int64_t num_tokens) {
    key.num_tokens = num_tokens;
    runner_->prepare(key);
    key.reads_source = false;
  };
  const int64_t rest = prompt_length % kPrefillTokens;
  if (prompt_length >= kPrefillTokens) compile(kPrefillTokens);
  if (rest > 0) compile(piece_width(rest));
  if (options.max_tokens > 1) compile(1);
}

std::vector<int64_t> Generator::first_tokens(const Texts& texts, SequenceBatch& batch, const Array& numbers,
                                             const Array& keys) {
  std::vector<int64_t> out(static_cast<size_t>(batch.rows));
  prefill(texts.prompts, batch.rows, tokenizer_->pad_id(), [&](const Piece& piece, int64_t begin, int64_t end) {
    const auto sources = begin == 0 ? source_tokens(texts.sources, batch) : std::nullopt;
    const NextTokens read{runner_->put(piece.ids), piece.start, piece.last, sources};
    const Array next = runner_->sample(batch, read, numbers, keys);
    Literal tokens;
    for (size_t row = 0; row < out.size(); ++row) {
      const auto& prompt = texts.prompts[row < texts.prompts.size() ? row : 0];
      const auto length = static_cast<int64_t>(prompt.size());
      if (length > end || length <= begin) continue;
      if (tokens.size() == 0) tokens = next.to_literal();
      out[row] = tokens.as_int(static_cast<int64_t>(row));
    }
  });
  return out;
}

std::vector<GenerateResult> Generator::write(Texts texts, const GenerateOptions& options) {
  const int64_t length = longest(texts.prompts);
  const int64_t rows = round_up(static_cast<int64_t>(texts.prompts.size()), 1);
  const int64_t max_length = cache_length(length, options.max_tokens);
  const bool ragged = is_ragged(texts.prompts);
  const int64_t source = source_length(texts.sources);
  prepare({rows, 0, max_length, 0, ragged, source}, length, options);
  SequenceBatch batch = runner_->start(rows, max_length, source);
  const Array numbers = runner_->put(options.sampling.packed()), keys = runner_->put(seed_keys(texts.seeds, rows));

  const double began = steady_seconds();
  std::vector<int64_t> tokens = first_tokens(texts, batch, numbers, keys);
  const double prefilled = steady_seconds();
  // Whether any of them goes on with its token.
  const auto push = [&] {
    bool going = false;
    for (size_t row = 0; row < texts.writers.size(); ++row) {
      TextWriter& writer = texts.writers[row];
      if (!writer.done()) going = writer.push(tokens[row]) || going;
    }
    return going;
  };
  std::vector<int64_t> places;
  for (int64_t row = 0; row < (ragged ? rows : 1); ++row) {
    const auto at = static_cast<size_t>(row);
    places.push_back(static_cast<int64_t>(texts.prompts[at < texts.prompts.size() ? at : 0].size()));
  }
  const std::vector<int64_t> last(places.size(), 0);
  Array next = runner_->put(integers(DType::i32, {rows, 1}, tokens));
  while (push()) {
    next = runner_->sample(batch, {next, places, last}, numbers, keys);
    const Literal made = next.to_literal();
    for (size_t row = 0; row < tokens.size(); ++row) tokens[row] = made.as_int(static_cast<int64_t>(row));
    for (int64_t& place : places) ++place;
  }
  const double decoded = steady_seconds();

  std::vector<GenerateResult> out;
  for (const TextWriter& writer : texts.writers) {
    out.push_back(writer.result());
    out.back().prefill_seconds = prefilled - began;
    out.back().decode_seconds = decoded - prefilled;
  }
  return out;
}

namespace {

BeamOptions beam_options(const GenerateOptions& options, const Tokenizer& tokenizer, std::span<const int64_t> prompt) {
  BeamOptions out{options.num_beams, options.length_penalty, options.max_tokens, {tokenizer.eos_id()}, {}};
  for (const int64_t token : options.stop_tokens) {
    if (std::find(out.end_tokens.begin(), out.end_tokens.end(), token) == out.end_tokens.end()) {
      out.end_tokens.push_back(token);
    }
  }
  if (!options.stop.empty()) out.stop.emplace(tokenizer, prompt, options.stop);
  return out;
}

// What a step of beam search takes, a row for each beam. Rows beyond those that run are so unlikely that nothing goes
// on from them.
struct BeamRows {
  BeamRows(const BeamSearch& search, int64_t rows, int32_t pad) {
    for (const BeamSearch::Beam& beam : search.running()) {
      parents.push_back(beam.parent);
      tokens.push_back(beam.tokens.empty() ? pad : beam.tokens.back());
      scores.push_back(beam.log_probability);
    }
    const auto count = static_cast<size_t>(rows);
    parents.resize(count, 0);
    tokens.resize(count, pad);
    scores.resize(count, kNeverSampled);
  }
  std::vector<int64_t> parents, tokens;
  std::vector<double> scores;
};

std::vector<BeamSearch::Candidate> read_candidates(const ModelRunner::Ranked& ranked, int64_t vocab_size) {
  const Literal scores = ranked.scores.to_literal(), places = ranked.places.to_literal();
  std::vector<BeamSearch::Candidate> out;
  for (int64_t i = 0; i < scores.size(); ++i) {
    const int64_t place = places.as_int(i);
    if (scores.as_double(i) < kNeverSampled / 2) break;
    out.push_back({place / vocab_size, place % vocab_size, scores.as_double(i)});
  }
  return out;
}

// The text of a beam, made as if its tokens had come one by one.
GenerateResult text_of(const BeamSearch::Beam& beam, TextWriter writer, int32_t eos) {
  for (const int32_t token : beam.tokens) {
    if (!writer.done()) writer.push(token);
  }
  if (!writer.done()) writer.push(eos);
  return writer.result();
}

}  // namespace

GenerateResult Generator::search(const Prompt& prompt, const GenerateOptions& options) {
  if (options.max_tokens == 0) return {};
  const BeamOptions beams = beam_options(options, *tokenizer_, prompt.tokens);
  const std::span<const std::vector<int64_t>> sources(&prompt.source, 1);
  const int32_t pad = tokenizer_->pad_id();
  BeamSearch search(beams);
  const int64_t rows = options.num_beams, length = static_cast<int64_t>(prompt.tokens.size());
  const auto ends = static_cast<int64_t>(beams.end_tokens.size());
  const int64_t count = rows * std::min(1 + ends, runner_->vocab_size());
  const int64_t max_length = cache_length(length, options.max_tokens);
  prepare({rows, 0, max_length, count, false, source_length(sources)}, length, options);
  SequenceBatch batch = runner_->start(rows, max_length, source_length(sources));
  ModelRunner::Ranked ranked;
  const auto step = [&](const NextTokens& next, const BeamRows& from) {
    const Array parents = runner_->put(integers(DType::i32, {rows}, from.parents));
    const Array scores = runner_->put(Literal::from(DType::f32, {rows}, from.scores));
    ranked = runner_->rank(batch, next, parents, scores, count);
  };

  const double began = steady_seconds();
  prefill(std::span(&prompt.tokens, 1), rows, pad, [&](const Piece& piece, int64_t begin, int64_t) {
    const auto read = begin == 0 ? source_tokens(sources, batch) : std::nullopt;
    step({runner_->put(piece.ids), piece.start, piece.last, read}, BeamRows(search, rows, pad));
  });
  search.advance(read_candidates(ranked, runner_->vocab_size()));
  const double prefilled = steady_seconds();
  for (int64_t place = length; !search.done(); ++place) {
    const BeamRows from(search, rows, pad);
    step({runner_->put(integers(DType::i32, {rows, 1}, from.tokens)), {place}, {0}}, from);
    search.advance(read_candidates(ranked, runner_->vocab_size()));
  }
  GenerateResult result = text_of(search.best(), {*tokenizer_, prompt.tokens, options}, tokenizer_->eos_id());
  result.prefill_seconds = prefilled - began;
  result.decode_seconds = steady_seconds() - prefilled;
  return result;
}

GenerateResult Generator::generate(std::string_view prompt, const GenerateOptions& options,
                                   const std::function<void(std::string_view)>& on_text) {
  Prompt read = checked_prompt(prompt, options);
  if (options.num_beams > 1) {
    const GenerateResult result = search(read, options);
    if (on_text && !result.text.empty()) on_text(result.text);
    return result;
  }
  Texts texts;
  add_text(texts, std::move(read), options.sampling.seed, options, on_text);
  return write(std::move(texts), options)[0];
}

std::vector<GenerateResult> Generator::generate_all(std::span<const std::string> prompts,
                                                    const GenerateOptions& options) {
  options.check(runner_->vocab_size());
  std::vector<GenerateResult> results(prompts.size());
  std::vector<Prompt> read;
  std::vector<size_t> order(prompts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  for (size_t i = 0; i < prompts.size(); ++i) {
    read.push_back(read_prompt(prompts[i], options.max_tokens));
    if (options.num_beams > 1) results[i] = generate(prompts[i], options);
  }
  if (options.num_beams > 1) return results;
  // Prompts of like length go together, so that little of a cache is empty.
  const auto length = [&](size_t i) { return read[i].tokens.size() + read[i].source.size(); };
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return length(a) > length(b); });
  for (size_t first = 0; first < order.size(); first += kMaxRows) {
    const std::span<const size_t> rows =
        std::span(order).subspan(first, std::min<size_t>(kMaxRows, order.size() - first));
    Texts texts;
    for (const size_t i : rows) {
      const auto seed = static_cast<int64_t>(static_cast<uint64_t>(options.sampling.seed) + i);
      add_text(texts, std::move(read[i]), seed, options);
    }
    std::vector<GenerateResult> written = write(std::move(texts), options);
    for (size_t row = 0; row < rows.size(); ++row) results[rows[row]] = std::move(written[row]);
  }
  return results;
}

}  // namespace tenon
