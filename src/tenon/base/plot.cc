#include "tenon/base/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace tenon {
namespace {

constexpr std::string_view kMarks = "*+ox#%@&=~";
constexpr std::array<std::string_view, 8> kColors = {"#1f77b4", "#ff7f0e", "#2ca02c", "#d62728",
                                                     "#9467bd", "#8c564b", "#e377c2", "#17becf"};

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  // A single value gets room around it.
  void widen() {
    if (low != high) return;
    const double room = low == 0 ? 1 : std::abs(low) / 2;
    low -= room;
    high += room;
  }
  // 0 at the low end, 1 at the high one.
  double place(double value) const { return (value - low) / (high - low); }
};

struct Frame {
  Range x, y;
  bool log_y = false;

  bool draws(const std::pair<double, double>& point) const {
    return std::isfinite(point.first) && std::isfinite(point.second) && (!log_y || point.second > 0);
  }
  double height_of(double value) const { return y.place(log_y ? std::log10(value) : value); }
  // The value at a height from 0 to 1.
  double value_at(double height) const {
    const double value = y.low + height * (y.high - y.low);
    return log_y ? std::pow(10.0, value) : value;
  }
};

Result<Frame> make_frame(const std::vector<Curve>& curves, const PlotOptions& options) {
  if (options.width < 10 || options.height < 4 || options.width > 1000 || options.height > 1000) {
    return Error(ErrorCode::invalid_argument, "no size for a plot")
        .got(fmt::format("{} x {}", options.width, options.height))
        .expected("10 x 4 to 1000 x 1000");
  }
  Frame frame;
  frame.log_y = options.log_y;
  bool any = false;
  for (const Curve& curve : curves) {
    for (const auto& point : curve.points) {
      if (!frame.draws(point)) continue;
      any = true;
      frame.x.add(point.first);
      frame.y.add(options.log_y ? std::log10(point.second) : point.second);
    }
  }
  if (!any) return Error(ErrorCode::invalid_argument, "there is nothing to draw");
  frame.x.widen();
  frame.y.widen();
  return frame;
}

class Canvas {
 public:
  Canvas(int64_t width, int64_t height)
      : width_(width),
        height_(height),
        rows_(static_cast<size_t>(height), std::string(static_cast<size_t>(width), ' ')) {}

  // A mark at every column of the line between two places (0 to 1).
  void line(std::pair<double, double> from, std::pair<double, double> to, char mark) {
    const int64_t first = column(from.first), last = column(to.first);
    for (int64_t c = first; c <= last; ++c) {
      const double part = last == first ? 1 : static_cast<double>(c - first) / static_cast<double>(last - first);
      put(c, from.second + part * (to.second - from.second), mark);
    }
  }
  const std::string& row(int64_t i) const { return rows_[static_cast<size_t>(i)]; }

 private:
  int64_t column(double x) const { return std::llround(x * static_cast<double>(width_ - 1)); }
  void put(int64_t c, double y, char mark) {
    const int64_t r = height_ - 1 - std::llround(y * static_cast<double>(height_ - 1));
    rows_[static_cast<size_t>(r)][static_cast<size_t>(c)] = mark;
  }
  int64_t width_, height_;
  std::vector<std::string> rows_;
};

std::string number(double value) { return fmt::format("{:.4g}", value); }

// The pieces of a curve between its gaps, in places from 0 to 1.
std::vector<std::vector<std::pair<double, double>>> pieces(const Curve& curve, const Frame& frame) {
  std::vector<std::vector<std::pair<double, double>>> out(1);
  for (const auto& point : curve.points) {
    if (frame.draws(point)) {
      out.back().emplace_back(frame.x.place(point.first), frame.height_of(point.second));
    } else if (!out.back().empty()) {
      out.emplace_back();
    }
  }
  if (out.back().empty()) out.pop_back();
  return out;
}

std::string escape(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<' || c == '>' || c == '&' || c == '"') {
      out += fmt::format("&#{};", static_cast<int>(c));
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

Result<std::string> plot_text(const std::vector<Curve>& curves, const PlotOptions& options) {
  const Result<Frame> made = make_frame(curves, options);
  if (!made.ok()) return made.error();
  const Frame& frame = *made;
  Canvas canvas(options.width, options.height);
  for (size_t i = 0; i < curves.size(); ++i) {
    for (const auto& piece : pieces(curves[i], frame)) {
      for (size_t p = 0; p < piece.size(); ++p)
        canvas.line(piece[p > 0 ? p - 1 : 0], piece[p], kMarks[i % kMarks.size()]);
    }
  }
  std::string out = options.title.empty() ? "" : options.title + "\n";
  for (int64_t r = 0; r < options.height; ++r) {
    const double height = 1 - static_cast<double>(r) / static_cast<double>(options.height - 1);
    const bool labelled = r % 4 == 0 || r + 1 == options.height;
    std::string line = fmt::format("{:>10} |{}", labelled ? number(frame.value_at(height)) : "", canvas.row(r));
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  out += fmt::format("{:>10} +{}\n", "", std::string(static_cast<size_t>(options.width), '-'));
  const std::string low = number(frame.x.low), high = number(frame.x.high);
  const auto room = static_cast<size_t>(options.width);
  out += fmt::format("{:>12}{}{:>{}}\n", "", low, high, room > low.size() ? room - low.size() : 1);
  for (size_t i = 0; i < curves.size(); ++i)
    out += fmt::format("{:>12}{}\n", fmt::format("{} ", kMarks[i % kMarks.size()]), curves[i].name);
  return out;
}

Result<std::string> plot_svg(const std::vector<Curve>& curves, const PlotOptions& options) {
  const Result<Frame> made = make_frame(curves, options);
  if (!made.ok()) return made.error();
  const Frame& frame = *made;
  constexpr double kLeft = 70, kTop = 40, kBottom = 40, kRight = 20, kLine = 18;
  const double width = 10.0 * static_cast<double>(options.width), height = 20.0 * static_cast<double>(options.height);
  const double total_height = kTop + height + kBottom + kLine * static_cast<double>(curves.size());
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:g} {1:g}\" font-family=\"sans-serif\" "
      "font-size=\"12\">\n<rect width=\"{0:g}\" height=\"{1:g}\" fill=\"white\"/>\n",
      kLeft + width + kRight, total_height);
  out +=
      fmt::format("<text x=\"{:g}\" y=\"{:g}\" font-size=\"15\">{}</text>\n", kLeft, kTop - 15, escape(options.title));
  constexpr int kTicks = 5;
  for (int i = 0; i <= kTicks; ++i) {
    const double part = static_cast<double>(i) / kTicks, y = kTop + height * (1 - part), x = kLeft + width * part;
    out += fmt::format("<line x1=\"{:g}\" x2=\"{:g}\" y1=\"{:.2f}\" y2=\"{:.2f}\" stroke=\"#ddd\"/>\n", kLeft,
                       kLeft + width, y, y);
    out += fmt::format("<text x=\"{:g}\" y=\"{:.2f}\" text-anchor=\"end\">{}</text>\n", kLeft - 6, y + 4,
                       number(frame.value_at(part)));
    out += fmt::format("<text x=\"{:.2f}\" y=\"{:g}\" text-anchor=\"middle\">{}</text>\n", x, kTop + height + 18,
                       number(frame.x.low + part * (frame.x.high - frame.x.low)));
  }
  for (size_t i = 0; i < curves.size(); ++i) {
    const std::string_view color = kColors[i % kColors.size()];
    for (const auto& piece : pieces(curves[i], frame)) {
      std::string points;
      for (const auto& [x, y] : piece) {
        points += fmt::format("{}{:.2f},{:.2f}", points.empty() ? "" : " ", kLeft + width * x, kTop + height * (1 - y));
      }
      out += fmt::format("<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\" points=\"{}\"/>\n", color, points);
    }
    const double y = kTop + height + kBottom + kLine * static_cast<double>(i);
    out += fmt::format("<rect x=\"{:g}\" y=\"{:g}\" width=\"12\" height=\"4\" fill=\"{}\"/>", kLeft, y, color);
    out += fmt::format("<text x=\"{:g}\" y=\"{:g}\">{}</text>\n", kLeft + 18, y + 7, escape(curves[i].name));
  }
  return out + "</svg>\n";
}

}  // namespace tenon
