// `tenon checkpoint …`: what a run has saved.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace tenon {

// Adds the subcommands; the one that is chosen sets `action`.
void add_checkpoint_commands(CLI::App& app, std::function<void()>& action);

}  // namespace tenon
