#pragma once

#include <string>

#include "tenon/base/file.h"
#include "tenon/trainer/summary_writer.h"

namespace tenon {

// Summaries as a TensorBoard event file: protocol buffers (tensorflow/core/util/event.proto) in the records of a
// TFRecord file.
//
//   record: length (u64), masked CRC-32C of the length (u32), event, masked CRC-32C of the event (u32); little-endian
//
// Each run starts a new file in `folder` of its directory. What earlier files say of the first step and later is
// withdrawn, so that a run that resumes draws one line.
class TensorBoardWriter final : public SummaryWriter {
 public:
  struct Config : SummaryWriter::Config {
    std::string folder = "tensorboard";
    TENON_CONFIG(folder)
  };
  explicit TensorBoardWriter(const Config& config) : folder_(config.folder) {}
  Status open(const std::string& dir, int64_t first_step) override;
  Status write(int64_t step, const Scalars& scalars) override;
  Status write_histogram(int64_t step, const std::string& name, const Histogram& histogram) override;
  Status write_text(int64_t step, const std::string& name, const std::string& text) override;
  const std::string& path() const { return file_.path(); }

 private:
  Status add_event(const std::string& event);
  std::string folder_;
  OutputFile file_;
};

}  // namespace tenon
