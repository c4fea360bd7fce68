// `tenon runs` and `tenon plot`: what has been trained.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace tenon {

// Adds the subcommands; the one that is chosen sets `action`.
void add_run_commands(CLI::App& app, std::function<void()>& action);

}  // namespace tenon
