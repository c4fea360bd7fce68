// What a trainer reads: batches by number.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "tenon/base/literal.h"
#include "tenon/config/config.h"

namespace tenon {

class Tokenizer;

// One step's examples, by the names a model knows their arrays by. The first dimension of each is B.
using Batch = std::map<std::string, Literal>;
// Types of a batch's arrays.
using BatchTypes = std::map<std::string, TensorType>;
BatchTypes types_of(const Batch& batch);
// How many elements of its array "target_labels" (of tokens) or "labels" (of examples) aren't below 0: those below are
// ignored.
int64_t count_labels(const Batch& batch);

// Which rows of a batch are a host's.
struct HostRows {
  int64_t first = 0, count = 0;
};
// Throws `invalid_argument` unless `num_hosts` divides the batch and 0 <= host < num_hosts.
HostRows host_rows(int64_t batch_size, int64_t host, int64_t num_hosts);

// Batches are a pure function of the dataset's settings and the step: any step can be asked for at any time, from any
// thread, so a run that stops and resumes sees the same data as one that never stopped.
class Dataset : public Configurable {
 public:
  struct Config : AnyConfig {
    Required<int64_t> batch_size;  // B
    int64_t seed = 0;              // of the order of the examples
    // What batches are made of: known without reading any data.
    virtual BatchTypes batch_types() const = 0;
    void check(Checker& c) const;
    TENON_FIELDS(batch_size, seed)
  };
  // The batch of `step` (from 0). Throws `invalid_argument` for a step outside.
  virtual Batch batch(int64_t step) const = 0;
  // How many batches there are; none for training data that goes on forever.
  virtual std::optional<int64_t> num_batches() const = 0;
  // The held-out part, read front to back once; null when there is none. Lives as long as it likes.
  virtual std::unique_ptr<Dataset> held_out() const = 0;
  // What made its tokens; null when they aren't of text.
  virtual std::shared_ptr<const Tokenizer> tokenizer() const { return nullptr; }
  // Tokens in its batches are below this; 0: there are none. The tokenizer's, unless a dataset adds some.
  virtual int64_t vocab_size() const;
  // How many bytes of text all its labels stand for: of held-out parts, where that is known.
  virtual std::optional<int64_t> num_text_bytes() const { return std::nullopt; }
  // The rows of `batch(step)` that are for host `host` of `num_hosts`, which must divide B: the hosts' batches behind
  // one another are the whole batch, whatever their number.
  virtual Batch host_batch(int64_t step, int64_t host, int64_t num_hosts) const;
  // One line for the log: what it is and how large.
  virtual std::string describe() const = 0;
};

}  // namespace tenon
