#include "tenon/cli/run_commands.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "tenon/base/file.h"
#include "tenon/base/plot.h"
#include "tenon/cli/options.h"
#include "tenon/trainer/run_history.h"

namespace tenon {
namespace {

struct PlotCommand {
  std::vector<std::string> dirs, metrics{"train/loss"};
  std::string svg;
  int64_t width = 72, height = 20;
  bool log = false;
};

void plot(const PlotCommand& command) {
  std::vector<Curve> curves;
  std::string title;
  for (const std::string& metric : command.metrics) {
    title += (title.empty() ? "" : ", ") + metric;
    for (const std::string& dir : command.dirs) {
      const std::string name = command.metrics.size() == 1 ? dir : dir + " " + metric;
      curves.push_back({name, read_metric(dir, metric).value()});
    }
  }
  const PlotOptions options{title + " by step", command.width, command.height, command.log};
  print_text(plot_text(curves, options).value());
  if (command.svg.empty()) return;
  write_file_atomic(command.svg, plot_svg(curves, options).value()).value();
  print_text(command.svg + "\n");
}

}  // namespace

void add_run_commands(CLI::App& app, std::function<void()>& action) {
  const auto dir = std::make_shared<std::string>("runs");
  CLI::App* runs = app.add_subcommand("runs", "a table of the runs in a directory");
  runs->add_option("dir", *dir, "directory of a run, or of runs")->capture_default_str();
  runs->callback([dir, &action] { action = [dir] { print_text(format_runs(find_runs(*dir).value())); }; });

  const auto c = std::make_shared<PlotCommand>();
  CLI::App* app_plot = app.add_subcommand("plot", "draws curves of runs here, and as SVG");
  app_plot->add_option("dirs", c->dirs, "directories of runs")->required();
  app_plot->add_option("--metric", c->metrics, "as metrics.jsonl names it; may be given again")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false)
      ->capture_default_str();
  app_plot->add_option("--svg", c->svg, "writes this file too")->type_name("FILE");
  app_plot->add_flag("--log", c->log, "a logarithmic axis");
  app_plot->add_option("--width", c->width, "characters across")->capture_default_str();
  app_plot->add_option("--height", c->height, "lines")->capture_default_str();
  app_plot->callback([c, &action] { action = [c] { plot(*c); }; });
}

}  // namespace tenon
