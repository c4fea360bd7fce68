#include "tenon/trainer/metric_name.h"

#include <algorithm>

#include "tenon/base/error.h"
#include "tenon/base/text.h"

namespace tenon {

void require_metric(const std::string& metric, const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), metric) != known.end()) return;
  const std::string nearest = did_you_mean(metric, known);
  throw Error(ErrorCode::unknown_name, "nothing in this run measures that")
      .got(quote_text(metric))
      .expected(known.empty() ? "no metric: there are no evaluators" : "one of " + join(known, ", "))
      .hint(!nearest.empty() ? nearest : "a metric is EVALUATOR/NAME; without held-out data there is no eval");
}

}  // namespace tenon
