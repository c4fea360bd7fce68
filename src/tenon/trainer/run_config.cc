#include "tenon/trainer/run_config.h"

#include "tenon/base/regex.h"

namespace tenon {

void InitFrom::check(Checker& c) const {
  c.require(!checkpoint.empty() || tensors.empty(), "checkpoint", "must be set when tensors is");
  if (tensors.empty()) return;
  const Result<Regex> regex = Regex::compile(tensors);
  if (!regex.ok()) c.require(false, "tensors", regex.error().message());
}

}  // namespace tenon
