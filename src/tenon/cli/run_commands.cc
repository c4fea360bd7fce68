#include "tenon/cli/run_commands.h"

#include <fmt/format.h>

#include <memory>

#include "tenon/base/file.h"
#include "tenon/base/plot.h"
#include "tenon/cli/command_line.h"
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

void add_run_commands(Command& program) {
  const auto dir = std::make_shared<std::string>("runs");
  Command& runs = program.add("runs", "a table of the runs in a directory");
  runs.option("dir", dir.get(), "directory of a run, or of runs").with_default();
  runs.action = [dir] { print_text(format_runs(find_runs(*dir).value())); };

  const auto c = std::make_shared<PlotCommand>();
  Command& command = program.add("plot", "draws curves of runs here, and as SVG");
  command.option("dirs", &c->dirs, "directories of runs").required();
  command.option("--metric", &c->metrics, "as metrics.jsonl names it; may be given again").with_default();
  command.option("--svg", &c->svg, "writes this file too").type_name("FILE");
  command.option("--log", &c->log, "a logarithmic axis");
  command.option("--width", &c->width, "characters across").with_default();
  command.option("--height", &c->height, "lines").with_default();
  command.action = [c] { plot(*c); };
}

}  // namespace tenon
