// Summaries as a TensorBoard event file: protocol buffers (tensorflow/core/util/event.proto) in the records of a
// TFRecord file.
//
//   record: length (u64), masked CRC-32C of the length (u32), event, masked CRC-32C of the event (u32); little-endian
#pragma once

#include <string>

#include "tenon/base/file.h"
#include "tenon/trainer/summary_writer.h"

namespace tenon {

class TensorBoardWriter final : public SummaryWriter {
 public:
  // Starts a new file in `dir`, which is created. What earlier files say of `first_step` and later is withdrawn, so
  // that a run that resumes draws one line.
  static Result<TensorBoardWriter> open(const std::string& dir, int64_t first_step);
  Status write(int64_t step, const Scalars& scalars) override;
  const std::string& path() const { return file_.path(); }

 private:
  Status add_event(const std::string& event);
  OutputFile file_;
};

}  // namespace tenon
