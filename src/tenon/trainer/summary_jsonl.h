// Summaries as lines of JSON: {"step":10,"time":1700000000.5,"train/loss":2.25}. Values that JSON lacks are the strings
// "nan", "inf" and "-inf".
#pragma once

#include <string>

#include "tenon/base/file.h"
#include "tenon/trainer/summary_writer.h"

namespace tenon {

class JsonlWriter final : public SummaryWriter {
 public:
  // Goes on in `path`. Lines of `first_step` and later, and a last line that was cut, are dropped: a run that resumes
  // from an earlier checkpoint writes them again.
  static Result<JsonlWriter> open(const std::string& path, int64_t first_step);
  Status write(int64_t step, const Scalars& scalars) override;

 private:
  OutputFile file_;
  bool torn_ = false;  // the last write failed, maybe within a line
};

}  // namespace tenon
