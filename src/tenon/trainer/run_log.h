// What a run prints.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/nn/module.h"
#include "tenon/runtime/executable.h"

namespace tenon {

// One line of training progress.
struct Progress {
  int64_t step = 0, max_steps = 0;
  double loss = 0, grad_norm = 0, learning_rate = 0, eta_s = 0;
  std::string_view unit = "tokens";  // what the rate counts
  double rate = 0;                   // a second
  std::optional<double> mfu;
  double data_wait = 0;                    // part of the time that waited for batches
  std::optional<uint64_t> resident_bytes;  // of this process
};

// "step 100/2000  loss 2.3456  grad_norm 0.912  lr 3.0e-04  12.3k tokens/s  MFU 41.2%  data wait 0.1%  RSS 1.2 GiB  ETA
// 1:32".
std::string format_progress(const Progress& progress);
// "1:05", "2:03:00".
std::string format_duration(double seconds);
// Path, shape, partition and count of every parameter, and their total.
std::string format_parameters(const std::vector<ParamInfo>& params);
// What the compiler says of a program: memory on one device by kind and in all, time, whether it came from the cache.
// Lines about what it warned of follow.
std::string format_compiled(std::string_view name, const Executable& executable);

// Writes lines, and a bar below them on a terminal.
class RunLog {
 public:
  // `out` may be null: nothing is written.
  explicit RunLog(std::FILE* out);
  // Takes the bar away.
  ~RunLog();
  RunLog(const RunLog&) = delete;
  RunLog& operator=(const RunLog&) = delete;

  void line(std::string_view text);
  // Draws the bar anew, at most ten times a second; does nothing off a terminal.
  void bar(const Progress& progress);

 private:
  void clear_bar();
  void write(const std::string& text);
  std::FILE* out_;
  bool terminal_;
  bool drawn_ = false;
  double next_draw_s_ = 0;
};

}  // namespace tenon
