#include "tenon/data/dataset.h"

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

}  // namespace tenon
