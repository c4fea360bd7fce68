#pragma once

#include <string>

#include "tenon/base/file.h"
#include "tenon/trainer/summary_writer.h"

namespace tenon {

// Summaries as lines of JSON: {"step":10,"time":1700000000.5,"train/loss":2.25}. Values that JSON lacks are the strings
// "nan", "inf" and "-inf". Scalars only. When the file is there, it is gone on with: lines of the first step and later,
// and a last line that was cut, are dropped.
class JsonlWriter final : public SummaryWriter {
 public:
  struct Config : SummaryWriter::Config {
    std::string file = "metrics.jsonl";
    void check(Checker& c) const;
    TENON_CONFIG(file)
  };
  explicit JsonlWriter(const Config& config) : name_(config.file) {}
  Status open(const std::string& dir, int64_t first_step) override;
  Status write(int64_t step, const Scalars& scalars) override;

 private:
  std::string name_;
  OutputFile file_;
  bool torn_ = false;  // the last write failed, maybe within a line
};

}  // namespace tenon
