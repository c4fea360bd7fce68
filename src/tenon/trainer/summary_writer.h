// Where a run's numbers go.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tenon/base/result.h"
#include "tenon/config/config.h"

namespace tenon {

// Values by name: "train/loss", "eval/bits_per_byte".
using Scalars = std::map<std::string, double>;

// How values are spread. Bucket i counts those in (limits[i-1], limits[i]]; the first also what lies below.
struct Histogram {
  double min = 0, max = 0, count = 0, sum = 0, sum_of_squares = 0;
  std::vector<double> limits, counts;
};
// Over the finite ones of `values`: up to `buckets` of equal width.
Histogram make_histogram(const std::vector<double>& values, int64_t buckets = 32);

// Made anew for every run. What a kind of writer has no use for, it leaves out.
class SummaryWriter : public Configurable {
 public:
  struct Config : AnyConfig {
    TENON_FIELDS()
  };
  // Once, before all else: the run in directory `dir`, whose next step is `first_step`. What was written of it and
  // later ones, by a run that went on from an earlier checkpoint, must not count any more.
  virtual Status open(const std::string& dir, int64_t first_step) = 0;
  // The values after `step` steps. They have left the process when this returns.
  virtual Status write(int64_t step, const Scalars& scalars) = 0;
  virtual Status write_histogram(int64_t, const std::string& /*name*/, const Histogram&) { return {}; }
  virtual Status write_text(int64_t, const std::string& /*name*/, const std::string& /*text*/) { return {}; }
};

}  // namespace tenon
