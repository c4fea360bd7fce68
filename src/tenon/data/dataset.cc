#include "tenon/data/dataset.h"

#include <cstring>
#include <limits>

#include "tenon/config/define.h"

namespace tenon {

TENON_INTERFACE(Dataset, Configurable, "batches of token sequences by step", {"batch_size", "sequences in a batch"},
                {"sequence_length", "tokens in a sequence"}, {"seed", "of the order of the examples"})

void check_batch_shape(Checker& c, const Required<int64_t>& batch_size, const Required<int64_t>& sequence_length) {
  constexpr int64_t kMaxSize = std::numeric_limits<int32_t>::max(), kMaxTokens = int64_t{1} << 40;
  const auto fits = [&](const char* field, const Required<int64_t>& size) {
    c.positive(field, size);
    c.at_most(field, size, kMaxSize);
    return size.is_set() && size >= 1 && size <= kMaxSize;
  };
  const bool batch_fits = fits("batch_size", batch_size);
  if (!fits("sequence_length", sequence_length) || !batch_fits) return;
  c.require(batch_size <= kMaxTokens / sequence_length, "batch_size",
            "times sequence_length must be at most 2^40 tokens");
}

void Dataset::Config::check(Checker& c) const { check_batch_shape(c, batch_size, sequence_length); }

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
  Literal out(TensorType{whole.dtype(), {rows.count, whole.dims()[1]}});
  const size_t row_bytes = whole.bytes().size() / static_cast<size_t>(whole.dims()[0]);
  std::memcpy(out.bytes().data(), whole.bytes().data() + static_cast<size_t>(rows.first) * row_bytes,
              out.bytes().size());
  return out;
}

}  // namespace

Batch Dataset::host_batch(int64_t step, int64_t host, int64_t num_hosts) const {
  const Batch all = batch(step);
  const HostRows rows = host_rows(all.input_ids.dims()[0], host, num_hosts);
  Batch out{some_rows(all.input_ids, rows), some_rows(all.target_labels, rows), some_rows(all.segment_ids, rows),
            some_rows(all.positions, rows), 0};
  for (int64_t i = 0; i < out.target_labels.size(); ++i) out.num_tokens += out.target_labels.as_int(i) >= 0 ? 1 : 0;
  return out;
}

}  // namespace tenon
