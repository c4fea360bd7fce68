#include "tenon/data/dataset.h"

#include <cstring>
#include <limits>

#include "tenon/config/define.h"
#include "tenon/text/tokenizer.h"

namespace tenon {

TENON_INTERFACE(Dataset, Configurable, "batches of examples by step", {"batch_size", "examples in a batch"},
                {"seed", "of the order of the examples"})

void Dataset::Config::check(Checker& c) const {
  c.positive("batch_size", batch_size);
  c.at_most("batch_size", batch_size, std::numeric_limits<int32_t>::max());
}

BatchTypes types_of(const Batch& batch) {
  BatchTypes out;
  for (const auto& [name, array] : batch) out.emplace(name, array.type());
  return out;
}

int64_t count_labels(const Batch& batch) {
  int64_t count = 0;
  for (const char* name : {"target_labels", "labels"}) {
    const auto labels = batch.find(name);
    if (labels == batch.end()) continue;
    for (int64_t i = 0; i < labels->second.size(); ++i) count += labels->second.as_int(i) >= 0 ? 1 : 0;
  }
  return count;
}

HostRows host_rows(int64_t batch_size, int64_t host, int64_t num_hosts) {
  if (num_hosts < 1 || host < 0 || host >= num_hosts) {
    throw Error(ErrorCode::invalid_argument, "no such host")
        .got(std::to_string(host) + " of " + std::to_string(num_hosts))
        .expected("0 to their number - 1");
  }
  if (batch_size % num_hosts != 0) {
    throw Error(ErrorCode::invalid_argument, "the hosts don't divide the batch")
        .got(std::to_string(num_hosts) + " hosts for " + std::to_string(batch_size) + " rows")
        .hint("choose a batch_size that is a multiple of the number of hosts");
  }
  const int64_t rows = batch_size / num_hosts;
  return {host * rows, rows};
}

namespace {

Literal some_rows(const Literal& whole, const HostRows& rows) {
  TensorType type = whole.type();
  const size_t row_bytes = whole.bytes().size() / static_cast<size_t>(type.dims[0]);
  type.dims[0] = rows.count;
  Literal out(std::move(type));
  std::memcpy(out.bytes().data(), whole.bytes().data() + static_cast<size_t>(rows.first) * row_bytes,
              out.bytes().size());
  return out;
}

}  // namespace

int64_t Dataset::vocab_size() const {
  const std::shared_ptr<const Tokenizer> tokens = tokenizer();
  return tokens != nullptr ? tokens->vocab_size() : 0;
}

Batch Dataset::host_batch(int64_t step, int64_t host, int64_t num_hosts) const {
  Batch batch = this->batch(step);
  for (auto& [name, array] : batch) array = some_rows(array, host_rows(array.dims()[0], host, num_hosts));
  return batch;
}

}  // namespace tenon
