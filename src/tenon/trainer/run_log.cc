#include "tenon/trainer/run_log.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "tenon/base/clock.h"
#include "tenon/base/text.h"

namespace tenon {
namespace {

std::string bytes(int64_t count) { return format_bytes(static_cast<uint64_t>(std::max<int64_t>(count, 0))); }
std::string count(double number) { return format_count(static_cast<uint64_t>(std::max(number, 0.0))); }

}  // namespace

std::string format_duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0 || seconds > 1e9) return "?";
  const auto total = static_cast<int64_t>(std::llround(seconds));
  const int64_t hours = total / 3600, minutes = total / 60 % 60, rest = total % 60;
  return hours > 0 ? fmt::format("{}:{:02}:{:02}", hours, minutes, rest) : fmt::format("{}:{:02}", minutes, rest);
}

std::string format_progress(const Progress& p) {
  std::string out = fmt::format("step {}/{}  loss {:.4f}  grad_norm {:.3f}  lr {:.2e}  {} {}/s", p.step, p.max_steps,
                                p.loss, p.grad_norm, p.learning_rate, count(p.rate), p.unit);
  if (p.mfu) out += fmt::format("  MFU {:.1f}%", 100 * *p.mfu);
  out += fmt::format("  data wait {:.1f}%", 100 * p.data_wait);
  if (p.resident_bytes) out += "  RSS " + format_bytes(*p.resident_bytes);
  return out + "  ETA " + format_duration(p.eta_s);
}

std::string format_parameters(const std::vector<ParamInfo>& params) {
  std::vector<std::array<std::string, 4>> rows{{"parameter", "shape", "partition", "count"}};
  int64_t total = 0;
  for (const ParamInfo& info : params) {
    if (!info.trainable) continue;
    const int64_t n = num_elements(info.logical_shape());
    total += n;
    const std::string partition = to_string(info.partition);
    rows.push_back(
        {info.path, to_string(info.logical_shape()), partition.empty() ? "-" : partition, fmt::format("{}", n)});
  }
  rows.push_back({"total", "", "", fmt::format("{} ({})", total, format_count(static_cast<uint64_t>(total)))});
  std::array<size_t, 3> width{};
  for (const auto& row : rows) {
    for (size_t i = 0; i < width.size(); ++i) width[i] = std::max(width[i], row[i].size());
  }
  std::string out;
  for (const auto& row : rows) {
    out += fmt::format("{}  {:<{}}  {:<{}}  {:<{}}  {}", out.empty() ? "" : "\n", row[0], width[0], row[1], width[1],
                       row[2], width[2], row[3]);
  }
  return out;
}

std::string format_compiled(std::string_view name, const Executable& executable) {
  const pjrt::MemoryStats& m = executable.memory();
  std::string out = fmt::format(
      "{}: {} in {:.1f} s; memory on each device: arguments {}, results {} ({} of them in place of arguments), "
      "temporary {}, code "
      "{}; in all {}",
      name, executable.cache_hit() ? "loaded from the compile cache" : "compiled", executable.compile_seconds(),
      bytes(m.argument), bytes(m.output), bytes(m.alias), bytes(m.temporary), bytes(m.generated_code),
      bytes(m.total()));
  for (const pjrt::CompilerWarning& w : executable.warnings()) {
    out += fmt::format("\nwarning: {} at {}: {}", name, w.op, w.text);
  }
  return out;
}

RunLog::RunLog(std::FILE* out) : out_(out), terminal_(out != nullptr && ::isatty(::fileno(out)) == 1) {}
RunLog::~RunLog() { clear_bar(); }

void RunLog::write(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), out_);
  std::fflush(out_);
}

void RunLog::clear_bar() {
  if (!drawn_) return;
  write("\r\x1b[K");
  drawn_ = false;
}

void RunLog::line(std::string_view text) {
  if (out_ == nullptr) return;
  clear_bar();
  write(fmt::format("{}\n", text));
  next_draw_s_ = 0;
}

void RunLog::bar(const Progress& p) {
  if (!terminal_ || steady_seconds() < next_draw_s_) return;
  constexpr int64_t kWidth = 30;
  const int64_t full = p.max_steps > 0 ? std::min(kWidth, kWidth * p.step / p.max_steps) : 0;
  write(fmt::format("\r[{}{}] {}/{}  {} {}/s  ETA {}\x1b[K", std::string(static_cast<size_t>(full), '='),
                    std::string(static_cast<size_t>(kWidth - full), ' '), p.step, p.max_steps, count(p.rate), p.unit,
                    format_duration(p.eta_s)));
  drawn_ = true;
  next_draw_s_ = steady_seconds() + 0.1;
}

}  // namespace tenon
