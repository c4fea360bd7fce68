#include "tenon/trainer/evaluator.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "tenon/config/build_part.h"
#include "tenon/config/define.h"
#include "tenon/data/dataset.h"
#include "tenon/text/saved_tokenizer.h"
#include "tenon/text/sentinel_tokenizer.h"
#include "tenon/trainer/run_log.h"
#include "tenon/trainer/train_session.h"

namespace tenon {

TENON_INTERFACE(Evaluator, Configurable, "measures a model during a run",
                {"every_n_steps", "0: at the end only; {}: the trainer's eval_every_n_steps"})
TENON_MODULE(LossEvaluator, Evaluator, "loss, perplexity, bits per byte and what the model measures, over a dataset",
             {"data", "{}: the dataset the run trains on"}, {"part", "the held-out part, or what it trains on"},
             {"max_batches", "0: all there are"})

namespace {

// Numbers of another tokenizer stand for other text, or for nothing the model knows. There may be fewer sentinels.
void check_tokens(const Dataset& data, const Dataset& training) {
  const std::shared_ptr<const Tokenizer> own = data.tokenizer(), trained = training.tokenizer();
  if (own == nullptr || trained == nullptr || own == trained) return;
  const bool same_text = fingerprint(text_tokenizer(*own)) == fingerprint(text_tokenizer(*trained));
  if (same_text && own->vocab_size() <= trained->vocab_size()) return;
  throw Error(ErrorCode::incompatible, "the dataset's tokenizer isn't that of the data the run trains on")
      .at("data")
      .got(fmt::format("a vocabulary of {}, fingerprint {}", own->vocab_size(), fingerprint(*own)))
      .expected(fmt::format("a vocabulary of {}, fingerprint {}", trained->vocab_size(), fingerprint(*trained)))
      .hint("prepare it with the tokenizer of the training data: tenon data prepare --tokenizer");
}

}  // namespace

void Evaluator::Config::check(Checker& c) const { c.at_least("every_n_steps", every_n_steps, 0); }

void LossEvaluator::Config::check(Checker& c) const {
  c.at_least("max_batches", max_batches, 0);
  c.require(part == DataPart::held_out || max_batches > 0, "max_batches",
            "must be positive for the training part, which never ends");
}

LossEvaluator::LossEvaluator(const Config& config) : config_(config) {
  if (config.data) data_ = build_part("data", *config.data);
}
LossEvaluator::~LossEvaluator() = default;

std::optional<int64_t> LossEvaluator::max_batches() const {
  return config_.max_batches > 0 ? std::optional(config_.max_batches) : std::nullopt;
}

std::optional<int64_t> LossEvaluator::text_bytes() const {
  const std::optional<int64_t> bytes = read_->num_text_bytes(), most = max_batches();
  const bool whole = !most || *most >= read_->num_batches();
  return bytes && *bytes > 0 && whole ? bytes : std::nullopt;
}

std::optional<Evaluator::Prepared> LossEvaluator::prepare(TrainSession& session, const Dataset& training) {
  const Dataset& source = data_ ? *data_ : training;
  read_ = &source;
  if (config_.part == DataPart::held_out) {
    held_out_ = source.held_out();
    // A dataset of its own that ends is one to evaluate on as it is; what is trained on isn't, whether it ends or not.
    if (held_out_ != nullptr) {
      read_ = held_out_.get();
    } else if (!data_) {
      return std::nullopt;
    } else if (!source.num_batches()) {
      throw Error(ErrorCode::invalid_argument, "the dataset holds nothing out")
          .at("data")
          .hint("hold a part out (eval_fraction), or read its training batches: part = \"training\" and max_batches");
    }
  }
  check_tokens(*read_, training);
  const BatchTypes types = data_ ? (*config_.data)->batch_types() : session.batch();
  const TrainSession::Eval& eval = session.prepare_eval(types);
  Prepared out{fmt::format("{}\n{}", read_->describe(), format_compiled("eval step", eval.executable)),
               {"loss", session.weight_metric()}};
  if (read_->tokenizer() != nullptr) out.metrics.push_back("perplexity");
  if (text_bytes()) out.metrics.push_back("bits_per_byte");
  out.metrics.insert(out.metrics.end(), eval.metric_names.begin(), eval.metric_names.end());
  return out;
}

std::optional<Scalars> LossEvaluator::evaluate(TrainSession& session, const std::function<bool()>& go_on) {
  const std::optional<EvalResult> result = session.evaluate(*read_, go_on, max_batches());
  if (!result) return std::nullopt;
  Scalars out(result->metrics.begin(), result->metrics.end());
  out["loss"] = result->loss;
  out[session.weight_metric()] = result->weight;
  if (read_->tokenizer() != nullptr) out["perplexity"] = std::exp(result->loss);
  if (const auto bytes = text_bytes(); bytes && result->weight == result->num_labels) {
    out["bits_per_byte"] = result->loss * result->weight / static_cast<double>(*bytes) / std::numbers::ln2;
  }
  return out;
}

}  // namespace tenon
