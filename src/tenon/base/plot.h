// Curves as text and as SVG.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tenon/base/result.h"

namespace tenon {

struct Curve {
  std::string name;
  std::vector<std::pair<double, double>> points;  // x and y; those that aren't finite are gaps
};

struct PlotOptions {
  std::string title;
  int64_t width = 72, height = 20;  // of the area for curves: characters; an SVG's is ten times as many pixels
  bool log_y = false;               // y must be positive; other points are left out
};

// Axes, one mark a curve, and what they stand for; lines end with a newline. `invalid_argument` when no point can be
// drawn or the area is below 10 x 4 or above 1000 x 1000.
Result<std::string> plot_text(const std::vector<Curve>& curves, const PlotOptions& options);
// A whole SVG document.
Result<std::string> plot_svg(const std::vector<Curve>& curves, const PlotOptions& options);

}  // namespace tenon
