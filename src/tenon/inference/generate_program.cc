#include "tenon/inference/generate_program.h"

#include <fmt/format.h>

#include <span>

#include "tenon/inference/sampling.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/functional.h"
#include "tenon/nn/transformer/sequence.h"

namespace tenon {
namespace {

Nest named(const std::vector<std::string>& names, std::span<const Tensor> tensors) {
  Nest out;
  for (size_t i = 0; i < names.size(); ++i) out.emplace(names[i], tensors[i]);
  return out;
}

// The tokens [first, second) and others that never stand for text, but the end.
std::vector<std::pair<int64_t, int64_t>> textless_ranges(const Tokenizer& tokenizer, int64_t vocab_size) {
  std::vector<std::pair<int64_t, int64_t>> out;
  for (int64_t token = 0; token < vocab_size; ++token) {
    const auto id = static_cast<int32_t>(token);
    if (!tokenizer.is_special(id) || id == tokenizer.eos_id()) continue;
    if (!out.empty() && out.back().second == token) {
      ++out.back().second;
    } else {
      out.emplace_back(token, token + 1);
    }
  }
  return out;
}

// Logits of what a text may go on with: tokens of text and its end.
Tensor without_special(Tensor logits, const Tokenizer* tokenizer) {
  if (tokenizer == nullptr) return logits;
  const Tensor token = iota({DType::i32, logits.dims()}, 1);
  for (const auto& [begin, end] : textless_ranges(*tokenizer, logits.dims()[1])) {
    const Tensor special = logical_and(greater_equal(token, full_like(token, static_cast<double>(begin))),
                                       less(token, full_like(token, static_cast<double>(end))));
    logits = select(special, full_like(logits, kNeverSampled), logits);
  }
  return logits;
}

// `counts` f32 [B,V] with the tokens `ids` [B,T] up to `last` counted.
Tensor count_tokens(const Tensor& counts, const Tensor& ids, const Tensor& last) {
  const Tensor place = iota({DType::i32, ids.dims()}, 1);
  const Tensor live = convert(less_equal(place, broadcast_to(column_of(last, ids.dim(0)), ids.dims())), DType::f32);
  return scatter_add_along(counts, ids, live, 1);
}

struct Body {
  const LanguageModel* model;
  const Tokenizer* tokenizer;
  GenerateKey key;
  std::vector<std::string> names, cache_names;

  std::vector<Tensor> operator()(const std::vector<Tensor>& tensors) const;
};

std::vector<Tensor> Body::operator()(const std::vector<Tensor>& tensors) const {
  const std::span<const Tensor> args(tensors);
  Nest cache = named(cache_names, args);
  Tensor counts = args[cache_names.size()];
  const Nest state = named(names, args.subspan(cache_names.size() + 1));
  const auto rest = args.subspan(cache_names.size() + 1 + names.size());
  const Tensor &ids = rest[0], &start = rest[1], &last = rest[2];
  const auto choice = rest.subspan(key.reads_source ? 5 : 3);
  if (key.count > 0) {
    for (auto& [name, t] : cache) t = take(t, choice[0]);
  } else {
    counts = count_tokens(counts, ids, last);
  }
  if (key.reads_source) {
    cache = functional(*model, &LanguageModel::read_source, state, Tensor(), false, cache, rest[3], rest[4]).result;
  }
  const auto out = functional(*model, &LanguageModel::extend_step, state, Tensor(), false, cache, ids, start, last);
  const auto& [next_cache, raw] = out.result;
  std::vector<Tensor> results;
  for (const auto& [name, t] : next_cache) results.push_back(t);
  results.push_back(counts);
  const Tensor logits = convert(raw, DType::f32);
  if (key.count > 0) {
    const Tensor sums = log_softmax(without_special(logits, tokenizer)) + expand_dims(choice[1], 1);
    const TopK best = top_k(reshape(sums, {-1}), key.count);
    results.insert(results.end(), {best.values, best.indices});
  } else {
    const SamplingNumbers numbers(choice[0]);
    const Tensor likely = without_special(penalize_repetition(logits, counts, numbers.repetition_penalty), tokenizer);
    results.push_back(reshape(sample_token(likely, numbers, choice[1], start + last), {key.rows, 1}));
  }
  return results;
}

}  // namespace

std::map<std::string, TensorType> cache_types(const LanguageModel& model, const CacheSizes& sizes) {
  std::map<std::string, TensorType> out;
  make_graph({}, [&](const std::vector<Tensor>&) {
    const Nest none;
    const auto cache = functional(model, &LanguageModel::init_cache, none, Tensor(), false, sizes);
    for (const auto& [name, t] : cache.result) out.emplace(name, t.type());
    return std::vector<Tensor>{};
  });
  return out;
}

GenerateProgram make_generate_program(const LanguageModel& model, const std::vector<std::string>& names,
                                      const std::vector<TensorType>& params, const Tokenizer* tokenizer,
                                      const GenerateKey& key) {
  GenerateProgram out;
  Body body{&model, tokenizer, key, names, {}};
  const auto add = [&](std::string name, TensorType type) {
    out.spec.param_names.push_back(std::move(name));
    out.types.push_back(std::move(type));
  };
  const int64_t R = key.rows;
  for (const auto& [name, type] : cache_types(model, {R, key.max_length, key.source_length})) {
    if (key.count > 0 && (type.rank() == 0 || type.dims[0] != R)) {
      throw Error(ErrorCode::unsupported, "beam search moves the rows of a cache, and this array has none")
          .at(name)
          .got(to_string(type))
          .expected(fmt::format("a first dimension of {}", R));
    }
    body.cache_names.push_back(name);
    add("cache." + name, type);
  }
  add("counts", {DType::f32, {R, model.vocab_size()}});
  out.spec.num_donated = out.types.size();
  for (size_t i = 0; i < names.size(); ++i) add(names[i], params[i]);
  const TensorType i32{DType::i32, key.ragged ? Dims{R} : Dims{}};
  add("ids", {DType::i32, {R, key.num_tokens}});
  add("start", i32);
  add("last", i32);
  if (key.reads_source) {
    add("source_ids", {DType::i32, {R, key.source_length}});
    add("source_lengths", {DType::i32, {R}});
  }
  if (key.count > 0) {
    add("parents", {DType::i32, {R}});
    add("scores", {DType::f32, {R}});
  } else {
    add("numbers", {DType::f32, {5}});
    add("keys", {DType::u32, {R, 2}});
  }
  out.body = std::move(body);
  return out;
}

}  // namespace tenon
