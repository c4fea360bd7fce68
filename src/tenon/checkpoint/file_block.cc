#include "tenon/checkpoint/file_block.h"

#include <cstring>
#include <vector>

#include "tenon/runtime/block_copy.h"

namespace tenon {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kMaxWindow = uint64_t{1} << 20;

// Gathers neighbouring runs into windows, each read by one call.
class WindowReader {
 public:
  WindowReader(const InputFile& file, std::span<std::byte> block) : file_(file), block_(block) {}

  // A run of bytes, each call behind the one before. Nothing is done once a read has failed.
  void add(uint64_t begin, uint64_t to, uint64_t length) {
    const uint64_t end = begin + length;
    if (!runs_.empty() && (begin - end_ >= kPage || end - begin_ > kMaxWindow)) flush();
    if (runs_.empty()) begin_ = begin;
    end_ = end;
    runs_.push_back({begin, to, length});
  }

  Status finish() {
    flush();
    return status_;
  }

 private:
  struct Run {
    uint64_t begin, to, length;
  };

  void flush() {
    if (status_ && runs_.size() == 1) {
      status_ = file_.read(begin_, block_.subspan(runs_[0].to, runs_[0].length));
    } else if (status_ && !runs_.empty()) {
      window_.resize(end_ - begin_);
      status_ = file_.read(begin_, window_);
      for (const Run& run : runs_) {
        std::memcpy(&block_[run.to], &window_[run.begin - begin_], run.length);
      }
    }
    runs_.clear();
  }

  const InputFile& file_;
  std::span<std::byte> block_;
  std::vector<Run> runs_;
  std::vector<std::byte> window_;
  uint64_t begin_ = 0, end_ = 0;  // of the runs, in the file
  Status status_;
};

}  // namespace

Status read_file_block(const InputFile& file, uint64_t begin, const Dims& dims, const ArraySlice& slice,
                       size_t element_size, std::span<std::byte> block) {
  WindowReader reader(file, block);
  const auto bytes = [&](int64_t elements) { return static_cast<uint64_t>(elements) * element_size; };
  for_each_run(dims, slice, [&](const BlockRun& run) {
    reader.add(begin + bytes(run.array_offset), bytes(run.block_offset), bytes(run.length));
  });
  return reader.finish();
}

}  // namespace tenon
