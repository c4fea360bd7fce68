#include "tenon/inference/model_runner.h"

#include "tenon/nn/functional.h"
#include "tenon/nn/transformer/sequence.h"

namespace tenon {
ModelRunner::ModelRunner(std::unique_ptr<LanguageModel> model, std::vector<std::string> names,
                         std::vector<Array> params, std::shared_ptr<const Tokenizer> tokenizer,
                         std::shared_ptr<const Backend> backend)
    : model_(std::move(model)),
      names_(std::move(names)),
      params_(std::move(params)),
      tokenizer_(std::move(tokenizer)),
      backend_(std::move(backend)) {}

Array ModelRunner::put(const Literal& value) const { return Array::from_literal(backend_, Mesh(), {}, value); }

std::optional<int64_t> ModelRunner::max_length() const {
  std::optional<int64_t> out;
  make_graph({}, [&](const std::vector<Tensor>&) {
    const Nest none;
    out = functional(*model_, &LanguageModel::max_length, none, Tensor(), false).result;
    return std::vector<Tensor>{};
  });
  return out;
}

SequenceBatch ModelRunner::start(int64_t rows, int64_t max_length, int64_t source_length) const {
  SequenceBatch out{rows, max_length, source_length, {}};
  for (const auto& [name, type] : cache_types(*model_, {rows, max_length, source_length})) {
    out.state.push_back(put(Literal(type)));
  }
  out.state.push_back(put(Literal(TensorType{DType::f32, {rows, vocab_size()}})));
  return out;
}

const Jitted& ModelRunner::program(const GenerateKey& key) {
  if (const auto it = programs_.find(key); it != programs_.end()) return it->second;
  std::vector<TensorType> types;
  for (const Array& p : params_) types.push_back(p.type());
  const GenerateProgram made = make_generate_program(*model_, names_, types, tokenizer_.get(), key);
  return programs_.emplace(key, jit(backend_, made.types, made.body, made.spec, &cache_)).first->second;
}

std::vector<Array> ModelRunner::run(const GenerateKey& key, std::vector<Array>& state, const NextTokens& next,
                                    std::span<const Array> rest) {
  const Jitted& jitted = program(key);
  memory_ = jitted.executable().memory();
  const auto num_state = static_cast<int64_t>(state.size());
  std::vector<Array> args = std::move(state);
  args.insert(args.end(), params_.begin(), params_.end());
  args.push_back(next.ids);
  for (const std::vector<int64_t>& v : {next.start, next.last}) {
    const Dims dims = key.ragged ? Dims{key.rows} : Dims{};
    args.push_back(put(Literal::from(DType::i32, dims, std::span<const int64_t>(v))));
  }
  if (next.sources) args.insert(args.end(), {next.sources->ids, next.sources->lengths});
  args.insert(args.end(), rest.begin(), rest.end());
  std::vector<Array> out = jitted(args);
  state.assign(out.begin(), out.begin() + num_state);
  return {out.begin() + num_state, out.end()};
}

GenerateKey ModelRunner::key_of(const SequenceBatch& batch, const NextTokens& next, int64_t count) {
  return {batch.rows,          next.ids.type().dims[1], batch.max_length, count, next.start.size() > 1,
          batch.source_length, next.sources.has_value()};
}

Array ModelRunner::sample(SequenceBatch& batch, const NextTokens& next, const Array& numbers, const Array& keys) {
  return run(key_of(batch, next, 0), batch.state, next, std::vector<Array>{numbers, keys})[0];
}

ModelRunner::Ranked ModelRunner::rank(SequenceBatch& batch, const NextTokens& next, const Array& parents,
                                      const Array& scores, int64_t count) {
  const std::vector<Array> out =
      run(key_of(batch, next, count), batch.state, next, std::vector<Array>{parents, scores});
  return {out[0], out[1]};
}

}  // namespace tenon
