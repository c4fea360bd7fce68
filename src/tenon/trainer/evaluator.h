// Measuring a model during a run.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tenon/trainer/summary_writer.h"

namespace tenon {

class Dataset;
class TrainSession;

// Made anew for every run. For one thread.
class Evaluator : public Configurable {
 public:
  struct Config : AnyConfig {
    // Steps between its evaluations; 0: at the end only; none: the trainer's eval_every_n_steps.
    std::optional<int64_t> every_n_steps;
    void check(Checker& c) const;
    TENON_FIELDS(every_n_steps)
  };
  struct Prepared {
    std::string log;                   // lines
    std::vector<std::string> metrics;  // names of all values that `evaluate` may give
  };
  // Before the first step: compiles what it needs. None when there is nothing to evaluate on, and then it isn't called
  // again.
  virtual std::optional<Prepared> prepare(TrainSession& session, const Dataset& training) = 0;
  // Values by name: "loss", "accuracy". Calls `go_on` before each batch; none when that said false.
  virtual std::optional<Scalars> evaluate(TrainSession& session, const std::function<bool()>& go_on) = 0;
};

// Which batches of a dataset are read: the held-out part, or those it trains on.
enum class DataPart : uint8_t { held_out, training };
TENON_ENUM(DataPart, held_out, training)

// The mean loss (nats, by token or example) over a dataset, how many of these there were, and the weighted means that
// the model gives (summaries merged as weighted_mean); of text "perplexity" (the exponential of the loss) too, and
// "bits_per_byte" where all of it is read, every label counts and it knows how many bytes that is.
class LossEvaluator final : public Evaluator {
 public:
  struct Config : Evaluator::Config {
    // None: the dataset the run trains on.
    std::optional<Slot<Dataset>> data;
    DataPart part = DataPart::held_out;
    // 0: all there are.
    int64_t max_batches = 0;
    void check(Checker& c) const;
    TENON_CONFIG(data, part, max_batches)
  };
  explicit LossEvaluator(const Config& config);
  ~LossEvaluator() override;
  std::optional<Prepared> prepare(TrainSession& session, const Dataset& training) override;
  std::optional<Scalars> evaluate(TrainSession& session, const std::function<bool()>& go_on) override;

 private:
  // None: all there are.
  std::optional<int64_t> max_batches() const;
  // Of the text that is read; none where that isn't known.
  std::optional<int64_t> text_bytes() const;
  Config config_;
  std::unique_ptr<Dataset> data_, held_out_;
  const Dataset* read_ = nullptr;
};

}  // namespace tenon
